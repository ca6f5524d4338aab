"""`myxtts gpu-check`: what the first user with a real GPU runs, from driver to training, as one JSON for a bug report.

Promises: each check ends ok, failed with what to do next, or skipped, even if the driver crashes in the next one.
Must not: write a name of the user or of the machine into the file.
"""
