"""From batches to a voice: the step, the loop around it, and the bookkeeping that makes a crash cost seconds.

Promises: what happens at a step is a function of the step and of what a checkpoint holds; a run directory has one
writer at a time and is intact at every moment, killed or not; what went wrong is in `log.jsonl`.
Must not: know what is inside the model, draw random numbers from a state, or print (the live line is on stderr).
"""
