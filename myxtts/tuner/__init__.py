"""Settings for this machine: where to begin by its hardware, then what measured trials of the real loop show.

Promises: a new config, never a changed one; nothing is recommended that was not faster when measured in turns.
Must not: train, or write anywhere but to the file of remembered results.
"""
