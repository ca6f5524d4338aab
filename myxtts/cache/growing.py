"""An `.npy` file that grows by appending and can be cut back to any earlier length."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myxtts.cache.append import AppendFile
from myxtts.cache.format import HEADER_BYTES, array_type, npy_header, row_bytes

# A payload file gets one long write per buffer; a column of the index is small and many.
_PAYLOAD_BUFFER_BYTES, _COLUMN_BUFFER_BYTES = 1 << 22, 1 << 16


class GrowingArray:
    """Rows of one dtype. The header stays blank until `finish`; the length is what the owner keeps of it."""

    def __init__(self, path: Path, rows: int, payload: bool):
        """Open at `rows` rows: what lies beyond them, of a run that was killed, is cut off."""
        (self.dtype, self.shape), self.rows = array_type(path.name), rows
        self._row_bytes = row_bytes(self.dtype, self.shape)
        length = HEADER_BYTES + rows * self._row_bytes if rows else 0
        self._file = AppendFile(path, length, _PAYLOAD_BUFFER_BYTES if payload else _COLUMN_BUFFER_BYTES, payload)
        if rows == 0:
            self._file.write(bytes(HEADER_BYTES))

    def append(self, values: NDArray[np.generic] | bytes) -> None:
        array = np.frombuffer(values, self.dtype) if isinstance(values, bytes) else np.ascontiguousarray(values)
        if array.dtype != np.dtype(self.dtype) or array.shape[1:] != self.shape:
            raise ValueError(f"cannot append {array.dtype}{array.shape} to rows of {self.dtype}{self.shape}")
        if array.size:
            self._file.write(array.data.cast("B"))
        self.rows += len(array)

    def append_padded(self, values: NDArray[np.generic]) -> None:
        """Append a flat run of values; zeros fill the last row."""
        self._file.write(np.ascontiguousarray(values, self.dtype).data.cast("B"))
        self._file.write(bytes(-values.nbytes % self._row_bytes))
        self.rows += -(-values.nbytes // self._row_bytes)

    def flush(self) -> None:
        self._file.flush()

    def sync(self) -> None:
        self._file.sync()

    def finish(self) -> None:
        """Write the real header and make the file durable."""
        self._file.finish(npy_header(self.dtype, (self.rows, *self.shape)))

    def close(self) -> None:
        self._file.close()
