"""`python -m myxtts.serving.decode MODEL`: a clip on standard input; crops and warnings (npz) on standard output."""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path

REFUSED = 3
_MEMORY_BYTES, _CPU_SECONDS, _FILE_BYTES = 2 << 30, 30, 64 << 20


def bound_this_process() -> None:
    for kind, most in (
        (resource.RLIMIT_AS, _MEMORY_BYTES),
        (resource.RLIMIT_CPU, _CPU_SECONDS),
        (resource.RLIMIT_FSIZE, _FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def main(model: str) -> int:
    bound_this_process()
    import numpy as np

    from myxtts.errors import MyXTTSError
    from myxtts.inference.reference import read_references
    from myxtts.models.description import ModelDescription

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "clip")
        path.write_bytes(sys.stdin.buffer.read())
        try:
            reference = read_references(path, ModelDescription.load(model))
        except MyXTTSError as error:
            sys.stderr.write(str(error).replace(str(path), "clip"))
            return REFUSED
        warnings = np.array([each.replace(str(path), "clip") for each in reference.warnings], str)
    np.savez(sys.stdout.buffer, crops=reference.crops, lengths=reference.lengths, warnings=warnings,
             frames=np.int64(reference.frames))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
