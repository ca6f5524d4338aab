"""The numbers that every form of the model shares, TensorFlow's and the exported one's; sizes are in sizes.py."""

from __future__ import annotations

from myxtts.features.mel import N_MELS

STRIDE = 2  # frames per decoder position: half the work, and a frame pair of 23 ms is still short for a phone
PATCH_FRAMES = 4  # of a reference, 46 ms: a quarter of the positions to compute, and finer detail is text, not voice
PLACE_FEATURES = 3  # what is told of a frame's place in its token
TYPICAL_FRAMES = 8.0  # of a token: the unit of that place
LONGEST_LOG = 6.0  # 400 frames, 4.7 s: no untrained or confused model asks for more memory than there is
HARMONIC_FEATURES = N_MELS + 2  # what is told of a frame's pitch
