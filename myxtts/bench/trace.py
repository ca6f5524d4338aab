"""Records what TensorFlow does, for TensorBoard's profiler and for Perfetto.

    with traced("trace") as files: ...      # files["perfetto"] is trace/trace.json.gz for ui.perfetto.dev

TensorFlow 2.21 writes its own format only (`plugins/profile/TIME/HOST.xplane.pb`; older ones wrote a trace.json.gz
too), so the trace events are made from that: a process per plane, a thread per line, a slice per event.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from myxtts.errors import DiagnosisError
from myxtts.files import write_whole

PERFETTO = "trace.json.gz"
_NOISE = ("ThreadpoolListener::", "end: ")  # two thirds of all events, and none of them says anything


@contextmanager
def traced(folder: Path | str) -> Iterator[dict[str, str]]:
    """Records what happens meanwhile; the dict is filled when it ends."""
    import tensorflow as tf

    folder, files = Path(folder), dict[str, str]()
    folder.mkdir(parents=True, exist_ok=True)
    before = set(_xplanes(folder))
    try:
        tf.profiler.experimental.start(str(folder))
    except tf.errors.AlreadyExistsError:
        raise DiagnosisError("TensorFlow is being profiled already: stop that first") from None
    try:
        yield files
    except BaseException:
        tf.profiler.experimental.stop(save=False)
        raise
    tf.profiler.experimental.stop()
    made = sorted(set(_xplanes(folder)) - before)
    if not made:
        raise DiagnosisError(f"TensorFlow's profiler has written nothing to {folder}: is the disk full?")
    write_whole(folder / PERFETTO, gzip.compress(json.dumps(trace_events(made[-1])).encode(), mtime=0))
    files |= {"tensorboard": str(made[-1]), "perfetto": str(folder / PERFETTO)}


@contextmanager
def part(name: str, number: int) -> Iterator[None]:
    """A slice of its own, with the number of its step, in the trace that is being recorded."""
    import tensorflow as tf

    with tf.profiler.experimental.Trace(name, step_num=number, _r=1):
        yield


def trace_events(xplane: Path) -> dict[str, Any]:
    """A profile as Chrome's trace events. Times count in microseconds from the first."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace.FromString(xplane.read_bytes())
    lines = [(number, plane, line) for number, plane in enumerate(space.planes, 1) for line in plane.lines]
    begin = min((line.timestamp_ns for _, _, line in lines if line.events), default=0)
    events: list[dict[str, Any]] = []
    for number, plane in enumerate(space.planes, 1):
        events.append({"ph": "M", "pid": number, "name": "process_name", "args": {"name": plane.name}})
    for thread_number, (number, plane, line) in enumerate(lines, 1):
        thread = {"pid": number, "tid": thread_number}  # its own id has 64 bits, more than a JavaScript number
        name = line.display_name or line.name or f"thread {thread_number}"
        events.append({"ph": "M", **thread, "name": "thread_name", "args": {"name": name}})
        events += [{"ph": "X", **thread, **slice_} for slice_ in _slices(plane, line, begin)]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _slices(plane: Any, line: Any, begin_ns: int) -> Iterator[dict[str, Any]]:
    offset_us = (line.timestamp_ns - begin_ns) / 1e3
    for event in line.events:
        kind = plane.event_metadata[event.metadata_id]
        name = kind.display_name or kind.name
        if not name.startswith(_NOISE):
            begins, lasts = offset_us + event.offset_ps / 1e6, event.duration_ps / 1e6
            yield {"name": name, "ts": round(begins, 3), "dur": round(lasts, 3)}


def _xplanes(folder: Path) -> list[Path]:
    return list(folder.glob("plugins/profile/*/*.xplane.pb"))
