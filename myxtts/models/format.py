"""The whole disk format of a checkpoint: its files, their keys, and which versions this code reads.

    step-N/                   all that is needed to speak, and to resume training; the folder may have any name
      model.json              what the model is and what it was trained on (`ModelDescription`)
      weights.safetensors     its variables by name
      ema.safetensors         their running average; where it is, it speaks
      voice.safetensors       crops of the model's own voice: reference [n, reference_frames, mels], lengths [n]
      optimiser.safetensors   what only training needs
      state.json              written last: step, metric, the trainer's state, the hash of every other file, and its own

Both JSON files carry `format`, the version of the checkpoint as a whole. It rises when a key is added without which an
older program would go wrong, or when older weights no longer fit; other versions than this code's are refused:
    2   model.json has `part` (what the weights are), `mel`, `reference_frames` and `myxtts` (who wrote it);
        `follows_pitch`, where it is missing, is false: models of before it was there; where
        `voice_reach` is missing, it is 0: not known; where `attribution` is missing, it is empty;
        where `main_language` is missing, it is the first
    1   had none of them, and its models knew no pitch
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.features.mel import mel_settings
from myxtts.files import fingerprint, hash_file, read_regular, write_whole
from myxtts.shapes import COUNT, Each, Number, misfit
from myxtts.version import __version__

FORMAT = 2
MODEL = "model.json"
STATE = "state.json"
WEIGHTS = "weights.safetensors"
EMA = "ema.safetensors"
VOICE = "voice.safetensors"
PARTS = ("acoustic", "vocoder")  # what a checkpoint may be: text to mel, mel to sound

_SEAL = "xxh3_state_json"
_STATE = {"step": COUNT, "metric": (None, Number()), "sequence": COUNT, "state": Each(Any), "files": Each(str)}
_MOST_JSON_BYTES = 1 << 26


def mel_definition() -> dict[str, Any]:
    """What this code means by a mel: the settings of a cache's, without how a cache stores it."""
    return {name: value for name, value in mel_settings().items() if name != "dtype"}


def write_model(folder: Path | str, part: str, values: dict[str, Any]) -> None:
    """model.json of a model of that part, with this code's mel."""
    body = {"format": FORMAT, "myxtts": __version__, "part": part, "mel": mel_definition(), **values}
    write_whole(Path(folder) / MODEL, (json.dumps(body, ensure_ascii=False, indent=1) + "\n").encode())


def read_model(folder: Path | str, part: str) -> dict[str, Any]:
    """What `write_model` was given: of any version that this code reads, undamaged, of that part, and for this mel."""
    folder = Path(folder)
    path = folder / MODEL
    values = _complete(_read_json(path), path)
    if (folder / STATE).exists():
        _check_hash(path, read_state(folder))
    kind, mel, version = (values.pop(name) for name in ("part", "mel", "myxtts"))
    if kind != part:
        raise CheckpointError(f"{folder} is a model of kind '{kind}', expected '{part}': give another one")
    _check_mel(folder, mel, version)
    return values


def part_of(folder: Path | str) -> str:
    """Which part a folder's model is; what else is in its model.json is checked when it is read."""
    path = Path(folder) / MODEL
    part = _complete(_read_json(path), path)["part"]
    if part not in PARTS:
        raise CheckpointError(f"{folder} is a model of kind '{part}', expected {' or '.join(PARTS)}: upgrade MyXTTS")
    return part


def _complete(values: dict[str, Any], path: Path) -> dict[str, Any]:
    check_format(values, path)
    values.pop("format")
    missing = [name for name in ("part", "mel", "myxtts") if name not in values]
    if missing:
        raise CheckpointDamaged(f"{path} lacks {', '.join(missing)}: copy the model again")
    return values


def _check_mel(folder: Path, mel: Any, version: Any) -> None:
    """A model whose frames mean something else than this code takes them for must not speak."""
    ours = mel_definition()
    if mel == ours:
        return
    mel = mel if isinstance(mel, dict) else {}
    unlike = [f"{name} {mel.get(name)}, not {ours.get(name)}" for name in ours | mel if mel.get(name) != ours.get(name)]
    raise CheckpointError(
        f"{folder} was trained on another mel than this version of MyXTTS computes ({'; '.join(unlike)}): use MyXTTS "
        f"{version}, which wrote it, or train again"
    )


def check_format(values: dict[str, Any], path: Path) -> None:
    """The version of a checkpoint's file must be the one that this code reads."""
    version = values.get("format")
    if not isinstance(version, int) or version < 1:
        raise CheckpointDamaged(f"{path} has no format number: copy the model again")
    if version > FORMAT:
        raise CheckpointError(f"{path} is format {version}, this code reads {FORMAT}: upgrade MyXTTS")
    if version < FORMAT:
        raise CheckpointError(
            f"{path} is format {version}, this code reads {FORMAT}: train again, or use an older MyXTTS"
        )


def write_state(folder: Path, body: dict[str, Any]) -> None:
    """state.json: the body, the hash of every file that is there, and a hash of itself."""
    body = {"format": FORMAT, **body, "files": {path.name: hash_file(path) for path in sorted(folder.iterdir())}}
    text = json.dumps({**body, _SEAL: fingerprint(body)}, ensure_ascii=False, indent=1, allow_nan=False)
    write_whole(folder / STATE, (text + "\n").encode())


def read_state(folder: Path) -> dict[str, Any]:
    """What `write_state` wrote, if it is still that."""
    path = folder / STATE
    body = _read_json(path)
    seal = body.pop(_SEAL, None)
    if not isinstance(seal, str) or seal != _fingerprint_or_none(body):
        raise CheckpointDamaged(f"{path} is not what was written (its checksum differs): use another checkpoint")
    check_format(body, path)
    if wrong := misfit(body, _STATE):
        raise CheckpointDamaged(f"{path}: {wrong}: use another checkpoint")
    return body


def _fingerprint_or_none(body: dict[str, Any]) -> str | None:
    try:
        return fingerprint(body)
    except UnicodeEncodeError:  # half a surrogate is JSON, but no text
        return None


def _check_hash(path: Path, state: dict[str, Any]) -> None:
    if state["files"].get(path.name) != hash_file(path):
        raise CheckpointDamaged(f"{path} is not what was written (its checksum differs): use another checkpoint")


def check_files(folder: Path, state: dict[str, Any]) -> None:
    """Every file that state.json names is there and is what was written."""
    for name in state["files"]:
        if Path(name).name != name:
            raise CheckpointDamaged(f"{folder / STATE} names {name!r}, which is not a file of a checkpoint")
        if not (folder / name).is_file():
            raise CheckpointDamaged(f"{folder / name} is missing")
        _check_hash(folder / name, state)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(read_regular(path, _MOST_JSON_BYTES))
    except FileNotFoundError:
        raise CheckpointDamaged(f"{path} is missing") from None
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointDamaged(f"{path} is not JSON ({error}): copy the model again") from None
    if not isinstance(values, dict):
        raise CheckpointDamaged(f"{path} holds a {type(values).__name__}, expected an object: copy the model again")
    return values
