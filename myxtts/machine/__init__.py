"""What the machine is and does: samplers of cores, memory, disk and GPUs, beside `monitor/`, which they write to.

Promises: plain numbers with units in their names; a reading that the system does not give is left out and said once.
Must not: decide anything, import TensorFlow, or disturb the program that is measured.
"""
