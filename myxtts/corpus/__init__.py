"""Reads a folder of speech, in whatever layout, into utterances, and says what is wrong with which row.

Nothing is dropped silently: every row comes out as an `Utterance` or as a `Rejected` with its reason. No TensorFlow.
"""
