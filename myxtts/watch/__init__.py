"""`myxtts monitor`: the machine, and a run if one is given, watched live from another process.

Promises: rows to a file, a view for the eye, a summary at the end. Must not: write to the run, or disturb it.
"""
