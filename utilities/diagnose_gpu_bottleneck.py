"""Why is the accelerator idle? `python utilities/diagnose_gpu_bottleneck.py --batch-size 16 --num-batches 50`

The same as `myxtts doctor`. Without data it examines configs/config.yaml's, else the demo corpus, else says what to do.
"""

import argparse
import sys
from pathlib import Path

from myxtts.cli import main
from myxtts.config.config import load
from myxtts.errors import MyXTTSError

ROOT = Path(__file__).resolve().parents[1]


def arguments_of(argv: list[str]) -> list[str]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", default="16")
    parser.add_argument("--num-batches", type=int, default=50, help="accepted; the doctor measures by time")
    parser.add_argument("--config", default=str(ROOT / "configs" / "config.yaml"))
    own, rest = parser.parse_known_args(argv)
    made = ["doctor", "--config", own.config, "--batch-size", own.batch_size, *rest]
    demo = ROOT / "demo" / "voice.cache"
    return made if names_data(own.config, rest) or not demo.exists() else [*made, "--cache", str(demo)]


def names_data(config: str, rest: list[str]) -> bool:
    if any(word.partition("=")[0] in ("--cache", "--run") for word in rest):
        return True
    try:
        return load(config).data.dataset_path is not None
    except MyXTTSError:
        return True  # the doctor says what is wrong with it


if __name__ == "__main__":
    sys.exit(main(arguments_of(sys.argv[1:])))
