"""Tensors in safetensors files, sealed with a checksum, and in and out of a model by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from safetensors import SafetensorError, safe_open

from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.files import whole_file

_SEAL = "xxh3"  # safetensors itself checks lengths only: a flipped byte would be loaded as a weight
_SHOWN = 20
_KINDS = {
    np.dtype(name): kind
    for name, kind in {
        "<f8": "F64", "<f4": "F32", "<f2": "F16", "<i8": "I64", "<i4": "I32", "<i2": "I16", "|i1": "I8",
        "<u8": "U64", "<u4": "U32", "<u2": "U16", "|u1": "U8", "|b1": "BOOL",
    }.items()
}  # fmt: skip


def save(path: Path | str, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors to one file, whole or not at all. Metadata are strings."""
    arrays = {name: np.array(tensors[name], order="C", copy=None) for name in sorted(tensors)}
    notes = dict(metadata or {}) | {_SEAL: _checksum(arrays)}
    try:
        with whole_file(path) as file:
            file.write(_header(arrays, notes))
            for array in arrays.values():
                file.write(array.reshape(-1).view(np.uint8).data)
    except OSError as error:
        raise CheckpointError(f"cannot write {path} ({error}): free some space or choose another place") from None


def _header(arrays: Mapping[str, np.ndarray], notes: Mapping[str, str]) -> bytes:
    """What stands before the tensors: the length of a JSON object, and the object, filled up to eight bytes.

    Written here because `safetensors.save_file` puts a file of its own in the place of the one it is given, which only
    its owner may read; and `save` would hold every tensor twice.
    """
    fields: dict[str, Any] = {"__metadata__": dict(notes)}
    begin = 0
    for name, array in arrays.items():
        if array.dtype not in _KINDS:
            raise CheckpointError(f"{name} is {array.dtype}, expected one of {', '.join(map(str, _KINDS))}")
        end = begin + array.nbytes
        fields[name] = {"dtype": _KINDS[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(fields, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def load(path: Path | str) -> dict[str, np.ndarray]:
    """The tensors of a file, after checking that they are those that were written."""
    return _read(path)[0]


def load_metadata(path: Path | str) -> dict[str, str]:
    """What was noted when the file was written; the tensors are not read."""
    try:
        with safe_open(_existing(path), framework="numpy") as file:
            return {name: note for name, note in (file.metadata() or {}).items() if name != _SEAL}
    except SafetensorError as error:
        raise _damaged(path, error) from None


def _read(path: Path | str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    try:
        with safe_open(_existing(path), framework="numpy") as file:
            tensors, notes = {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except SafetensorError as error:
        raise _damaged(path, error) from None
    if _SEAL in notes and notes[_SEAL] != _checksum(tensors):  # files of other programs carry no seal
        raise _damaged(path, "its checksum is not the one it was written with")
    return tensors, notes


def _existing(path: Path | str) -> Path:
    path = Path(path)
    if not path.is_file():
        raise CheckpointError(f"{path} is missing: give a checkpoint that has it")
    return path


def _damaged(path: Path | str, what: Any) -> CheckpointDamaged:
    return CheckpointDamaged(f"{path} is damaged ({what}): use an earlier checkpoint, or copy the file again")


def _checksum(tensors: Mapping[str, np.ndarray]) -> str:
    digest = xxhash.xxh3_128()
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _is_finite(tensor: np.ndarray) -> bool:
    return tensor.dtype.kind in "biuf" and bool(np.isfinite(tensor).all())


def halved(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """In half precision, but for statistics and scales: they are few, and everything is multiplied by them."""
    return {name: _half(tensor) for name, tensor in tensors.items()}


def _half(tensor: np.ndarray) -> np.ndarray:
    if tensor.ndim < 2:
        return tensor
    with np.errstate(over="ignore"):  # what is too large for it stays as it is
        half = tensor.astype(np.float16)
    return half if np.isfinite(half).all() else tensor


def weights_of(model: Any) -> dict[str, np.ndarray]:
    """Every variable of a model, statistics included, by its path."""
    return {variable.path: variable.numpy() for variable in model.variables}


def set_weights(model: Any, tensors: Mapping[str, np.ndarray]) -> None:
    """Give a model its weights: exactly its variables, each of its shape. Nothing is set unless all fit.

    What speaking does not need (`unspoken` of the model) may be missing as a whole, and then stays as it is."""
    wanted = {variable.path: variable for variable in model.variables}
    unspoken = tuple(getattr(model, "unspoken", ()))
    if not any(name.startswith(unspoken) for name in tensors):
        wanted = {name: variable for name, variable in wanted.items() if not name.startswith(unspoken)}
    faults = [f"{name} is missing" for name in wanted if name not in tensors]
    faults += [f"{name} is not in the model" for name in tensors if name not in wanted]
    faults += [
        f"{name} is {list(tensors[name].shape)}, expected {list(variable.shape)}"
        for name, variable in wanted.items()
        if name in tensors and tuple(tensors[name].shape) != tuple(variable.shape)
    ]
    if faults:
        shown = "; ".join(faults[:_SHOWN]) + (f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else "")
        raise CheckpointError(f"the weights do not fit the model: {shown}: use the model.json that lies beside them")
    broken = [name for name in wanted if not _is_finite(tensors[name])]
    if broken:
        more = f" and {len(broken) - 1} more tensors hold" if len(broken) > 1 else " holds"
        raise CheckpointDamaged(
            f"the weights are not finite: {broken[0]}{more} NaN or infinite values: use another checkpoint"
        )
    for name, variable in wanted.items():
        variable.assign(tensors[name])
