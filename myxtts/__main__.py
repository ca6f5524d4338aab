"""`myxtts`, and `python -m myxtts`: Ctrl-C while verbs are still being imported is no traceback either."""

import sys


def run() -> int:
    try:
        from myxtts.cli import main

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted: run the same command again, it resumes where it can\n")
        return 130


if __name__ == "__main__":
    sys.exit(run())
