"""Where does the time of a batch and of a step go? `python utilities/gpu_profiler.py` (no arguments needed)

The same as `myxtts profile` (see its --help for --data, --batches, --trace, --json). Without data it profiles
configs/config.yaml's, else the demo corpus, made small if need be.
"""

import argparse
import sys
from pathlib import Path

from myxtts.cli.example_data import run_on_data

ROOT = Path(__file__).resolve().parents[1]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default=str(ROOT / "configs" / "config.yaml"))
    own, rest = parser.parse_known_args(argv)
    return run_on_data(["profile", "--config", own.config, *rest], own.config, ROOT / "demo")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
