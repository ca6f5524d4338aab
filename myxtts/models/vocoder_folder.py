"""A vocoder's folder: `vocoder.json`, which says what it is and which mel it speaks, and its weights beside it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.features.mel import mel_settings
from myxtts.files import write_whole

FORMAT = 1
DESCRIPTION = "vocoder.json"
WEIGHTS = "weights.safetensors"
KINDS = ("hifigan",)


def mel_definition() -> dict[str, Any]:
    """What of the mel a vocoder hears: all but how the cache stores it."""
    return {name: value for name, value in mel_settings().items() if name not in ("revision", "dtype")}


@dataclass
class VocoderDescription:
    kind: str
    mel: dict[str, Any] = field(default_factory=mel_definition)
    source: dict[str, str] = field(default_factory=dict)  # name and sha256 of the file that it was made from

    def save(self, folder: Path) -> None:
        text = json.dumps({"format": FORMAT} | asdict(self), ensure_ascii=False, indent=1) + "\n"
        write_whole(folder / DESCRIPTION, text.encode("utf-8"))

    @classmethod
    def load(cls, folder: Path) -> VocoderDescription:
        """Read and checked: a vocoder for other frames would speak at another pitch, or noise."""
        values = _read(folder / DESCRIPTION)
        if values.pop("format", None) != FORMAT:
            raise CheckpointError(f"{folder / DESCRIPTION} is not format {FORMAT}: import the vocoder again")
        if wrong := sorted({each.name for each in fields(cls)}.symmetric_difference(values)):
            raise CheckpointDamaged(
                f"{folder / DESCRIPTION} lacks or does not know {', '.join(wrong)}: import it again"
            )
        found = cls(**values)
        if found.kind not in KINDS:
            raise CheckpointError(f"{folder} is a vocoder of kind '{found.kind}', expected {', '.join(KINDS)}")
        check_mel(found.mel, str(folder))
        if not (folder / WEIGHTS).is_file():
            raise CheckpointDamaged(f"{folder / WEIGHTS} is missing: import the vocoder again")
        return found


def check_mel(found: dict[str, Any], where: str) -> None:
    """An error that names each value in which a vocoder's frames differ from ours."""
    ours = mel_definition()
    differing = [f"{name} {found.get(name)} instead of {ours[name]}" for name in ours if found.get(name) != ours[name]]
    if differing:
        raise CheckpointError(
            f"{where} is a vocoder for other frames, with {', '.join(differing)}: "
            f"use one for {ours['sample_rate']:,} Hz and this mel definition"
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise CheckpointError(
            f"{path.parent} holds no {path.name}: give a folder made by 'myxtts import-vocoder'"
        ) from None
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise CheckpointDamaged(f"{path} is not JSON ({error}): import the vocoder again") from None
    if not isinstance(values, dict):
        raise CheckpointDamaged(f"{path} holds a {type(values).__name__}, expected an object: import it again")
    return values
