"""Files and folders that are there whole or not at all: everything that must outlive a kill is written through here.

    write_whole, whole_file         a file: filled under a hidden name beside its place, synced, renamed
    publish, recover                a folder: put in the place of another; what a kill in between left is mended
    open_new, open_append, open_at  a file that grows, is patched or locked
    put_in_place, point_link, clone_file, clone_into, hash_file, sync_folder, exchange, try_lock, is_still

What each of them promises: a link is never followed on write and nothing but a regular file is written, so a folder
from a stranger cannot make us overwrite what lies outside of it. The umask alone decides who may read what we wrote.
Errors are OSErrors, whose `strerror` says in words what is wrong; the caller says what to do.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import xxhash

AnyPath = str | os.PathLike[str]

_HIDDEN = re.compile(r"\.(?P<place>.+)\.[0-9a-f]{8}\.tmp")  # what `whole_file` writes into until it is whole
_ASIDE = re.compile(r"\.(?P<place>.+)\.replaced-by-myxtts")  # what `publish` has moved out of the way
REPLACES = ".replaces"  # in a folder that is finished and whose place is being cleared for it
_COPY_BYTES = 1 << 24
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # fcntl.h, linux/fs.h
_FICLONE = 0x40049409
# What a file system says that cannot exchange two names: NFS and others; overlayfs of a folder in an image's layer.
_CANNOT_EXCHANGE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EXDEV)


# ---- one file --------------------------------------------------------------------------------------------------------


def write_whole(path: AnyPath, data: bytes, durable: bool = True) -> None:
    """Put a file in its place: a kill leaves the old one or the new one. See `whole_file`."""
    with whole_file(path, durable) as file:
        file.write(data)


@contextmanager
def whole_file(path: AnyPath, durable: bool = True) -> Iterator[BinaryIO]:
    """A file to fill, which takes its place when the block ends without an error. A link there is replaced, not
    followed. Without `durable` a power cut may take it: for what can be made again, as syncing costs milliseconds."""
    path = Path(path)
    _refuse_special(path)
    if durable:
        _clear_abandoned(path)
    hidden, descriptor = _open_hidden(path)
    try:
        with open(descriptor, "w+b") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(descriptor)
            os.replace(hidden, path)  # while it is locked: nobody takes it for abandoned
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def put_in_place(path: Path, place: Path) -> None:
    """Give a finished file or folder its name, for good: its content first, then the name. A file there is replaced."""
    _sync(path, os.O_RDONLY)
    os.replace(path, place)
    sync_folder(place.parent)


def try_to_write(path: AnyPath) -> None:
    """Raise now what `whole_file` would raise after an hour of work, as far as it can be known."""
    _refuse_special(Path(path))
    hidden, descriptor = _open_hidden(Path(path))
    try:
        os.write(descriptor, b"?")  # a full disk lets files be made
    finally:
        os.close(descriptor)
        hidden.unlink(missing_ok=True)


def _open_hidden(path: Path) -> tuple[Path, int]:
    while True:
        hidden = _hidden_name(path)
        try:
            descriptor = open_at(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
        with contextlib.suppress(OSError):  # where nothing can be locked, nothing is cleared either
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if is_still(descriptor, hidden):
            return hidden, descriptor
        os.close(descriptor)  # taken for abandoned before it was locked


def _hidden_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")


def _clear_abandoned(path: Path) -> None:
    """Remove what killed writers of the same file left: what is not locked, nobody writes."""
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if place_of(entry.name) == path.name and _HIDDEN.fullmatch(entry.name) and not _is_locked(entry.path):
                os.unlink(entry.path)


def _is_locked(path: AnyPath) -> bool:
    try:
        descriptor = open_at(path, os.O_RDONLY)
    except OSError:
        return False  # a link or a pipe under our name is nobody's work in progress
    try:
        return not try_lock(descriptor)
    except OSError:
        return True  # nothing can be locked here
    finally:
        os.close(descriptor)


def point_link(path: AnyPath, target: str) -> None:
    """Make a symbolic link, or point the one that is there elsewhere, in one step."""
    path = Path(path)
    _clear_abandoned(path)
    hidden = _hidden_name(path)
    os.symlink(target, hidden)
    os.replace(hidden, path)


def place_of(name: str) -> str:
    """The name that a leftover of a kill was meant for or moved from; any other name is its own."""
    match = _HIDDEN.fullmatch(name) or _ASIDE.fullmatch(name)
    return match["place"] if match else name


def _refuse_special(path: Path) -> None:
    """A device, pipe, socket or folder is not replaced by a file, nor is a link to one."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        _check_regular(os.stat(path).st_mode, path)


def _check_regular(mode: int, path: AnyPath) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder, expected a file", os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "is not a regular file", os.fspath(path))


def open_at(path: AnyPath, flags: int) -> int:
    """`os.open` of a regular file, never through a link; a pipe is refused and not waited for."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "is a symbolic link, which is not written through", os.fspath(path)) from None
        raise
    try:
        _check_regular(os.fstat(descriptor).st_mode, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_append(path: AnyPath, buffering: int = -1) -> BinaryIO:
    """A file to add to, made if it is missing."""
    return open(open_at(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "ab", buffering=buffering)


def open_new(path: AnyPath) -> BinaryIO:
    """A file to fill that is our own: one that was there, and a link in its place, is removed."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return open(open_at(path, os.O_RDWR | os.O_CREAT | os.O_EXCL), "w+b")


def read_regular(path: AnyPath, most_bytes: int) -> bytes:
    """The content of a small file. Links are followed; a pipe, a device and a file that is too big are refused."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_regular(status.st_mode, path)
        if status.st_size > most_bytes:
            raise OSError(errno.EFBIG, f"has {status.st_size} bytes, expected at most {most_bytes}", os.fspath(path))
        return file.read(most_bytes)


def clone_file(source: AnyPath, target: AnyPath) -> None:
    """A copy under another name."""
    with open_new(target) as file:
        clone_into(source, file)


def clone_into(source: AnyPath, file: BinaryIO) -> None:
    """Fill an empty file with a copy: by reference where the file system can (btrfs, xfs), by bytes elsewhere."""
    with open(source, "rb") as reading:
        try:
            fcntl.ioctl(file.fileno(), _FICLONE, reading.fileno())
        except OSError:  # EOPNOTSUPP, EXDEV, EINVAL, ENOTTY: this file system or pair of them cannot
            shutil.copyfileobj(reading, file, _COPY_BYTES)


def hash_file(path: AnyPath) -> str:
    """XXH3-128 of its bytes."""
    with open(path, "rb") as file:
        digest = xxhash.xxh3_128()
        while block := file.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


def fingerprint(value: Any) -> str:
    """XXH3-128 of a JSON value: the same for the same content, in whatever order its keys stand."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return xxhash.xxh3_128_hexdigest(text.encode())


# ---- folders ---------------------------------------------------------------------------------------------------------


def sync_folder(folder: AnyPath) -> None:
    """Make renames in a folder durable."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: AnyPath, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(folder: Path, place: Path, seal: str) -> None:
    """Put a finished folder in its place, in one step where the file system can; who reads the old one keeps its files.

    Elsewhere in two, which `recover` completes or undoes. `seal` is the file without which a folder counts for nothing.
    """
    sync_folder(folder)
    if not place.exists():
        os.rename(folder, place)
    elif exchange(folder, place):
        shutil.rmtree(folder)
    elif not _move_aside(place):
        _clear_and_rename(folder, place, seal)
    else:
        os.rename(folder, place)
        shutil.rmtree(aside(place))
    sync_folder(place.parent)


def recover(folder: Path, place: Path, seal: str) -> None:
    """Mend what a `publish(folder, place)` that was killed has left. Hold the lock that publishing is done under."""
    old = aside(place)
    if old.exists() and not place.exists():
        os.rename(old, place)
    elif old.exists():
        shutil.rmtree(old)
    if (folder / REPLACES).exists():
        _clear_and_rename(folder, place, seal)
    (place / REPLACES).unlink(missing_ok=True)


def needs_recovery(folder: Path, place: Path) -> bool:
    """Whether a `publish` was killed half-way, or is just going on."""
    return aside(place).exists() or any((one / REPLACES).exists() for one in (folder, place))


def aside(place: Path) -> Path:
    """Where the old folder waits between the two steps of a replacement."""
    return place.with_name(f".{place.name}.replaced-by-myxtts")


def _move_aside(place: Path) -> bool:
    """The first of two steps, for NFS; False on overlayfs, which cannot even rename a folder of an image's layer."""
    try:
        os.rename(place, aside(place))
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return False
    return True


def _clear_and_rename(folder: Path, place: Path, seal: str) -> None:
    """The mark says that `folder` is finished, so whoever finds it after a kill goes on from here."""
    open_new(folder / REPLACES).close()
    sync_folder(folder)
    (place / seal).unlink(missing_ok=True)  # first: nobody shall take what is left meanwhile for a whole one
    if place.exists():
        shutil.rmtree(place)
    os.rename(folder, place)
    sync_folder(place.parent)
    (place / REPLACES).unlink()


def exchange(first: Path, second: Path) -> bool:
    """renameat2(RENAME_EXCHANGE): both names swap in one step. False where the system cannot."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        return False
    names = os.fsencode(first), os.fsencode(second)
    if libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(second))


def empty_folder(folder: Path) -> None:
    """Delete what a folder holds but not the folder, which may be locked."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


# ---- locks -----------------------------------------------------------------------------------------------------------


def try_lock(descriptor: int) -> bool:
    """Take the lock of an open file or folder, which dies with its process. False if another one has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_still(descriptor: int, path: AnyPath) -> bool:
    """Whether the open file or folder is the one that the path names now."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False
