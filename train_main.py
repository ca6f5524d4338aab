"""`python train_main.py` is `myxtts train` that reads configs/config.yaml where no --config is given; flags win."""

import sys
from pathlib import Path

from myxtts.cli import main

CONFIG = Path(__file__).parent / "configs" / "config.yaml"

if __name__ == "__main__":
    words = sys.argv[1:]
    named = any(word.partition("=")[0] == "--config" for word in words)
    sys.exit(main(["train", *words] if named or not CONFIG.is_file() else ["train", "--config", str(CONFIG), *words]))
