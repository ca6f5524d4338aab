"""What the machine does meanwhile: `python utilities/gpu_monitor.py --log-file [FILE] --duration 60`

The same as `myxtts monitor`: cores, memory, disk, GPUs and, where a run's directory is given, its steps.
"""

import sys

from myxtts.cli import main

if __name__ == "__main__":
    sys.exit(main(["monitor", *sys.argv[1:]]))
