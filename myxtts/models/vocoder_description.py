"""What a vocoder is, apart from its weights: model.json of its folder, a checkpoint like any other (see format.py)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.models.format import MODEL, read_model, write_model

OURS, HIFIGAN = "excitation", "hifigan"
KINDS = (OURS, HIFIGAN)


@dataclass
class VocoderDescription:
    kind: str = OURS
    source: dict[str, str] = field(default_factory=dict)  # what it was made from: a file and its sha256, or data

    def save(self, folder: Path | str) -> None:
        write_model(folder, "vocoder", asdict(self))

    @classmethod
    def load(cls, folder: Path | str) -> VocoderDescription:
        """Read and checked: a vocoder for other frames would speak at another pitch, or noise."""
        values = read_model(folder, "vocoder")
        wrong = sorted({each.name for each in fields(cls)}.symmetric_difference(values))
        if wrong:
            raise CheckpointDamaged(f"{folder}/{MODEL} lacks or does not know {', '.join(wrong)}: copy it again")
        if values["kind"] not in KINDS:
            raise CheckpointError(f"{folder} is a vocoder of kind '{values['kind']}', expected {', '.join(KINDS)}")
        return cls(**values)

    def check_continues(self, other: VocoderDescription, run: Path) -> None:
        """A run resumed as `self` must have been the same kind before."""
        if other.kind != self.kind:
            raise CheckpointError(f"{run} trains a vocoder of kind '{other.kind}': choose another --run")
