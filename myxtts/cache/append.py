"""Appends bytes to a file past the page cache, where the file system can.

A packer writes each byte once and never reads it. Going through the page cache costs a fresh page for every 4 KB:
on a virtual machine 262 MB/s and 2.7 s of CPU for 720 MB, against 1,391 MB/s and 0.04 s with O_DIRECT.
"""

from __future__ import annotations

import errno
import logging
import mmap
import os
from pathlib import Path

log = logging.getLogger(__name__)

_BLOCK_BYTES = 4096  # O_DIRECT wants offsets, lengths and addresses that are multiples of it


class AppendFile:
    """Whole buffers go to disk as they fill. `flush` also writes the last block, padded: the owner knows the length."""

    def __init__(self, path: Path, length: int, buffer_bytes: int, direct: bool):
        """Open at `length` bytes; what lies beyond, of a run that was killed, is cut off."""
        self.length = length
        self._buffer = mmap.mmap(-1, buffer_bytes)  # page-aligned
        self._view = memoryview(self._buffer)
        self._path = path
        self._file = _open(path, direct)
        if os.fstat(self._file).st_size < length:
            os.close(self._file)
            raise OSError(errno.EIO, "is shorter than its journal says", str(path))
        os.truncate(path, length)
        self._offset = length // _BLOCK_BYTES * _BLOCK_BYTES  # in the file, of the start of the buffer
        self._filled = length - self._offset
        with open(path, "rb") as reading:
            reading.seek(self._offset)
            self._view[: self._filled] = reading.read(self._filled)

    def write(self, data: memoryview | bytes) -> None:
        data = memoryview(data)
        self.length += len(data)
        while len(data):
            part = min(len(data), len(self._buffer) - self._filled)
            self._view[self._filled : self._filled + part] = data[:part]
            self._filled += part
            data = data[part:]
            if self._filled == len(self._buffer):
                self._put(self._filled)
                self._offset += self._filled
                self._filled = 0

    def flush(self) -> None:
        """Hand everything to the operating system, where a kill of this process cannot reach it."""
        self._put(-(-self._filled // _BLOCK_BYTES) * _BLOCK_BYTES)
        whole = self._filled // _BLOCK_BYTES * _BLOCK_BYTES
        self._view[: self._filled - whole] = bytes(self._view[whole : self._filled])
        self._offset += whole
        self._filled -= whole

    def _put(self, n_bytes: int) -> None:
        done = 0
        while done < n_bytes:
            done += os.pwrite(self._file, self._view[done:n_bytes], self._offset + done)

    def sync(self) -> None:
        """Make what was flushed survive a power cut. Safe to call from another thread."""
        os.fdatasync(self._file)

    def finish(self, header: bytes) -> None:
        """Cut the padding off, put the header in place, make the file durable."""
        self.flush()
        with open(self._path, "r+b") as file:
            file.truncate(self.length)
            file.write(header)
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        os.close(self._file)


def _open(path: Path, direct: bool) -> int:
    flags = os.O_RDWR | os.O_CREAT
    if direct:
        try:
            return os.open(path, flags | os.O_DIRECT, 0o666)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            log.info("%s: this file system has no direct writes, going through the page cache", path.parent)
    return os.open(path, flags, 0o666)
