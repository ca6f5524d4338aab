"""From an audio file to 16-bit samples at 22,050 Hz: decode, mix down, resample, trim, set the loudness.

Everything here that takes time (libsndfile, soxr, numpy) releases the GIL, so threads are enough to use every core.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from myxtts.errors import RowError
from myxtts.features.mel import HOP_SAMPLES, INT16_SCALE, SAMPLE_RATE
from myxtts.features.wav import plain_wav_length, read_plain_wav

_FULL_SCALE = 32767.0 / 32768.0
# Below -80 dB of full scale a clip is recording noise of a 16-bit converter, not speech.
SILENT_PEAK = 1e-4
TRIM_MARGIN_HOPS = 4
_ENERGY_HOPS = 512  # 0.5 MB as float: in the second cache. Blocks of 64 hand the GIL over too often
# A telephone to the fastest converters; the rate decides how much memory `max_seconds` are (1 GHz: 160 GB).
_LEAST_RATE, _MOST_RATE = 1000, 768_000
_UNKNOWN_LENGTH = 1 << 62  # libsndfile's frames of a file that does not say: 2^63 - 1
_PIECE_FRAMES = 1 << 16
_SHORT_DATA = re.compile(r"data : (\d+) \(should be (\d+)\)")  # in libsndfile's log of a file


@dataclass(frozen=True)
class AudioSettings:
    """How a clip is prepared. Small and picklable: it travels to worker processes."""

    trim_silence: bool = True
    trim_db: float = 45.0
    loudness_lufs: float | None = None
    min_seconds: float = 0.2
    max_seconds: float = 40.0

    @classmethod
    def of(cls, fingerprint: Mapping[str, Any], **changes: Any) -> AudioSettings:
        """Those behind a fingerprint, as a model keeps it, but for some."""
        own = {each.name: fingerprint[each.name] for each in fields(cls) if each.name in fingerprint}
        return cls(**own | changes)

    def fingerprint(self) -> dict[str, Any]:
        """Everything that decides the bytes of the packed audio."""
        return {"revision": 1, "sample_rate": SAMPLE_RATE, "hop_samples": HOP_SAMPLES, "dtype": "int16", **asdict(self)}


def load_clip(path: str | os.PathLike[str], settings: AudioSettings) -> NDArray[np.int16]:
    """The file as it goes into a cache: int16 [samples] at 22,050 Hz. An unusable file is a `RowError`."""
    return to_clip(*read_sound(path, settings), settings)


def read_sound(path: str | os.PathLike[str], settings: AudioSettings) -> tuple[NDArray[Any], int]:
    """The sound of a file as it was recorded, mono, with its rate."""
    audio, rate = read_audio(path, settings.max_seconds)
    return check_samples(audio), rate


def to_clip(audio: NDArray[Any], rate: int, settings: AudioSettings) -> NDArray[np.int16]:
    """A sound at any rate as it goes into a cache."""
    if rate != SAMPLE_RATE:
        audio = resample(to_float(audio), rate)
    if settings.trim_silence:
        audio = trim_silence(audio, settings.trim_db)
    if len(audio) < max(settings.min_seconds * SAMPLE_RATE, 1):
        raise RowError(
            "too_short",
            f"the clip has {len(audio) / SAMPLE_RATE:.2f} s of sound, data.min_seconds is {settings.min_seconds:g}",
        )
    if settings.loudness_lufs is not None:
        from myxtts.features.loudness import set_loudness  # scipy.signal costs 0.3 s to import, and few ask for this

        audio = set_loudness(to_float(audio), settings.loudness_lufs)
    return to_int16(audio)


def read_audio(path: str | os.PathLike[str], max_seconds: float | None = None) -> tuple[NDArray[Any], int]:
    """Decode a file to mono [samples] and its rate; one longer than `max_seconds` is refused without reading it.

    Mono 16-bit files come as int16, which takes a quarter of the time and changes no bit of the result; others float32.
    """
    plain_wav = read_plain_wav(path, max_seconds)
    if plain_wav is not None:
        return plain_wav
    with sound_file(path, max_seconds) as file:
        plain = file.subtype == "PCM_16" and file.channels == 1
        audio = _read(file, "int16" if plain else "float32", max_seconds)
        return (audio.mean(axis=1) if audio.ndim == 2 else audio), file.samplerate


def _read(file: Any, dtype: str, max_seconds: float | None) -> NDArray[Any]:
    """All of it. What cannot be sought in (GSM 6.10, G.721, a streamed FLAC) does not know how long it is: that is read
    in pieces, and given up where it becomes too long."""
    if file.seekable():
        return file.read(dtype=dtype)
    pieces, frames = [], 0
    while len(piece := file.read(_PIECE_FRAMES, dtype=dtype)):
        pieces.append(piece)
        frames += len(piece)
        _refuse_long(frames / file.samplerate, max_seconds)
    return np.concatenate(pieces) if pieces else np.empty(0, dtype)


def most_samples(path: str | os.PathLike[str], max_seconds: float) -> int:
    """How many samples at 22,050 Hz a clip has at most, by the header of its file: before silence is cut."""
    length = plain_wav_length(path)
    if length is None or length[0] > length[1] * max_seconds:
        with sound_file(path, max_seconds) as file:
            known = file.frames if file.frames < _UNKNOWN_LENGTH else int(max_seconds * file.samplerate)
            length = known, file.samplerate
    samples, rate = length
    return samples if rate == SAMPLE_RATE else samples * SAMPLE_RATE // rate + 2


class _File(soundfile.SoundFile):
    """soundfile seeks after each read, which fails in a FLAC that does not say how long it is."""

    def seekable(self) -> bool:
        return self.frames < _UNKNOWN_LENGTH and bool(super().seekable())


@contextmanager
def sound_file(path: str | os.PathLike[str], max_seconds: float | None) -> Iterator[Any]:
    """The file opened by libsndfile; one that it cannot use, or that is too long, is a `RowError`."""
    try:
        with _File(path) as file:
            if not _LEAST_RATE <= file.samplerate <= _MOST_RATE:
                what = f"its sampling rate is {file.samplerate} Hz, expected {_LEAST_RATE} to {_MOST_RATE}"
                raise RowError("undecodable", f"{os.fspath(path)} cannot be decoded: {what}")
            if file.frames < _UNKNOWN_LENGTH:
                _refuse_long(file.frames / file.samplerate, max_seconds)
            _refuse_truncated(file)
            yield file
    except (soundfile.LibsndfileError, OSError, TypeError, ValueError) as error:  # TypeError: a name that ends in .raw
        if not os.path.exists(path):
            raise RowError("missing_audio", f"there is no file {os.fspath(path)}") from None
        detail = getattr(error, "error_string", str(error)).rstrip(".") if os.path.getsize(path) else "it is empty"
        raise RowError("undecodable", f"{os.fspath(path)} cannot be decoded: {detail}") from None


def _refuse_long(seconds: float, max_seconds: float | None) -> None:
    if max_seconds is not None and seconds > max_seconds:
        raise RowError("too_long", f"the clip has {seconds:.1f} s, data.max_seconds is {max_seconds:g}")


def _refuse_truncated(file: Any) -> None:
    """A wav whose header promises more than the file holds: libsndfile would give what there is, under the whole text.

    A size of 2^31 and more stands for 'unknown' in files that were written to a pipe.
    """
    match = _SHORT_DATA.search(file.extra_info) if file.format.startswith("WAV") else None
    if match and int(match[2]) < int(match[1]) < 2**31 - 4096:
        raise RowError("truncated", f"the header promises {match[1]} bytes of sound, the file holds {match[2]}")


def check_samples(audio: NDArray[Any]) -> NDArray[Any]:
    """Refuse samples that are not finite; scale down a float file beyond full scale, so that nothing clips."""
    if len(audio) == 0:
        raise RowError("empty_audio", "the file holds no samples")
    peak = max(float(audio.max()), -float(audio.min())) * (INT16_SCALE if audio.dtype == np.int16 else 1.0)
    if not np.isfinite(peak):
        raise RowError("not_finite", "the file holds NaN or infinite samples")
    if peak < SILENT_PEAK:
        raise RowError("silent", f"it is silent, its loudest sample is {peak:.1e} of full scale")
    return audio if peak <= 1.0 else audio * np.float32(_FULL_SCALE / peak)


def resample(audio: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    return soxr.resample(audio, rate, SAMPLE_RATE, quality="HQ")


def trim_silence(audio: NDArray[Any], threshold_db: float, hop: int = HOP_SAMPLES) -> NDArray[Any]:
    """Cut both ends to where a hop's energy comes within `threshold_db` of the loudest hop, with 46 ms of margin."""
    energy = hop_energy(audio, hop)
    if len(energy) < 2:
        return audio
    first, last = loud_hops(energy, threshold_db)
    first, last = max(first - TRIM_MARGIN_HOPS, 0), last + 1 + TRIM_MARGIN_HOPS
    return audio[first * hop : last * hop if last < len(energy) else len(audio)]


def loud_hops(energy: NDArray[np.float32], threshold_db: float) -> tuple[int, int]:
    """The first and the last hop within `threshold_db` of the loudest."""
    loud = np.flatnonzero(energy >= energy.max() * 10.0 ** (-threshold_db / 10.0))
    return int(loud[0]), int(loud[-1])


def hop_energy(audio: NDArray[Any], hop: int = HOP_SAMPLES) -> NDArray[np.float32]:
    """Sum of squares of each whole hop, in blocks: a float copy of a long clip would be fresh pages each time."""
    hops = audio[: len(audio) // hop * hop].reshape(-1, hop)
    energy = np.empty(len(hops), np.float32)
    for start in range(0, len(hops), _ENERGY_HOPS):
        block = hops[start : start + _ENERGY_HOPS].astype(np.float32, copy=False)
        np.einsum("ij,ij->i", block, block, out=energy[start : start + _ENERGY_HOPS])
    return energy


def to_float(audio: NDArray[Any]) -> NDArray[np.float32]:
    return audio * np.float32(INT16_SCALE) if audio.dtype == np.int16 else audio


def to_int16(audio: NDArray[Any]) -> NDArray[np.int16]:
    if audio.dtype == np.int16:
        return audio
    scaled = audio * np.float32(32768.0)
    np.rint(scaled, out=scaled)
    return np.clip(scaled, -32768.0, 32767.0, out=scaled).astype(np.int16)
