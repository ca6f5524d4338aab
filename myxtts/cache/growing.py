"""An `.npy` file that grows by appending and can be cut back to any earlier length."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.cache.format import HEADER_BYTES, npy_header, row_bytes


class GrowingArray:
    """Rows of one dtype. The header says 0 rows until `finish`; the length is what the owner keeps of it."""

    def __init__(self, path: Path, dtype: str, shape: tuple[int, ...] = (), rows: int = 0):
        """Open at `rows` rows: what lies beyond them, of a run that was killed, is cut off."""
        self.dtype, self.shape, self.rows = dtype, shape, rows
        self._row_bytes = row_bytes(dtype, shape)
        self._file = open(path, "r+b" if path.exists() else "w+b", buffering=1 << 16)  # noqa: SIM115
        end = HEADER_BYTES + rows * self._row_bytes
        if os.fstat(self._file.fileno()).st_size < end and rows:
            raise OSError(f"{path} is shorter than its journal says")
        self._file.truncate(end)
        self._write_header(0)

    def append(self, values: np.ndarray | bytes) -> None:
        array = np.frombuffer(values, self.dtype) if isinstance(values, bytes) else np.ascontiguousarray(values)
        if array.dtype != np.dtype(self.dtype) or array.shape[1:] != self.shape:
            raise ValueError(f"cannot append {array.dtype}{array.shape} to rows of {self.dtype}{self.shape}")
        self._file.write(array.data.cast("B") if array.size else b"")
        self.rows += len(array)

    def flush(self) -> None:
        """Hand what was appended to the operating system, where a kill of this process cannot reach it."""
        self._file.flush()

    def sync(self) -> None:
        """Make what was flushed survive a power cut. Safe to call from another thread."""
        os.fdatasync(self._file.fileno())

    def finish(self) -> None:
        """Write the real header and make the file durable."""
        self._write_header(self.rows)
        self.flush()
        self.sync()

    def close(self) -> None:
        self._file.close()

    def _write_header(self, rows: int) -> None:
        self._file.seek(0)
        self._file.write(npy_header(self.dtype, (rows, *self.shape)))
        self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> GrowingArray:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
