"""Tensors out of a PyTorch file, the zip of today or the older row of pickles, without PyTorch and running nothing.

zip:    NAME/data.pkl, NAME/byteorder, NAME/data/KEY (raw bytes, stored)
older:  magic, version, facts of the machine, the value, the keys: five pickles; for each key its length and bytes
"""

from __future__ import annotations

import io
import math
import mmap
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.models.pickle_machine import KINDS, PARAMETER, TENSOR, Call, Name, Stored, read_pickle

_MAGIC = 0x1950A86A20F9469CFC6C
_DTYPES = {
    "Float": "<f4", "Double": "<f8", "Half": "<f2", "BFloat16": "<u2", "Long": "<i8", "Int": "<i4", "Short": "<i2",
    "Char": "<i1", "Byte": "<u1", "Bool": "?",
}  # fmt: skip

Storages = dict[str, bytes]
Tensors = dict[str, NDArray[Any]]


class _Storage(NamedTuple):
    kind: str
    key: str
    elements: int


def read_tensors(path: Path | str, under: str = "") -> Tensors:
    """The tensors of a file by name: of its state dict, or of the one that it keeps `under` a name."""
    path = Path(path)
    try:
        with open(path, "rb") as file:
            value, storages = _read_zip(file) if zipfile.is_zipfile(file) else _read_older(file)
        return _tensors(value, under, storages)
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror or error}") from None
    except CheckpointError as error:
        raise type(error)(f"{path} cannot be read: {error}") from None


def _read_zip(file: IO[bytes]) -> tuple[Any, Storages]:
    try:
        with zipfile.ZipFile(file) as archive:
            names = {name.partition("/")[2]: name for name in archive.namelist()}
            if "data.pkl" not in names:
                raise CheckpointError("it is a zip without data.pkl: give a checkpoint saved by torch.save")
            _check_stored(archive)
            if "byteorder" in names and archive.read(names["byteorder"]) != b"little":
                raise CheckpointError("it was written on a machine of the other byte order: save it again on this one")
            value = read_pickle(io.BytesIO(archive.read(names["data.pkl"])))
            stored = {name[5:]: archive.read(whole) for name, whole in names.items() if name.startswith("data/")}
            return value, stored
    except (zipfile.BadZipFile, EOFError, RuntimeError, ValueError, struct.error) as error:
        # A flipped bit asks zipfile for a password, another method, a name that is no text.
        raise CheckpointDamaged(f"its zip is damaged or cut off ({error}): download the file again") from None


def _check_stored(archive: zipfile.ZipFile) -> None:
    """A small file must not unfold into all of memory."""
    for entry in archive.infolist():
        if entry.compress_type != zipfile.ZIP_STORED:
            raise CheckpointError(f"{entry.filename} in it is compressed, which torch.save never does: save it again")
    if sum(entry.file_size for entry in archive.infolist()) > archive.start_dir:
        raise CheckpointDamaged("the parts of its zip overlap: download the file again")


def _read_older(opened: IO[bytes]) -> tuple[Any, Storages]:
    opened.seek(0)
    if opened.read(1) != b"\x80":
        raise CheckpointError("it is neither a zip nor a pickle: give a checkpoint saved by torch.save")
    file = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)  # a length that is a lie costs no memory here
    if read_pickle(file) != _MAGIC:
        raise CheckpointError("it is a pickle, but not one of torch.save: give a checkpoint saved by torch.save")
    read_pickle(file)  # the version of the protocol, the same since 2016
    facts = read_pickle(file)
    if not isinstance(facts, dict) or not facts.get("little_endian"):
        raise CheckpointError("it was written on a machine of the other byte order: save it again on this one")
    value, keys = read_pickle(file), read_pickle(file)
    if not isinstance(keys, list):
        raise CheckpointDamaged("its list of storages is missing: download the file again")
    sizes = _element_sizes(value)
    return value, {str(key): _read_storage(file, str(key), sizes) for key in keys}


def _read_storage(file: mmap.mmap, key: str, sizes: Mapping[str, int]) -> bytes:
    head = file.read(8)
    wanted = struct.unpack("<q", head)[0] * sizes.get(key, 0) if len(head) == 8 else -1
    if not 0 <= wanted <= len(file) - file.tell():
        raise CheckpointDamaged("it ends before its last tensor: it is cut off, download the file again")
    return file.read(wanted)


def _element_sizes(value: Any) -> dict[str, int]:
    """Bytes of an element of each storage that the value names: the older files do not say it beside the bytes."""
    sizes: dict[str, int] = {}
    seen, left = set(), [value]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Stored):
            storage = _storage(one)
            sizes[storage.key] = np.dtype(_DTYPES[storage.kind]).itemsize
        elif isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list | tuple):
            left += one
    return sizes


def _tensors(value: Any, under: str, storages: Storages) -> Tensors:
    if under:
        if not isinstance(value, dict) or under not in value:
            there = ", ".join(map(str, list(value)[:8])) if isinstance(value, dict) else type(value).__name__
            raise CheckpointError(f"it holds {there or 'nothing'}, expected '{under}': give another file")
        value = value[under]
    if not isinstance(value, dict):
        raise CheckpointError(f"it holds {type(value).__name__}, expected tensors by name: save a state dict")
    return {str(name): _tensor(one, str(name), storages) for name, one in value.items() if isinstance(one, Call)}


def _tensor(call: Call, name: str, storages: Storages) -> NDArray[Any]:
    if call.function == PARAMETER and call.arguments and isinstance(call.arguments[0], Call):
        call = call.arguments[0]
    if call.function != TENSOR or len(call.arguments) < 4 or not isinstance(call.arguments[0], Stored):
        raise CheckpointDamaged(f"{name} is not a tensor: download the file again")
    stored, offset, shape, strides = call.arguments[:4]
    flat = _elements(_storage(stored), name, storages)
    _check_view(name, len(flat), offset, shape, strides)
    bytes_apart = [flat.itemsize * stride for stride in strides]
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, bytes_apart, writeable=False)


def _storage(stored: Stored) -> _Storage:
    match stored.id:
        case ("storage", Name() as kind, str() as key, _, int() as elements, *_) if kind in KINDS and elements >= 0:
            return _Storage(KINDS[kind], key, elements)
    raise CheckpointDamaged("a tensor's bytes are not where they should be: download the file again")


def _elements(storage: _Storage, name: str, storages: Storages) -> NDArray[Any]:
    content, dtype = storages.get(storage.key), np.dtype(_DTYPES[storage.kind])
    if content is None or len(content) != storage.elements * dtype.itemsize:
        held = "none" if content is None else f"{len(content):,}"
        raise CheckpointDamaged(
            f"{name} has {held} bytes, expected {storage.elements * dtype.itemsize:,}: download the file again"
        )
    flat = np.frombuffer(content, dtype)
    if storage.kind == "BFloat16":  # the upper half of a float32
        flat = (flat.astype(np.uint32) << 16).view(np.float32)
    return flat


def _check_view(name: str, elements: int, offset: Any, shape: Any, strides: Any) -> None:
    """A view that reaches outside of its storage would read other memory, one that repeats it could fill all of it."""
    whole = isinstance(shape, tuple) and isinstance(strides, tuple) and len(shape) == len(strides)
    whole = whole and all(type(part) is int and part >= 0 for part in (offset, *shape, *strides))
    if whole and math.prod(shape) == 0:
        whole = offset <= elements
    elif whole:
        last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        whole = last < elements and math.prod(shape) <= elements
    if not whole:
        raise CheckpointDamaged(f"{name} reaches outside of its {elements:,} elements: download the file again")
