"""From a wav file to 16-bit samples inside the TensorFlow graph: the samples that a cache holds, and their mel.

    loader = TFNativeDataLoader(config)
    clips = tf.data.Dataset.from_tensor_slices(paths).map(loader.load_and_process_audio)

The graph reads plain files: RIFF/WAVE, 16-bit PCM, 22,050 Hz, one or two channels, `fmt ` and `data` chunk in their
usual places. Any other file goes through Python (`python_decoder`), which says so. Either way the result is what `pack`
would store, or an error that names the file.

A feed takes `load_clip` alone: 16-bit samples cross to the device, and the compiled step makes the mel there. On the
host a mel costs ten times as much as everything else (2,800 us of 3,100 for a clip of 6.5 s).
"""

from __future__ import annotations

import os
from typing import Any

import tensorflow as tf

from myxtts.cache.settings import PackSettings
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.data.python_decoder import load_clip_in_python
from myxtts.features.audio import SILENT_PEAK, TRIM_MARGIN_HOPS, AudioSettings
from myxtts.features.mel import HOP_SAMPLES, INT16_SCALE, N_MELS, SAMPLE_RATE
from myxtts.features.mel_tensorflow import log_mel

_HEADER_BYTES = 44
# Why a file is not for the graph; the last one is that it is.
_REASONS = ("container", "encoding", "sample_rate", "channels", "chunks", "length", "clip", "trim", "plain")
_PLAIN = _REASONS.index("plain")
# Sums of 256 squares in float32 are off by at most 256 * 2^-24 = 1.5e-5, numpy's and these, each in its own way.
_ENERGY_ERROR = 4e-5
# A hop this loud holds a sample that is no silence, whatever the others are. In 16-bit steps.
_SURE_ENERGY = HOP_SAMPLES * (SILENT_PEAK / INT16_SCALE) ** 2


def whole_config(config: XTTSConfig | DataConfig | None) -> XTTSConfig:
    return XTTSConfig(data=config) if isinstance(config, DataConfig) else config or XTTSConfig()


class TFNativeDataLoader:
    """Decodes in the graph what the graph can decode. May be called eagerly, in a `tf.function` or in `Dataset.map`."""

    def __init__(self, config: XTTSConfig | DataConfig | None = None):
        self._settings = PackSettings.from_config(whole_config(config).data).audio

    def load_and_process_audio(self, audio_path: Any, max_length: Any = None) -> tuple[Any, Any]:
        """(audio float32 [samples] in -1..1, mel float32 [frames, mels]), cut to `max_length` samples if given."""
        path = tf.convert_to_tensor(os.fspath(audio_path) if isinstance(audio_path, os.PathLike) else audio_path)
        clip = self.load_clip(path)
        if max_length is not None:
            clip = clip[:max_length]
        mel = tf.ensure_shape(log_mel(as_rows(clip)[None])[0], [None, N_MELS])
        return tf.cast(clip, tf.float32) * INT16_SCALE, mel

    def load_clip(self, path: Any) -> Any:
        """int16 [samples]: what `features.audio.load_clip` gives."""
        if self._settings.loudness_lufs is not None:  # BS.1770 gating is not written in graph ops
            return load_clip_in_python(path, self._settings, "loudness")
        raw = tf.io.read_file(path)
        problem = find_problem(raw)
        clip, problem = tf.cond(
            tf.equal(problem, _PLAIN),
            lambda: prepare_clip(raw, self._settings),
            lambda: (tf.zeros([0], tf.int16), problem),
        )
        return tf.cond(
            tf.equal(problem, _PLAIN),
            lambda: clip,
            lambda: load_clip_in_python(path, self._settings, tf.gather(_REASONS, problem)),
        )


def as_rows(clip: Any) -> Any:
    """Samples [n] as rows of one hop [frames, hop_samples]; zeros fill the last."""
    return tf.reshape(tf.pad(clip, [[0, -tf.size(clip) % HOP_SAMPLES]]), [-1, HOP_SAMPLES])


def find_problem(raw: Any) -> Any:
    """The first of _REASONS, by number, that the header of a file gives for not decoding it in the graph."""
    head = tf.strings.join([tf.strings.substr(raw, 0, _HEADER_BYTES), bytes(_HEADER_BYTES)])
    data_bytes = _data_bytes(head)  # 2 GB and more come out negative

    def holds(start: int, expected: bytes) -> Any:
        return tf.equal(tf.strings.substr(head, start, len(expected)), expected)

    stereo = holds(22, b"\2\0") & holds(32, b"\4\0")
    whole = (data_bytes > 0) & (data_bytes <= tf.strings.length(raw) - _HEADER_BYTES)
    whole &= tf.equal(data_bytes % tf.where(stereo, 4, 2), 0)
    fits = (
        holds(0, b"RIFF") & holds(8, b"WAVE"),
        holds(20, b"\1\0") & holds(34, b"\x10\0"),
        holds(24, SAMPLE_RATE.to_bytes(4, "little")),
        holds(22, b"\1\0") & holds(32, b"\2\0") | stereo,
        holds(12, b"fmt \x10\0\0\0") & holds(36, b"data"),
        whole,
    )
    wrong = tf.logical_not(tf.stack(fits))
    return tf.where(tf.reduce_any(wrong), tf.argmax(tf.cast(wrong, tf.int32), output_type=tf.int32), _PLAIN)


def _data_bytes(raw: Any) -> Any:
    return tf.io.decode_raw(tf.strings.substr(raw, 40, 4), tf.int32)[0]


def prepare_clip(raw: Any, settings: AudioSettings) -> tuple[Any, Any]:
    """(int16 [samples] as `features.audio.load_clip` makes it, _PLAIN or why Python must have a look).

    What the packer would reject goes to Python too: it knows the words for it.
    """
    pcm = tf.io.decode_raw(tf.strings.substr(raw, _HEADER_BYTES, _data_bytes(raw)), tf.int16)
    stereo = tf.equal(tf.strings.substr(raw, 22, 1), b"\2")
    return tf.cond(stereo, lambda: _trimmed(_mixed(pcm), settings), lambda: _trimmed(pcm, settings))


def _mixed(pcm: Any) -> Any:
    """The mean of two channels, in steps of 16 bits and halves of them."""
    return tf.reduce_mean(tf.cast(tf.reshape(pcm, [-1, 2]), tf.float32), axis=1)


def _trimmed(samples: Any, settings: AudioSettings) -> tuple[Any, Any]:
    """Samples in steps of 16 bits, whole or not, without the silence at their ends; and what prepare_clip returns."""
    size = tf.size(samples)
    usable = (tf.cast(size, tf.float64) <= settings.max_seconds * SAMPLE_RATE) & (size >= 2 * HOP_SAMPLES)
    start, stop, sure = tf.cond(usable, lambda: _ends(samples, settings), lambda: (0, size, tf.constant(False)))
    clip = samples[start:stop]
    usable &= tf.cast(tf.size(clip), tf.float64) >= settings.min_seconds * SAMPLE_RATE
    problem = tf.where(usable, tf.where(sure, _PLAIN, _REASONS.index("trim")), _REASONS.index("clip"))
    if clip.dtype != tf.int16:  # as the packer does, to the nearest step
        clip = tf.cast(tf.clip_by_value(tf.round(clip), -32768.0, 32767.0), tf.int16)
    return clip, problem


def _ends(samples: Any, settings: AudioSettings) -> tuple[Any, Any, Any]:
    """(first sample, end, whether the packer surely cuts there too) of at least two hops.

    It may not if a hop at an end is as loud as the threshold to within the rounding of the two sums, which is so for
    one clip in some 50,000; nor if the whole clip is hardly louder than nothing, which the packer refuses.
    """
    count = tf.size(samples) // HOP_SAMPLES
    hops = tf.cast(tf.reshape(samples[: count * HOP_SAMPLES], [count, HOP_SAMPLES]), tf.float32)
    energy = tf.linalg.matvec(hops * hops, tf.ones([HOP_SAMPLES]))  # a third of the time of a reduce_sum
    loudest = tf.reduce_max(energy)
    if not settings.trim_silence:
        return 0, tf.size(samples), loudest >= _SURE_ENERGY
    limit = loudest * 10.0 ** (-settings.trim_db / 10.0)
    first, last = _first_and_last(energy >= limit * (1.0 - _ENERGY_ERROR))
    surely = _first_and_last(energy >= limit * (1.0 + _ENERGY_ERROR))
    start = tf.maximum(first - TRIM_MARGIN_HOPS, 0) * HOP_SAMPLES
    stop = last + 1 + TRIM_MARGIN_HOPS
    sure = (loudest >= _SURE_ENERGY) & tf.equal(first, surely[0]) & tf.equal(last, surely[1])
    return start, tf.where(stop < count, stop * HOP_SAMPLES, tf.size(samples)), sure


def _first_and_last(loud: Any) -> tuple[Any, Any]:
    places = tf.cast(tf.where(loud)[:, 0], tf.int32)
    return places[0], places[-1]
