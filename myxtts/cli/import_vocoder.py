"""`myxtts import-vocoder` makes a vocoder's folder out of a HiFi-GAN checkpoint."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, add_verb


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "import-vocoder", run, "make a vocoder out of a HiFi-GAN V1 checkpoint",
        "  myxtts import-vocoder generator_universal.pth.tar -o hifigan\n"
        "  myxtts say 'Good morning.' --model runs/anna --vocoder hifigan -o morning.wav")  # fmt: skip
    parser.add_argument("file", metavar="FILE", type=Path, help="a generator saved by torch.save")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="the folder to make")
    parser.add_argument("--config", metavar="FILE.json", type=Path, help="default: the config.json beside FILE")


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.inference.import_vocoder import import_hifigan

    made = import_hifigan(arguments.file, arguments.output, arguments.config)
    result = {"output": str(arguments.output), "kind": made.kind, "source": made.source}
    return 0, result, f"{arguments.output}: HiFi-GAN V1; speak with it: myxtts say ... --vocoder {arguments.output}"
