"""How fast things are, without a verdict: loaders side by side, an emulated accelerator, a profile of one pipeline.

Promises: ours, the naive ways and the physical limit in one run, with the controls that show how far to trust it.
Must not: judge; that is the doctor's.
"""
