"""What TensorBoard shows of a run: curves, spectrograms, alignments and sound. Needs no tensorboard package to write.

An event file is a TFRecord of `Event`s, so TensorFlow's own record writer makes it. Each start of a run begins a new
file, which TensorBoard reads after the older ones, and which begins with a session mark at the first step to come.
TensorBoard's Python reader drops what older files hold of that step and later ones (it believes the second mark, so the
first file has one too). Its fast reader, the default, ignores marks, but drops the older points of a curve as soon as a
new one is not beyond them. So both show each step once, as it happened last; both seen with TensorBoard 2.21.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from myxtts.errors import TrainingError
from myxtts.features.mel import SAMPLE_RATE

_Event, _Summary, _SessionLog = tf.compat.v1.Event, tf.compat.v1.Summary, tf.compat.v1.SessionLog
_PREFIX = "events.out.tfevents."
_FLUSH_SECONDS = 5.0  # curves reach the disk at least this often; a kill costs no more, and log.jsonl has it all
_PIXELS = 2  # a side of one bin or frame in a picture
_GAP_ROWS = 4
_IS_WAV = b"\x10\x0b"  # the audio plugin's message {encoding (field 2): WAV (11)}
# From dark violet over teal to yellow, even in lightness: the anchors of the viridis map (CC0) at 0, 1/4 ... 1.
_ANCHORS = [(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)]


class Board:
    """Writes one event file in `folder` (RUN/tensorboard)."""

    def __init__(self, folder: Path | str, resumed_at: int | None = None):
        """`resumed_at`: the step of the checkpoint that the run resumes from."""
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / _next_name(self.folder)
        self._records = tf.io.TFRecordWriter(str(self.path))
        self._flush_at = 0.0
        self._write(_Event(file_version="brain.Event:2"))
        self.resume(-1 if resumed_at is None else resumed_at)

    def resume(self, step: int) -> None:
        """The run resumes at `step`: what was shown of later steps did not happen."""
        self._write(_Event(step=step + 1, session_log=_SessionLog(status=_SessionLog.START)))
        self.flush()

    def scalars(self, values: Mapping[str, Any], step: int) -> None:
        """Curves; a name with a slash ("loss/mel") is put in the group before it."""
        points = [_Summary.Value(tag=name, simple_value=float(value)) for name, value in values.items()]
        self._write(_Event(step=int(step), summary=_Summary(value=points)))
        if time.monotonic() >= self._flush_at:
            self.flush()

    def spectrograms(self, name: str, real: Any, spoken: Any, step: int) -> None:
        """The real mel [frames, mels] above the spoken one, in one scale."""
        self._picture(name, paint_pair(np.asarray(real, np.float32), np.asarray(spoken, np.float32)), step)

    def alignment(self, name: str, alignment: Any, step: int) -> None:
        """Which token [tokens, frames] each frame belongs to, 0..1; the first token is at the bottom."""
        self._picture(name, _upright(paint(np.asarray(alignment, np.float32), 0.0, 1.0)), step)

    def audio(self, name: str, samples: Any, step: int, sample_rate: int = SAMPLE_RATE) -> None:
        """A clip [samples] of floats in -1..1."""
        clip = np.clip(np.nan_to_num(np.asarray(samples, np.float32)), -1.0, 1.0)
        with tf.device("CPU:0"):
            wav = tf.audio.encode_wav(clip[:, None], sample_rate).numpy()
        # As the audio plugin wants it, [clips, (sound, label)]: of the older `Summary.Audio` it forgets that it is WAV.
        plugin = tf.compat.v1.SummaryMetadata.PluginData(plugin_name="audio", content=_IS_WAV)
        clips = tf.make_tensor_proto([[wav, b""]], tf.string)
        metadata = tf.compat.v1.SummaryMetadata(plugin_data=plugin)
        self._add(_Summary.Value(tag=name, tensor=clips, metadata=metadata), step)

    def flush(self) -> None:
        try:
            self._records.flush()
        except tf.errors.OpError as error:
            raise TrainingError(f"cannot write {self.path} ({error.message}): make room, then start again") from None
        self._flush_at = time.monotonic() + _FLUSH_SECONDS

    def close(self) -> None:
        self.flush()
        self._records.close()

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _picture(self, name: str, image: NDArray[np.uint8], step: int) -> None:
        with tf.device("CPU:0"):
            png = tf.io.encode_png(image).numpy()
        height, width = image.shape[:2]
        picture = _Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=png)
        self._add(_Summary.Value(tag=name, image=picture), step)

    def _add(self, value: Any, step: int) -> None:
        self._write(_Event(step=int(step), summary=_Summary(value=[value])))
        self.flush()

    def _write(self, event: Any) -> None:
        event.wall_time = time.time()
        self._records.write(event.SerializeToString())


def paint(values: NDArray[np.float32], low: float, high: float) -> NDArray[np.uint8]:
    """Numbers [rows, columns] as colours [rows, columns, 3]; what is not a number is painted as `low`."""
    finite = np.nan_to_num(values, nan=low, posinf=high, neginf=low)
    share = np.clip((finite - low) / max(high - low, 1e-9), 0.0, 1.0)
    places = np.linspace(0.0, 1.0, len(_ANCHORS))
    table = np.stack([np.interp(np.arange(256) / 255, places, channel) for channel in np.transpose(_ANCHORS)], axis=1)
    return table.round().astype(np.uint8)[(share * 255).round().astype(np.intp)]


def paint_pair(real: NDArray[np.float32], spoken: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Two mels [frames, mels] one above the other, low tones at the bottom, the shorter filled up with silence."""
    low, high = (float(bound) for bound in (np.nanmin(real), np.nanmax(real)))
    frames = max(len(real), len(spoken))
    mels = [np.pad(mel, ((0, frames - len(mel)), (0, 0)), constant_values=low) for mel in (real, spoken)]
    above, below = (_upright(paint(mel.T, low, high)) for mel in mels)
    gap = np.full((_GAP_ROWS, above.shape[1], 3), 255, np.uint8)
    return np.concatenate([above, gap, below])


def _upright(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Row 0 goes to the bottom; every value becomes a small square."""
    return image[::-1].repeat(_PIXELS, axis=0).repeat(_PIXELS, axis=1)


def _next_name(folder: Path) -> str:
    """TensorBoard reads files in the order of their names, so this one comes after all that are there."""
    taken = [path.name.removeprefix(_PREFIX).partition(".")[0] for path in folder.glob(f"{_PREFIX}*")]
    newest = max((int(second) for second in taken if second.isdigit()), default=0)
    return f"{_PREFIX}{max(int(time.time()), newest + 1):010d}.{socket.gethostname()}.{os.getpid()}"
