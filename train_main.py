"""`python train_main.py` is `myxtts train`; without arguments it reads configs/config.yaml."""

import sys
from pathlib import Path

from myxtts.cli import main

if __name__ == "__main__":
    arguments = sys.argv[1:] or ["--config", str(Path(__file__).parent / "configs" / "config.yaml")]
    sys.exit(main(["train", *arguments]))
