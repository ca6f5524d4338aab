"""From a wav file to samples and mel inside the TensorFlow graph: the same samples and frames as a cache holds.

    loader = TFNativeDataLoader(config)
    clips = tf.data.Dataset.from_tensor_slices(paths).map(loader.load_and_process_audio)

The graph reads plain files: RIFF/WAVE, 16-bit PCM, 22,050 Hz, one or two channels, `fmt ` and `data` chunk in their
usual places. Any other file goes through Python (`python_path`), which says so. Either way the result is what `pack`
would store, or an error that names the file.
"""

from __future__ import annotations

import os
from typing import Any

import tensorflow as tf

from myxtts.cache.pack import PackSettings
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.data.python_path import load_clip_in_python
from myxtts.features.audio import SILENT_PEAK, TRIM_MARGIN_HOPS, AudioSettings
from myxtts.features.mel import HOP_SAMPLES, INT16_SCALE, N_MELS, SAMPLE_RATE
from myxtts.features.mel_tensorflow import log_mel

_HEADER_BYTES = 44
# Why a file is not for the graph; the last one is that it is.
_REASONS = ("container", "encoding", "sample_rate", "channels", "chunks", "length", "clip", "trim", "plain")
_PLAIN = _REASONS.index("plain")
# numpy adds the 256 squares of a hop in float32, which is off by at most 256 * 2^-24 = 1.5e-5 of the sum.
_ENERGY_ERROR = 2e-5


def whole_config(config: XTTSConfig | DataConfig | None) -> XTTSConfig:
    return XTTSConfig(data=config) if isinstance(config, DataConfig) else config or XTTSConfig()


class TFNativeDataLoader:
    """Decodes in the graph what the graph can decode. May be called eagerly, in a `tf.function` or in `Dataset.map`."""

    def __init__(self, config: XTTSConfig | DataConfig | None = None):
        self._settings = PackSettings.from_config(whole_config(config).data).audio

    def load_and_process_audio(self, audio_path: Any, max_length: Any = None) -> tuple[Any, Any]:
        """(audio float32 [samples] in -1..1, mel float32 [frames, mels]), cut to `max_length` samples if given."""
        path = tf.convert_to_tensor(os.fspath(audio_path) if isinstance(audio_path, os.PathLike) else audio_path)
        audio = self._load(path)
        if max_length is not None:
            audio = audio[:max_length]
        return audio, clip_mel(audio)

    def _load(self, path: Any) -> Any:
        if self._settings.loudness_lufs is not None:  # BS.1770 gating is not written in graph ops
            return _to_float(load_clip_in_python(path, self._settings, "loudness"))
        raw = tf.io.read_file(path)
        problem = find_problem(raw)
        audio, problem = tf.cond(
            tf.equal(problem, _PLAIN),
            lambda: prepare_clip(raw, self._settings),
            lambda: (tf.zeros([0]), problem),
        )
        return tf.cond(
            tf.equal(problem, _PLAIN),
            lambda: audio,
            lambda: _to_float(load_clip_in_python(path, self._settings, tf.gather(_REASONS, problem))),
        )


def find_problem(raw: Any) -> Any:
    """The first of _REASONS, by number, that the header of a file gives for not decoding it in the graph."""
    head = tf.strings.join([tf.strings.substr(raw, 0, _HEADER_BYTES), bytes(_HEADER_BYTES)])
    data_bytes = tf.io.decode_raw(tf.strings.substr(head, 40, 4), tf.int32)[0]  # 2 GB and more come out negative
    block_bytes = tf.io.decode_raw(tf.strings.substr(head, 32, 2), tf.int16)[0]

    def holds(start: int, expected: bytes) -> Any:
        return tf.equal(tf.strings.substr(head, start, len(expected)), expected)

    stereo = holds(22, b"\2\0") & holds(32, b"\4\0")
    whole = (data_bytes > 0) & (data_bytes <= tf.strings.length(raw) - _HEADER_BYTES)
    whole &= tf.equal(data_bytes % tf.maximum(tf.cast(block_bytes, tf.int32), 1), 0)
    sound = (
        holds(0, b"RIFF") & holds(8, b"WAVE"),
        holds(20, b"\1\0") & holds(34, b"\x10\0"),
        holds(24, SAMPLE_RATE.to_bytes(4, "little")),
        holds(22, b"\1\0") & holds(32, b"\2\0") | stereo,
        holds(12, b"fmt \x10\0\0\0") & holds(36, b"data"),
        whole,
    )
    found = tf.logical_not(tf.stack(sound))
    return tf.where(tf.reduce_any(found), tf.argmax(tf.cast(found, tf.int32), output_type=tf.int32), _PLAIN)


def prepare_clip(raw: Any, settings: AudioSettings) -> tuple[Any, Any]:
    """(audio float32 [samples] as `features.audio.load_clip` makes it, _PLAIN or why Python must have a look).

    What the packer would reject goes to Python too: it knows the words for it.
    """
    data_bytes = tf.io.decode_raw(tf.strings.substr(raw, 40, 4), tf.int32)[0]
    plain = tf.strings.substr(raw, 0, _HEADER_BYTES + data_bytes)  # decode_wav stumbles over what follows the data
    audio = tf.reduce_mean(tf.audio.decode_wav(plain).audio, axis=1)
    seconds = tf.cast(tf.size(audio), tf.float64) / SAMPLE_RATE
    usable = (seconds <= settings.max_seconds) & (tf.reduce_max(tf.abs(audio)) >= SILENT_PEAK)
    sure = tf.constant(True)
    if settings.trim_silence:
        usable &= tf.size(audio) >= 2 * HOP_SAMPLES
        audio, sure = tf.cond(usable, lambda: trim_silence(audio, settings.trim_db), lambda: (audio, sure))
    usable &= tf.cast(tf.size(audio), tf.float64) >= settings.min_seconds * SAMPLE_RATE
    # Two channels average to half steps: as the packer does, to the nearest of the 16-bit steps.
    steps = tf.clip_by_value(tf.round(audio / INT16_SCALE), -32768.0, 32767.0)
    problem = tf.where(usable, tf.where(sure, _PLAIN, _REASONS.index("trim")), _REASONS.index("clip"))
    return steps * INT16_SCALE, problem


def trim_silence(audio: Any, threshold_db: float) -> tuple[Any, Any]:
    """(`features.audio.trim_silence` of at least two hops, whether the two surely cut at the same places).

    They may not if a hop at an end is as loud as the threshold to within the rounding of numpy's sum, which is in
    float32 where this one is exact: one clip in some 100,000.
    """
    count = tf.size(audio) // HOP_SAMPLES
    hops = tf.cast(tf.reshape(audio[: count * HOP_SAMPLES], [count, HOP_SAMPLES]), tf.float64)
    energy = tf.reduce_sum(hops * hops, axis=1)
    limit = tf.reduce_max(energy) * 10.0 ** (-threshold_db / 10.0)
    first, last = _ends(energy >= limit * (1.0 - _ENERGY_ERROR))
    surely_first, surely_last = _ends(energy >= limit * (1.0 + _ENERGY_ERROR))
    start = tf.maximum(first - TRIM_MARGIN_HOPS, 0) * HOP_SAMPLES
    stop = last + 1 + TRIM_MARGIN_HOPS
    stop = tf.where(stop < count, stop * HOP_SAMPLES, tf.size(audio))
    return audio[start:stop], tf.equal(first, surely_first) & tf.equal(last, surely_last)


def _ends(loud: Any) -> tuple[Any, Any]:
    places = tf.cast(tf.where(loud)[:, 0], tf.int32)
    return places[0], places[-1]


def clip_mel(audio: Any) -> Any:
    """float32 [samples] -> float32 [frames, mels] of one clip."""
    frames = -(-tf.size(audio) // HOP_SAMPLES)
    padded = tf.pad(audio, [[0, frames * HOP_SAMPLES - tf.size(audio)]])
    return tf.ensure_shape(log_mel(tf.reshape(padded, [1, frames, HOP_SAMPLES]))[0], [None, N_MELS])


def _to_float(samples: Any) -> Any:
    return tf.cast(samples, tf.float32) * INT16_SCALE
