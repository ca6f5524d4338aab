"""The real command with a model so small that it compiles in a second: `python small_run.py train --train-data ...`.

A module of its own, because a run that is to be killed must be a process of its own.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from myxtts.cli import main
from myxtts.models.sizes import SIZES, Size

SMALL = Size(dim=16, encoder_blocks=1, decoder_blocks=1, voice_dim=16, duration_dim=16, latent_tokens=2)

if __name__ == "__main__":
    SIZES["tiny"] = SMALL
    sys.exit(main())
