"""Why is the accelerator idle? `python utilities/diagnose_gpu_bottleneck.py --batch-size 16 --num-batches 50`

The same as `myxtts doctor`. Without data it examines configs/config.yaml's, else the demo corpus, else says what to do.
"""

import argparse
import sys
from pathlib import Path

from myxtts.cli import main
from myxtts.config.config import load

ROOT = Path(__file__).resolve().parents[1]


def arguments_of(argv: list[str]) -> list[str]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--num-batches", type=int, default=50, help="accepted; the doctor measures by time")
    parser.add_argument("--config", default=str(ROOT / "configs" / "config.yaml"))
    own, rest = parser.parse_known_args(argv)
    made = ["doctor", "--config", own.config, "--batch-size", str(own.batch_size), *rest]
    demo = ROOT / "demo" / "voice.cache"
    named = load(own.config).data.dataset_path is not None or "--cache" in rest or "--run" in rest
    return made if named or not demo.exists() else [*made, "--cache", str(demo)]


if __name__ == "__main__":
    sys.exit(main(arguments_of(sys.argv[1:])))
