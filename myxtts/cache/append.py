"""Appends bytes to a file past the page cache, where the file system can.

A packer writes each byte once and never reads it. Going through the page cache costs a fresh page for every 4 KB:
on a virtual machine 262 MB/s and 2.7 s of CPU for 720 MB, against 1,391 MB/s and 0.04 s with O_DIRECT.
"""

from __future__ import annotations

import errno
import logging
import mmap
import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from myxtts.files import open_at

log = logging.getLogger(__name__)

_BLOCK_BYTES = 4096  # O_DIRECT wants offsets, lengths and addresses that are multiples of it


class AppendFile:
    """Whole buffers go to disk as they fill, in a thread of their own while the next one fills.

    `flush` also writes the last block, padded with zeros or old bytes: the owner knows the length.
    """

    def __init__(self, path: Path, length: int, buffer_bytes: int, direct: bool):
        """Open at `length` bytes; what lies beyond, of a run that was killed, is cut off."""
        self.length = length
        self._view, self._spare = (memoryview(mmap.mmap(-1, buffer_bytes)) for _ in range(2))  # page-aligned
        self._writer = ThreadPoolExecutor(1, "myxtts-write")
        self._writing: Future[None] | None = None
        self._path = path
        self._file = _open(path, direct)
        if os.fstat(self._file).st_size < length:
            self.close()
            raise OSError(errno.EIO, "is shorter than its journal says", str(path))
        os.ftruncate(self._file, length)
        self._offset = length // _BLOCK_BYTES * _BLOCK_BYTES  # in the file, of the start of the buffer
        self._filled = length - self._offset
        with open(path, "rb") as reading:
            reading.seek(self._offset)
            self._view[: self._filled] = reading.read(self._filled)

    def write(self, data: memoryview | bytes) -> None:
        data = memoryview(data)
        self.length += len(data)
        while len(data):
            part = min(len(data), len(self._view) - self._filled)
            self._view[self._filled : self._filled + part] = data[:part]
            self._filled += part
            data = data[part:]
            if self._filled == len(self._view):
                self._swap()

    def _swap(self) -> None:
        """Let the full buffer be written in the background, and go on with the other one."""
        self._wait()
        self._writing = self._writer.submit(self._put, self._view, self._filled, self._offset)
        self._view, self._spare = self._spare, self._view
        self._offset += self._filled
        self._filled = 0

    def _wait(self) -> None:
        """Until the buffer in the background is written; raises what that met."""
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()

    def flush(self) -> None:
        """Hand everything to the operating system, where a kill of this process cannot reach it."""
        self._wait()
        self._put(self._view, -(-self._filled // _BLOCK_BYTES) * _BLOCK_BYTES, self._offset)
        whole = self._filled // _BLOCK_BYTES * _BLOCK_BYTES
        self._view[: self._filled - whole] = bytes(self._view[whole : self._filled])
        self._offset += whole
        self._filled -= whole

    def _put(self, view: memoryview, n_bytes: int, offset: int) -> None:
        done = 0
        while done < n_bytes:
            done += os.pwrite(self._file, view[done:n_bytes], offset + done)

    def sync(self) -> None:
        """Make what was flushed survive a power cut. Safe to call from another thread."""
        os.fdatasync(self._file)

    def finish(self, header: bytes) -> None:
        """Cut the padding off, put the header in place, make the file durable."""
        self.flush()
        with open(open_at(self._path, os.O_RDWR), "r+b") as file:  # O_DIRECT would write whole blocks only
            file.truncate(self.length)
            file.write(header)
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        self._writer.shutdown(wait=True)
        os.close(self._file)


def _open(path: Path, direct: bool) -> int:
    flags = os.O_RDWR | os.O_CREAT
    if direct:
        try:
            return open_at(path, flags | os.O_DIRECT)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            log.info("%s: this file system has no direct writes, going through the page cache", path.parent)
    return open_at(path, flags)
