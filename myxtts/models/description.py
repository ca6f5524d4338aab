"""What a model is, apart from its weights: `model.json`, which lies beside them; and where to find a model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from myxtts.cache.validation import AUDIO_SETTINGS, TEXT_SETTINGS
from myxtts.config.config import DataConfig, ModelConfig
from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.models.format import EMA, MODEL, WEIGHTS, part_of, read_model, write_model
from myxtts.models.shipped import BASE, shipped
from myxtts.models.sizes import size_named
from myxtts.models.vocoder_description import VocoderDescription
from myxtts.shapes import Maybe, Number, misfit

REFERENCE_FRAMES = DataConfig.reference_frames  # also of a model that is trained on pieces of its own clips


_MOST_SYMBOLS = 1 << 17  # each is a row of the model: at its largest 340 MB
_SHAPE = {
    "size": str,
    "reference_frames": Number(high=4096, whole=True),
    **dict.fromkeys(("token_table", "learnt", "languages", "speakers"), [str]),
    "tokens": {name: shape if isinstance(shape, Maybe) else Maybe(shape) for name, shape in TEXT_SETTINGS.items()},
    "audio": {name: Maybe(shape) for name, shape in AUDIO_SETTINGS.items()},
    "follows_pitch": bool,
    "voice_reach": Number(low=0.0),
    "main_language": str,
    "attribution": [str],
}


@dataclass
class ModelDescription:
    """Everything that is needed to build the model and to feed it as its corpus was fed."""

    size: str = ModelConfig.size
    reference_frames: int = REFERENCE_FRAMES  # length of the clips that showed it a voice
    token_table: list[str] = field(default_factory=list)  # symbols, their positions are the ids
    learnt: list[str] = field(default_factory=list)  # symbols that occur in what it was trained on; empty: not known
    languages: list[str] = field(default_factory=list)
    speakers: list[str] = field(default_factory=list)
    tokens: dict[str, Any] = field(default_factory=dict)  # a cache's settings["tokens"]
    audio: dict[str, Any] = field(default_factory=dict)  # a cache's settings["audio"]
    follows_pitch: bool = True  # a voice's pitch is that of its reference; older models learnt it
    voice_reach: float = 0.0  # how far from its own voice a model has learnt others; 0: not known, any is taken
    main_language: str = ""  # spoken where none is asked for; the first, if it is not given
    attribution: list[str] = field(default_factory=list)  # whose work it was made from that asks to be named

    def __post_init__(self) -> None:
        size_named(self.size)
        if not isinstance(self.reference_frames, int) or self.reference_frames < 1:
            raise CheckpointError(f"the model's reference_frames is {self.reference_frames!r}, expected 1 or more")
        for name in ("token_table", "languages"):
            if not getattr(self, name):
                raise CheckpointError(f"the model's {name} is empty: take it from the cache it is trained on")
            if len(getattr(self, name)) > _MOST_SYMBOLS:
                detail = f"the model's {name} has more than {_MOST_SYMBOLS} entries"
                raise CheckpointError(f"{detail}: MyXTTS did not write it")
        self.main_language = self.main_language or self.languages[0]
        if self.main_language not in self.languages:
            raise CheckpointError(
                f"the model's main_language is {self.main_language}, expected one of {', '.join(self.languages)}"
            )

    def check_continues(self, other: ModelDescription, run: Path) -> None:
        """Other symbols or languages in the same numbers would fit the weights and mean something else."""
        if other.size != self.size:
            raise CheckpointError(
                f"{run} has model.size={other.size}, not {self.size}: leave it as it was, choose another --run, or "
                "start over with --reset"
            )
        old, new = (each.tokens.get("kind") for each in (other, self))
        if old != new:
            raise CheckpointError(
                f"{run} was trained on {old} and this data is packed as {new}: pack it with data.text_tokens={old}, or "
                "start over with --reset"
            )
        self.follows_pitch = other.follows_pitch  # a run goes on as it began
        for name in ("token_table", "languages"):
            old, new = getattr(other, name), getattr(self, name)
            if old != new:
                raise CheckpointError(
                    f"{run} was trained with another {name} ({len(old)} entries, now {len(new)}): pack the data with "
                    "the token table of the old cache (--set data.token_table=OLD.cache), or start over with --reset"
                )

    def save(self, folder: Path | str) -> None:
        write_model(folder, "acoustic", asdict(self))

    @classmethod
    def load(cls, folder: Path | str) -> ModelDescription:
        """From a folder with model.json; an error names what is damaged, newer or for another mel."""
        older: dict[str, Any] = {"follows_pitch": False, "voice_reach": 0.0, "main_language": "", "attribution": []}
        values = older | read_model(folder, "acoustic")
        known = {each.name for each in fields(cls)}
        if missing := sorted(known.difference(values)):
            raise CheckpointDamaged(f"{folder}/{MODEL} lacks {', '.join(missing)}: copy the model again")
        if unknown := sorted(set(values).difference(known)):
            raise CheckpointError(
                f"{folder}/{MODEL} holds {', '.join(unknown)}, which only a newer MyXTTS knows: upgrade"
            )
        if unfit := misfit(values, _SHAPE):
            raise CheckpointDamaged(f"{folder}/{MODEL}: {unfit}: copy the model again")
        try:
            return cls(**values)
        except CheckpointError as error:
            raise CheckpointError(f"{folder}/{MODEL}: {error}") from None


def load_description(folder: Path | str) -> ModelDescription | VocoderDescription:
    """Of whichever part the folder's model is."""
    return (VocoderDescription if part_of(folder) == "vocoder" else ModelDescription).load(folder)


def find_checkpoint(path: Path | str) -> Path:
    """The folder with `model.json` and weights that a run directory or a checkpoint means.

    Of a run, the best checkpoint if there is one, else the last. `base` is the voice that comes with the package,
    unless a folder has that name.
    """
    path = Path(path)
    if not path.is_dir():
        if str(path) == BASE:
            return shipped(BASE)
        raise CheckpointError(f"{path} is not a folder: give a run directory, a checkpoint, or 'base'")
    places = [path, *(folder / link for folder in (path / "checkpoints", path) for link in ("best", "last"))]
    for place in places:
        if _holds_model(place):
            return place.resolve() if place.is_symlink() else place
    raise CheckpointError(f"{path} holds no model{_what_is_there(path)}")


def weights_file(checkpoint: Path) -> Path:
    """The weights to speak with: the running average where there is one."""
    return checkpoint / EMA if (checkpoint / EMA).is_file() else checkpoint / WEIGHTS


def _holds_model(folder: Path) -> bool:
    return (folder / MODEL).is_file() and any((folder / name).is_file() for name in (WEIGHTS, EMA))


def _what_is_there(path: Path) -> str:
    whole = sorted(step for step in path.glob("checkpoints/step-*") if _holds_model(step))
    if whole:
        return f": no best or last link, but {len(whole)} checkpoints; give one, for example {whole[-1]}"
    if (path / "checkpoints").is_dir():
        return ": its run has not saved a checkpoint yet; let it train longer"
    if (path / MODEL).is_file():
        missing = f"{MODEL} is there and {WEIGHTS} is not, as in an export without its weights"
        return f": {missing}; export the run again, or give the run that it was made from"
    return f": expected {MODEL} and {WEIGHTS}, or a run directory with checkpoints/"
