"""Samples in, bytes of a file out, while the sound is still being made: no format loses its tail.

    pcm     16-bit little-endian at 24 kHz, which is what OpenAI's clients expect of it
    wav     the same at 22,050 Hz behind a header whose lengths say 'unknown' (0xFFFFFFFF)
    mp3     frames of one size, 80 kbit/s; no table of contents, which could only be written at the end
    opus    Ogg pages at 24 kHz, one a second
    aac     ADTS frames; needs the package 'av'
    flac    whole, when it is complete: readers such as libsndfile fail on a FLAC of unknown length

All but pcm say in a comment that they are synthetic speech. ADTS has no place for one: an ID3v2 tag stands before its
frames, as in the streams of HLS. pcm is samples alone: of it only the answer's header `SYNTHETIC_HEADER` says so.
"""

from __future__ import annotations

import functools
import importlib.util
import io
import struct
from typing import Any, Protocol

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from myxtts.features.mel import SAMPLE_RATE
from myxtts.inference.speech import NOTE
from myxtts.serving.problems import invalid

Audio = NDArray[np.float32]

MEDIA_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
SYNTHETIC_HEADER = {"X-Synthetic-Speech": "MyXTTS"}  # a header of every answer that is speech
PCM_RATE = 24_000
_PEAK = 0.98
_RAMP_SAMPLES = 128
_UNKNOWN = 0xFFFFFFFF
_AAC_BITS_PER_SECOND = 64_000
_MP3_LEVEL = 0.5  # 80 kbit/s


class Encoder(Protocol):
    def encode(self, audio: Audio) -> bytes:
        """What can be sent by now: it may be nothing."""
        ...

    def finish(self) -> bytes:
        """The rest."""
        ...


@functools.cache
def formats() -> list[str]:
    """Those that can be written here."""
    return [name for name in MEDIA_TYPES if name != "aac" or importlib.util.find_spec("av")]


def check_format(name: str) -> None:
    if name not in formats():
        cure = "; for aac the server needs 'pip install av'" if name == "aac" else ""
        names = ", ".join(formats())
        raise invalid(f"found the response_format {name!r}, expected one of: {names}{cure}", "response_format")


def make_encoder(name: str) -> Encoder:
    check_format(name)
    encoder: Encoder = _ENCODERS[name]()
    return encoder


class Limiter:
    """Quieter from where it would be clipped on: what was sent cannot be made quieter any more."""

    def __init__(self) -> None:
        self._gain = 1.0

    def __call__(self, audio: Audio) -> Audio:
        before, peak = self._gain, max(audio.max(initial=0.0), -audio.min(initial=0.0))
        if not peak * before > _PEAK:  # also of what is no number, which must not become the gain
            return audio if before == 1.0 else audio * np.float32(before)
        self._gain = _PEAK / float(peak)
        gain = np.full(len(audio), self._gain, np.float32)
        ramp = min(_RAMP_SAMPLES, len(audio))
        gain[:ramp] = np.linspace(before, self._gain, ramp, dtype=np.float32)
        return np.clip(audio * gain, -_PEAK, _PEAK)


def to_pcm(audio: Audio) -> bytes:
    scaled = audio * np.float32(32767.0)
    return np.rint(scaled, out=scaled).astype("<i2").tobytes()


class _Resampled:
    """Another rate than the voice's, without a seam between the pieces."""

    def __init__(self, rate: int):
        self._stream = soxr.ResampleStream(SAMPLE_RATE, rate, 1, dtype="float32")

    def __call__(self, audio: Audio, last: bool = False) -> Audio:
        return np.clip(self._stream.resample_chunk(audio, last=last), -1.0, 1.0)


class _Pcm:
    def __init__(self) -> None:
        self._resampled = _Resampled(PCM_RATE)

    def encode(self, audio: Audio) -> bytes:
        return to_pcm(self._resampled(audio))

    def finish(self) -> bytes:
        return to_pcm(self._resampled(np.zeros(0, np.float32), last=True))


class _Wav:
    def __init__(self) -> None:
        note = NOTE.encode() + b"\0" * (2 - len(NOTE) % 2)
        info = b"INFO" + struct.pack("<4sI", b"ICMT", len(note)) + note
        form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, SAMPLE_RATE, 2 * SAMPLE_RATE, 2, 16)
        self._header = struct.pack("<4sI4s", b"RIFF", _UNKNOWN, b"WAVE") + form
        self._header += struct.pack("<4sI", b"LIST", len(info)) + info + struct.pack("<4sI", b"data", _UNKNOWN)

    def encode(self, audio: Audio) -> bytes:
        header, self._header = self._header, b""
        return header + to_pcm(audio)

    def finish(self) -> bytes:
        return b""


class _Sink(io.RawIOBase):
    """A file that is only written to: what a library wants to change in what was sent already is dropped."""

    def __init__(self) -> None:
        self._kept, self._at, self._end = bytearray(), 0, 0

    def take(self) -> bytes:
        kept, self._kept = bytes(self._kept), bytearray()
        return kept

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._end)[whence]
        return self._at

    def write(self, data: Any) -> int:
        count = len(data)
        if self._at >= self._end:
            self._kept += data
            self._end = self._at + count
        self._at += count
        return count


class _Opus:
    def __init__(self) -> None:
        self._sink, self._resampled = _Sink(), _Resampled(PCM_RATE)
        self._file = soundfile.SoundFile(self._sink, "w", PCM_RATE, 1, format="OGG", subtype="OPUS")
        self._file.comment = NOTE

    def encode(self, audio: Audio) -> bytes:
        self._file.write(self._resampled(audio))
        return self._sink.take()

    def finish(self) -> bytes:
        self._file.write(self._resampled(np.zeros(0, np.float32), last=True))
        self._file.close()
        return self._sink.take()


class _Mp3:
    """Every frame of one size, so that a length guessed from the first is right: of a variable rate libsndfile read
    1 s of 5. The table of contents, for which LAME leaves an empty frame at the front, stays empty."""

    def __init__(self) -> None:
        self._sink = _Sink()
        kind: dict[str, Any] = {"format": "MP3", "subtype": "MPEG_LAYER_III"}
        rate: dict[str, Any] = {"bitrate_mode": "CONSTANT", "compression_level": _MP3_LEVEL}
        self._file = soundfile.SoundFile(self._sink, "w", SAMPLE_RATE, 1, **kind, **rate)
        self._file.comment = NOTE

    def encode(self, audio: Audio) -> bytes:
        self._file.write(audio)
        return self._sink.take()

    def finish(self) -> bytes:
        self._file.close()
        return self._sink.take()


class _Flac:
    def __init__(self) -> None:
        self._file = io.BytesIO()
        self._sound = soundfile.SoundFile(self._file, "w", SAMPLE_RATE, 1, format="FLAC", subtype="PCM_16")
        self._sound.comment = NOTE

    def encode(self, audio: Audio) -> bytes:
        self._sound.write(audio)
        return b""

    def finish(self) -> bytes:
        self._sound.close()
        return self._file.getvalue()


class _Aac:
    def __init__(self) -> None:
        import av

        self._sink, self._samples = _Sink(), 0
        self._file: Any = av.open(self._sink, "w", format="adts", options={"write_id3v2": "1"})
        self._file.metadata["comment"] = NOTE
        self._stream: Any = self._file.add_stream("aac", rate=SAMPLE_RATE, layout="mono")
        self._stream.bit_rate = _AAC_BITS_PER_SECOND

    def encode(self, audio: Audio) -> bytes:
        import av

        if len(audio):
            frame: Any = av.AudioFrame.from_ndarray(np.ascontiguousarray(audio[None]), format="fltp", layout="mono")
            frame.sample_rate, frame.pts = SAMPLE_RATE, self._samples
            self._samples += len(audio)
            self._file.mux(self._stream.encode(frame))
        return self._sink.take()

    def finish(self) -> bytes:
        self._file.mux(self._stream.encode(None))
        self._file.close()
        return self._sink.take()


_ENCODERS: dict[str, Any] = {"mp3": _Mp3, "opus": _Opus, "aac": _Aac, "flac": _Flac, "wav": _Wav, "pcm": _Pcm}
