"""How much of an accelerator each loader would use: `python utilities/benchmark_gpu_utilization.py`

The same as `myxtts bench` (see its --help for --loaders, --step-ms, --cold, --plot, --json). Without --data it measures
configs/config.yaml's data, else the demo corpus, made small if need be.
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
    return run_on_data(["bench", "--config", own.config, *rest], own.config, ROOT / "demo")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
