"""Recordings of the wanted voice become what the reference encoder was trained on: crops of log-mel."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import CheckpointDamaged, RowError, SpeechError
from myxtts.features.audio import AudioSettings, load_clip
from myxtts.features.mel import HOP_SAMPLES, LOG_FLOOR, N_MELS, SAMPLE_RATE, log_mel
from myxtts.features.music import HELD, SPAN, MusicDetector
from myxtts.features.voicing import signs_of_speech
from myxtts.models import weights
from myxtts.models.description import ModelDescription
from myxtts.models.format import VOICE

_CLIP_CROPS = 8
_MOST_CROPS = 4096
_LEAST_SECONDS = 0.5
MOST_SECONDS = 600.0
# Of 1,509 clips of speech, of which many are words, two have a level that changes less, and none has less voice in its
# loud frames (0.46 a French letter, 0.53 a whisper). Noise has 0.1 and 0.0, a chord 0.4, drums 0.43 of voice.
_LEAST_SPREAD, _LEAST_VOICE = 0.5, 0.45
_MUSIC_WINDOW, _MOST_MUSIC_WINDOWS = 706, 2000  # samples, 32 ms; a minute is enough
# A silent pause is this far (nepers) below the loudest twentieth of the frames; of it a few frames stay at either side
# of what is said. Where less than a twentieth is loud, that level is silence too: it is taken to be at most so far
# below the tenth loudest frame.
_PAUSE_DEPTH, _PAUSE_EDGE, _LOUDEST, _LOUDER = 4.0, 4, 10, 2.0
# Noise is what a bin has in the quietest tenth of a clip's frames. Of a frame that is nothing else, this share stays.
_NOISE_PERCENT, _NOISE_LEFT = 10, 0.05

log = logging.getLogger(__name__)

Path_ = str | os.PathLike[str]


class Reference(NamedTuple):
    crops: NDArray[np.float32]  # [crops, frames, mels]
    lengths: NDArray[np.int32]  # [crops]
    warnings: tuple[str, ...] = ()  # what speaks against a recording that was read
    frames: int = 0  # that were read of it, each once, though crops may overlap

    @property
    def spoken(self) -> NDArray[np.float32]:
        """Its frames [frames, mels] in their order. Crops of a clip overlap: what is in two of them counts once."""
        filled = np.concatenate([crop[:length] for crop, length in zip(self.crops, self.lengths, strict=True)])
        _, first = np.unique(filled, axis=0, return_index=True)
        spoken: NDArray[np.float32] = filled[np.sort(first)]
        return spoken


AnyReference = Path_ | Sequence[Path_] | Reference


def read_voice(voice: AnyReference | None, own: Reference | None, model: ModelDescription) -> Reference:
    """The recordings that a request names, or the model's own voice."""
    if isinstance(voice, Reference):
        return voice
    if voice is not None:
        return read_references(voice, model)
    if own is None:
        raise SpeechError("this model has no voice of its own: give a recording of the wanted voice with --voice")
    return own


def read_references(paths: Path_ | Sequence[Path_], model: ModelDescription) -> Reference:
    """The crops of one or several recordings, prepared as the corpus was and as long as in training."""
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if not paths:
        raise SpeechError("found an empty list of reference recordings, expected at least one file")
    prepared = AudioSettings.of(model.audio, min_seconds=0.0, max_seconds=MOST_SECONDS)
    warnings: list[str] = []
    reference = make_reference((_read(path, prepared, warnings) for path in paths), model.reference_frames)
    for warning in warnings:
        log.warning("%s", warning)
    return reference._replace(warnings=tuple(warnings))


def _read(path: Path_, settings: AudioSettings, warnings: list[str]) -> NDArray[np.float32]:
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe without a writer would be waited for
        what = "a folder" if os.path.isdir(path) else "no regular file"
        raise SpeechError(f"the reference {os.fspath(path)} is {what}: give a recording of speech, 3 to 10 s are best")
    try:
        clip = load_clip(path, settings)
    except RowError as error:
        raise SpeechError(f"the reference {os.fspath(path)} {why_unusable(error)}") from None
    _expect_enough(len(clip), "of sound", path)
    mel = log_mel(clip)
    if doubt := _doubt(clip):
        warnings.append(
            f"the reference {os.fspath(path)} hardly sounds like speech: {doubt}; give a clean recording of one "
            "person, 3 to 10 s are best"
        )
    spoken = voice_frames(mel)
    _expect_enough(len(spoken) * HOP_SAMPLES, "of speech besides its pauses", path)
    return spoken


def why_unusable(error: RowError) -> str:
    """A clip that is too long is told the limit of a corpus, a setting: whoever gives one recording has none."""
    if error.reason == "too_long":
        return f"has more than {MOST_SECONDS / 60:g} minutes, the most that is read: cut 3 to 10 s of speech out of it"
    if error.reason == "undecodable":
        return f"cannot be used: {error}; give speech as wav, flac, mp3 or ogg ('ffmpeg -i RECORDING me.wav' makes one)"
    return f"cannot be used: {error}; give a recording of speech, 3 to 10 s are best"


def _doubt(clip: NDArray[np.int16]) -> str:
    """What speaks against its being speech, if anything does."""
    signs = signs_of_speech(clip)
    if signs.level_spread < _LEAST_SPREAD:
        return "its level hardly changes, like that of noise or of a held tone"
    if signs.voiced_share < _LEAST_VOICE:
        return "there is hardly any voice in it, as in knocking or whispering"
    windows = min(len(clip) // _MUSIC_WINDOW, _MOST_MUSIC_WINDOWS)
    if windows < SPAN:
        return ""  # too short to tell
    audio = clip[: windows * _MUSIC_WINDOW].astype(np.float32) / np.float32(32768)
    steadiness = MusicDetector(SAMPLE_RATE, _MUSIC_WINDOW)(audio)
    return "its tones are held, as in music or singing" if float(np.median(steadiness)) >= HELD else ""


def _expect_enough(samples: int, of_what: str, path: Path_) -> None:
    seconds = samples / SAMPLE_RATE
    if seconds < _LEAST_SECONDS:
        raise SpeechError(
            f"the reference {os.fspath(path)} has {seconds:.2f} s {of_what}, expected at least {_LEAST_SECONDS} s: "
            "give a recording with more speech, 3 to 10 s are best"
        )


def voice_frames(mel: NDArray[Any]) -> NDArray[Any]:
    """A recording's log-mel [frames, mels] without what says nothing of a voice: the noise of its room, its pauses."""
    return without_pauses(_without_noise(mel))


def _without_noise(mel: NDArray[Any]) -> NDArray[np.float32]:
    """Spectral subtraction: the encoder has learnt from voices of which most were recorded in silence."""
    if not len(mel):
        return mel
    heard = np.exp(mel, dtype=np.float32)
    noise = np.percentile(heard, _NOISE_PERCENT, axis=0)
    left: NDArray[np.float32] = np.maximum(heard - noise, _NOISE_LEFT * heard).astype(np.float32)
    return np.maximum(np.log(left), np.float32(LOG_FLOOR))


def without_pauses(mel: NDArray[Any]) -> NDArray[Any]:
    """They say nothing of a voice, and the encoder has learnt from fluent speech. 30 unseen voices, 120 sentences: word
    error rate 0.184 with pauses, 0.155 without, naturalness 3.23 and 3.29; who it sounds like stays the same."""
    if not len(mel):
        return mel
    level = mel.mean(axis=1)
    loud = max(np.percentile(level, 95), np.sort(level)[-_LOUDEST:][0] - _LOUDER)
    near = np.convolve(level > loud - _PAUSE_DEPTH, np.ones(2 * _PAUSE_EDGE + 1)) > 0
    return mel[near[_PAUSE_EDGE : _PAUSE_EDGE + len(level)]]


def make_reference(mels: Iterable[NDArray[Any]], frames: int) -> Reference:
    """Evenly spread crops of log-mel clips [frames, mels], at most 8 of each; a shorter clip is padded."""
    mels = list(mels)
    crops = [crop for mel in mels for crop in _crops(mel, frames)]
    filled = np.full((len(crops), frames, N_MELS), LOG_FLOOR, np.float32)
    for row, crop in zip(filled, crops, strict=True):
        row[: len(crop)] = crop
    heard = sum(min(len(mel), frames * _CLIP_CROPS) for mel in mels)
    return Reference(filled, np.array([len(crop) for crop in crops], np.int32), frames=heard)


def _crops(mel: NDArray[Any], frames: int) -> list[NDArray[Any]]:
    count = min(-(-len(mel) // frames), _CLIP_CROPS)
    starts = np.linspace(0, max(len(mel) - frames, 0), count).astype(int)
    return [mel[start : start + frames] for start in starts]


def save_reference(folder: Path | str, mels: Iterable[NDArray[Any]], frames: int) -> None:
    """Put a default voice beside a model's weights: log-mel clips of the speaker that `say` takes without --voice."""
    reference = make_reference(mels, frames)
    tensors: dict[str, NDArray[Any]] = {"reference": reference.crops.astype(np.float16), "lengths": reference.lengths}
    weights.save(Path(folder) / VOICE, tensors)


def load_reference(folder: Path | str, frames: int) -> Reference | None:
    """The default voice that lies beside a model's weights, if there is one, in crops of the model's length."""
    path = Path(folder) / VOICE
    if not path.is_file():
        return None
    tensors = weights.load(path)
    kinds = {name: tensor.dtype.kind for name, tensor in tensors.items()}
    if kinds != {"reference": "f", "lengths": "i"} or tensors["reference"].shape[1:] != (frames, N_MELS):
        listing = ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in sorted(tensors.items()))
        raise CheckpointDamaged(
            f"{path} holds {listing}, expected lengths [n] and reference [n, {frames}, {N_MELS}]: "
            "remove it and give --voice"
        )
    crops, lengths = tensors["reference"].astype(np.float32), tensors["lengths"]
    if lengths.shape != crops.shape[:1] or not 0 < len(lengths) <= _MOST_CROPS or not np.isfinite(crops).all() \
            or lengths.min() < 1 or lengths.max() > frames:  # fmt: skip
        raise CheckpointDamaged(
            f"{path} holds no voice (no crops, or none that can be heard): remove it and give --voice"
        )
    return Reference(crops, lengths.astype(np.int32))
