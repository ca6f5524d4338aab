"""Why is the accelerator idle? `python utilities/diagnose_gpu_bottleneck.py --batch-size 16 --num-batches 50`

The same as `myxtts doctor`. Without data it examines configs/config.yaml's, else the demo corpus (made if need be).
"""

import argparse
import sys
from pathlib import Path

from myxtts.cli.example_data import run_on_data

ROOT = Path(__file__).resolve().parents[1]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", default="16")
    parser.add_argument("--num-batches", default="50", help="measure at most this many, each time")
    parser.add_argument("--config", default=str(ROOT / "configs" / "config.yaml"))
    own, rest = parser.parse_known_args(argv)
    words = ["doctor", "--config", own.config, "--batch-size", own.batch_size, "--num-batches", own.num_batches, *rest]
    return run_on_data(words, own.config, ROOT / "demo")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
