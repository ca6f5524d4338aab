"""The real command with the stand-in for a model, for processes that are to be killed.

As small_run.py, where only the loop and its workers matter: it compiles in 0.2 s.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from stand_in import build_stand_in

from myxtts.cli import main
from myxtts.training import start

if __name__ == "__main__":
    start.model_for = build_stand_in
    sys.exit(main())
