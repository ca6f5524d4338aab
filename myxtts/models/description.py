"""What a model is, apart from its weights: `model.json`, which lies beside them; and where to find a model."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.models.files import write_whole
from myxtts.models.sizes import size_named

FORMAT = 1
DESCRIPTION = "model.json"
WEIGHTS = "weights.safetensors"
EMA = "ema.safetensors"
HEADS = ("regression", "flow", "both")


@dataclass
class ModelDescription:
    """Everything that is needed to build the model and to feed it as its corpus was fed."""

    size: str = "tiny"
    head: str = "regression"  # "regression", "flow" or "both"
    n_mels: int = 80
    token_table: list[str] = field(default_factory=list)  # symbols, their positions are the ids
    learnt: list[str] = field(default_factory=list)  # symbols that occur in what it was trained on; empty: not known
    languages: list[str] = field(default_factory=list)
    speakers: list[str] = field(default_factory=list)
    tokens: dict[str, Any] = field(default_factory=dict)  # a cache's settings["tokens"]
    audio: dict[str, Any] = field(default_factory=dict)  # a cache's settings["audio"]

    def __post_init__(self) -> None:
        size_named(self.size)
        if self.head not in HEADS:
            raise CheckpointError(f"the model's head is '{self.head}', expected one of {', '.join(HEADS)}")
        for name in ("token_table", "languages"):
            if not getattr(self, name):
                raise CheckpointError(f"the model's {name} is empty: take it from the cache it is trained on")

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT} | asdict(self), ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> ModelDescription:
        values = _parse(text)
        if values.get("format") != FORMAT:
            raise CheckpointError(
                f"{DESCRIPTION} is format {values.get('format')}, this code reads {FORMAT}: speak with the version of "
                "MyXTTS that wrote it"
            )
        values.pop("format")
        known = {each.name for each in fields(cls)}
        wrong = sorted(known.symmetric_difference(values))
        if wrong:
            raise CheckpointDamaged(f"{DESCRIPTION} lacks or does not know {', '.join(wrong)}: copy the model again")
        return cls(**values)

    def save(self, folder: Path | str) -> None:
        content = self.to_json().encode("utf-8")
        write_whole(Path(folder) / DESCRIPTION, lambda beside: _write(beside, content))

    @classmethod
    def load(cls, folder: Path | str) -> ModelDescription:
        path = Path(folder) / DESCRIPTION
        try:
            text = path.read_bytes().decode("utf-8")
        except OSError as error:
            raise CheckpointError(f"cannot read {path}: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise CheckpointDamaged(f"{path} is damaged: {error}") from None
        try:
            return cls.from_json(text)
        except CheckpointError as error:
            raise type(error)(f"{path.parent}: {error}") from None


def find_checkpoint(path: Path | str) -> Path:
    """The folder with `model.json` and weights that a run directory, a checkpoint or an exported model means.

    Of a run, the best checkpoint if there is one, else the last.
    """
    path = Path(path)
    if not path.is_dir():
        raise CheckpointError(f"{path} is not a folder: give a run directory, a checkpoint or an exported model")
    places = [path, *(folder / link for folder in (path / "checkpoints", path) for link in ("best", "last"))]
    for place in places:
        if _holds_model(place):
            return place.resolve() if place.is_symlink() else place
    raise CheckpointError(f"{path} holds no model{_what_is_there(path)}")


def weights_file(checkpoint: Path) -> Path:
    """The weights to speak with: the running average where there is one."""
    return checkpoint / EMA if (checkpoint / EMA).is_file() else checkpoint / WEIGHTS


def _holds_model(folder: Path) -> bool:
    return (folder / DESCRIPTION).is_file() and any((folder / name).is_file() for name in (WEIGHTS, EMA))


def _what_is_there(path: Path) -> str:
    whole = sorted(step for step in path.glob("checkpoints/step-*") if _holds_model(step))
    if whole:
        return f": no best or last link, but {len(whole)} checkpoints; give one, for example {whole[-1]}"
    if (path / "checkpoints").is_dir():
        return ": its run has not saved a checkpoint yet; let it train longer"
    return f": expected {DESCRIPTION} and {WEIGHTS}, or a run directory with checkpoints/"


def _parse(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise CheckpointDamaged(f"{DESCRIPTION} is not JSON ({error}): copy the model again") from None
    if not isinstance(values, dict):
        raise CheckpointDamaged(f"{DESCRIPTION} holds a {type(values).__name__}, expected an object")
    return values


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
