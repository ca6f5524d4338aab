"""Loaders side by side on test data: `python utilities/test_performance.py --create-test-data --test-data-path DIR
--batch-size 16 --num-batches 50`

The same as `myxtts bench --data DIR`, which gets all other flags (see `myxtts bench --help`). It is no test of pytest.
"""

import argparse
import contextlib
import sys
from pathlib import Path

from myxtts.cli import main as myxtts

ROOT = Path(__file__).resolve().parents[1]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--create-test-data", action="store_true", help="make a demo corpus there, or what is missing")
    parser.add_argument("--test-data-path", metavar="DIR", default=str(ROOT / "demo" / "small"))
    parser.add_argument("--utterances", metavar="N", default="120", help="how many to make (default 120)")
    parser.add_argument("--batch-size", metavar="N", default="16")
    parser.add_argument("--num-batches", metavar="N", default="50", help="that each loader is measured with")
    own, rest = parser.parse_known_args(argv)
    if own.create_test_data:
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for the result
            code = myxtts(["demo-corpus", own.test_data_path, "--utterances", own.utterances])
        if code:
            return code
    elif not Path(own.test_data_path).exists():
        parser.error(f"there is no {own.test_data_path}: add --create-test-data, or name --test-data-path")
    words = ["--data", own.test_data_path, "--batch-size", own.batch_size, "--batches", own.num_batches]
    return myxtts(["bench", *words, *rest])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
