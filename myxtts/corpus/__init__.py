"""Reads a folder of speech, in whatever layout, into utterances, and says what is wrong with which row.

Nothing is dropped silently: every row comes out as an `Utterance` or as a `Rejected` with its reason. One file per
layout; a class of your own is found by entry point (layout.py). `check` looks at all rows before anything is made of
them; what hears and spells is given to it, so nothing here decodes audio. No TensorFlow.
"""
