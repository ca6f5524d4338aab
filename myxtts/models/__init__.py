"""The voice model: text and a reference clip in, mel frames and durations out.

Promises: every loss term reaches every part that it is meant to train; every random draw follows from a seed; a row of
weight 0 changes nothing; what is padding changes nothing. Variables are float32 whatever the compute precision is.
Must not: read a corpus or a cache, decide a learning rate, keep state outside its variables.
Read `xtts.py` first: it is the whole way from a batch to its losses.
"""
