"""Sick pipelines with a known illness, and healthy ones: is the cause found, does its cure bring what was said?

    python benchmarks/gallery.py [--only NAME,NAME] [--record FILE.json] [--json]

Each case is a pipeline and a step, and the same after the doctor's cure. The doctor sees neither the name nor the cured
form: it measures, judges and predicts; then the cured form is measured. Accelerators are emulated by a step that
holds its batch for some milliseconds (`hold`), where the step itself is not what is sick.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

from myxtts.doctor.diagnosis import judge
from myxtts.doctor.observe import observe
from myxtts.machine.page_cache import drop_pages

BATCH, FRAMES, MELS = 16, 200, 80
UTTERANCES = 256

Pipeline = tuple[Any, Callable[[Any], Any]]


@dataclass(frozen=True)
class Case:
    """What is wrong, and the pipeline before and after the cure."""

    cause: str
    sick: Callable[[Path], Pipeline]
    cured: Callable[[Path], Pipeline] | None = None


def hold(step_ms: float) -> Callable[[Any], Any]:
    """An emulated accelerator: it holds a batch and uses no core."""

    def step(batch: Any) -> None:
        time.sleep(step_ms / 1e3)

    return step


def clips(n: int = UTTERANCES) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, FRAMES, MELS)).astype(np.float32)


def packed(step_ms: float) -> Callable[[Path], Pipeline]:
    """What packing comes to: rows gathered from memory."""

    def pipeline(folder: Path) -> Pipeline:
        table = tf.constant(clips())
        rows = tf.data.Dataset.range(UTTERANCES).batch(BATCH).repeat()
        return rows.map(lambda at: tf.gather(table, at), num_parallel_calls=2).prefetch(4), hold(step_ms)

    return pipeline


def slow_python(clip: np.ndarray) -> np.ndarray:
    """About 2 ms of Python for one utterance."""
    total = 0.0
    for value in clip[:, :60].ravel().tolist():
        total += value * value
    return clip + np.float32(total * 0)


def python_function(folder: Path) -> Pipeline:
    def load(clip: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(slow_python, [clip], tf.float32), [FRAMES, MELS])

    data = tf.data.Dataset.from_tensor_slices(clips()).repeat().map(load, num_parallel_calls=2)
    return data.batch(BATCH).prefetch(4), hold(8)


def nested_python_function(folder: Path) -> Pipeline:
    def shard(number: Any) -> Any:
        own = tf.data.Dataset.from_tensor_slices(clips(32))
        return own.map(lambda clip: tf.ensure_shape(tf.numpy_function(slow_python, [clip], tf.float32), [FRAMES, MELS]))

    data = tf.data.Dataset.range(8).repeat().interleave(shard, cycle_length=2, num_parallel_calls=2)
    return data.batch(BATCH).prefetch(4), hold(8)


def write_files(folder: Path, per_clip: int = 40) -> list[str]:
    """Each utterance in many small files, so that opening them is what costs."""
    names = []
    for number, clip in enumerate(clips(64)):
        for part, piece in enumerate(np.array_split(clip, per_clip)):
            path = folder / f"{number}-{part}.raw"
            if not path.exists():
                path.write_bytes(piece.tobytes())
            names.append(str(path))
    return names


def per_file_reads(folder: Path) -> Pipeline:
    names = np.array(write_files(folder)).reshape(64, -1)

    def load(paths: Any) -> Any:
        parts = tf.map_fn(tf.io.read_file, paths, fn_output_signature=tf.string)
        return tf.reshape(tf.io.decode_raw(tf.strings.reduce_join(parts), tf.float32), [FRAMES, MELS])

    data = tf.data.Dataset.from_tensor_slices(names).repeat().map(load, num_parallel_calls=2)
    return data.batch(BATCH).prefetch(4), hold(5)


def plain(data: Any) -> Any:
    """Without TensorFlow's own rewriting, which would put a prefetch at the end and make maps parallel."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    return data.with_options(options)


def emulated_slow_disk(folder: Path) -> Pipeline:
    """One file per utterance from a disk that takes 3 ms for each: TensorFlow's SleepDataset stands in for the disk."""
    from tensorflow.python.data.experimental.ops import testing

    names = []
    for number, clip in enumerate(clips(64)):
        names.append(str(folder / f"{number}.raw"))
        Path(names[-1]).write_bytes(clip.tobytes())

    def load(path: Any) -> Any:
        return tf.reshape(tf.io.decode_raw(tf.io.read_file(path), tf.float32), [FRAMES, MELS])

    data = tf.data.Dataset.from_tensor_slices(names).repeat().map(load).apply(testing.sleep(3000))
    return plain(data.batch(BATCH).prefetch(4)), hold(8)


class ReadByPython:
    """A file for each utterance, read by Python from a disk that takes 3 ms for each."""

    def __init__(self, folder: Path):
        self._paths = [folder / f"{number}.npy" for number in range(64)]
        for path, clip in zip(self._paths, clips(64), strict=True):
            np.save(path, clip)

    def __iter__(self) -> Iterator[Any]:
        for at in range(0, 64, BATCH):
            yield np.stack([self._read(path) for path in self._paths[at : at + BATCH]])

    @staticmethod
    def _read(path: Path) -> np.ndarray:
        time.sleep(0.003)
        return np.load(path)


def disk_read_by_python(folder: Path) -> Pipeline:
    return ReadByPython(folder), hold(8)


def burn(clip: Any) -> Any:
    """About 2 ms of one core in the graph."""
    return clip + 0 * tf.reduce_sum(tf.sort(tf.reshape(tf.tile(clip, [2, 1]), [-1]))[:1])


def too_few_workers(folder: Path, workers: int | None = None) -> Pipeline:
    data = tf.data.Dataset.from_tensor_slices(clips()).repeat().map(burn, num_parallel_calls=workers)
    return plain(data.batch(BATCH).prefetch(4)), hold(10)


def all_cores_busy(folder: Path) -> Pipeline:
    data = tf.data.Dataset.from_tensor_slices(clips()).repeat().map(burn, num_parallel_calls=tf.data.AUTOTUNE)
    return data.batch(BATCH).prefetch(4), hold(10)


def no_prefetch(folder: Path, ahead: bool = False) -> Pipeline:
    data = tf.data.Dataset.from_tensor_slices(clips()).repeat().map(burn, num_parallel_calls=2).batch(BATCH)
    return plain(data.prefetch(4) if ahead else data), hold(20)


def oscillating(folder: Path, ahead: int = 1) -> Pipeline:
    """A shard of 16 batches is opened at once, which takes as long as eight steps."""
    from tensorflow.python.data.experimental.ops import testing

    table = tf.constant(clips())

    def shard(number: Any) -> Any:
        opened = tf.data.Dataset.range(1).apply(testing.sleep(80_000))
        rows = tf.data.Dataset.range(UTTERANCES).batch(BATCH)
        return opened.flat_map(lambda _: rows)

    data = tf.data.Dataset.range(1000).repeat().flat_map(shard).map(lambda at: tf.gather(table, at))
    return plain(data.prefetch(ahead)), hold(10)


def network(width: int = 256, layers: int = 3) -> list[Any]:
    rng = np.random.default_rng(1)
    sizes = [MELS, *[width] * layers]
    return [
        tf.Variable(rng.standard_normal(pair).astype(np.float32) * 0.05) for pair in zip(sizes, sizes[1:], strict=False)
    ]


def forward(weights: list[Any], batch: Any) -> Any:
    with tf.GradientTape() as tape:
        x = batch
        for weight in weights:
            x = tf.nn.gelu(tf.matmul(x, weight))
            x = x - tf.reduce_mean(x, axis=-1, keepdims=True)
            x = x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), axis=-1, keepdims=True) + 1e-5)
        loss = tf.reduce_mean(tf.square(x))
    gradients = tape.gradient(loss, weights)
    return loss + 0 * tf.add_n([tf.reduce_sum(gradient) for gradient in gradients])


def lengths_dataset(lengths: Any, batch: int = BATCH) -> Any:
    """Batches padded to the longest of each; utterance n has lengths[n] frames."""
    table = tf.constant(clips(1)[0].repeat(5, axis=0) + np.linspace(0, 1, 1000, dtype=np.float32)[:, None])
    data = tf.data.Dataset.from_tensor_slices(np.asarray(lengths, np.int64)).repeat()
    return data.map(lambda n: table[:n]).padded_batch(batch, [None, MELS]).prefetch(4)


def varying(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(100, 400, 20_000)


def retracing(folder: Path) -> Pipeline:
    weights = network(64, 2)
    return lengths_dataset(varying()), tf.function(lambda batch: forward(weights, batch))


def static_shapes(folder: Path, jit: bool = False) -> Pipeline:
    weights = network(64, 2)
    lengths = np.full(20_000, 390)
    return lengths_dataset(lengths), tf.function(lambda batch: forward(weights, batch), jit_compile=jit)


def retraced_by_values(folder: Path, as_tensor: bool = False) -> Pipeline:
    """The number of the step is a Python number, or a tensor, to the compiled function."""
    weights, numbers = network(64, 2), itertools.count()
    compiled = tf.function(lambda batch, number: forward(weights, batch) * tf.cast(number, tf.float32))

    def step(batch: Any) -> float:
        number = next(numbers)
        return float(compiled(batch, tf.constant(number) if as_tensor else number))

    return lengths_dataset(np.full(20_000, 390)), step


def a_few_shapes(folder: Path) -> Pipeline:
    """Eight planned lengths, each traced when it is met first: that ends."""
    weights = network()
    lengths = np.concatenate([np.full(BATCH, 120 + 40 * length) for length in range(8)] * 100)
    return lengths_dataset(lengths), tf.function(lambda batch: forward(weights, batch))


def recompiling(folder: Path) -> Pipeline:
    weights = network(64, 2)
    signature = [tf.TensorSpec([None, None, MELS], tf.float32)]
    step = tf.function(lambda batch: forward(weights, batch), jit_compile=True, input_signature=signature)
    return lengths_dataset(varying(1)), step


def eager(folder: Path, compiled: bool = False) -> Pipeline:
    """Many small operations, one call from Python each."""
    weights = network(32, 24)
    step = lambda batch: forward(weights, batch[:, :8])  # noqa: E731
    return lengths_dataset(np.full(4000, 100), 4), tf.function(step) if compiled else step


def padded(folder: Path, bucketed: bool = False) -> Pipeline:
    """One long utterance in every batch; with buckets, batches of one length."""
    weights = network()
    if bucketed:
        lengths = np.concatenate([np.full(BATCH * 9, 170), np.full(BATCH * 7, 400)] * 20)
    else:
        lengths = np.tile([400] + [200] * 9 + [300] * 6, 400)
    signature = [tf.TensorSpec([None, None, MELS], tf.float32)]
    return lengths_dataset(lengths), tf.function(lambda batch: forward(weights, batch), input_signature=signature)


def tiny_batch(folder: Path, batch: int = 1) -> Pipeline:
    weights = network(32, 24)
    step = tf.function(lambda part: forward(weights, part[:, :4]))
    return lengths_dataset(np.full(4000, 100), batch), step


class Evicting:
    """Mapped pages are dropped as soon as they were read, as by a kernel that is short of memory."""

    def __init__(self, path: Path, evict: bool):
        self._path, self._evict = path, evict
        if not path.exists():
            np.save(path, clips())

    def __iter__(self) -> Iterator[Any]:
        table = np.load(self._path, mmap_mode="r")
        for at in range(0, UTTERANCES, BATCH):
            if self._evict:
                del table
                drop_pages([self._path])
                table = np.load(self._path, mmap_mode="r")
            yield np.array(table[at : at + BATCH])


def ahead_of(data: Any) -> Any:
    from myxtts.data.ahead import ahead

    class Ahead:
        num_workers = 1  # a thread that works ahead, which is what this says to the doctor

        def __iter__(self) -> Iterator[Any]:
            return ahead(data)

    return Ahead()


def memory_pressure(folder: Path, evict: bool = True) -> Pipeline:
    return ahead_of(Evicting(folder / "clips.npy", evict)), hold(1)


def host_mel(folder: Path) -> Pipeline:
    waves = np.random.default_rng(0).standard_normal((64, FRAMES * 256)).astype(np.float32)

    def mel(wave: Any) -> Any:
        return tf.abs(tf.signal.stft(wave, 1024, 256, pad_end=True))[:, :MELS]

    data = tf.data.Dataset.from_tensor_slices(waves).repeat().map(mel, num_parallel_calls=2)
    return data.batch(BATCH).prefetch(4), hold(6)


class HeavyCollate:
    """As a DataLoader without workers: samples are put together by Python in the loop's own thread."""

    num_workers = 0

    def __init__(self) -> None:
        self._clips = clips()

    def __iter__(self) -> Iterator[Any]:
        for at in range(0, UTTERANCES, BATCH):
            yield np.stack([slow_python(clip) for clip in self._clips[at : at + BATCH]])


def heavy_collate(folder: Path) -> Pipeline:
    return HeavyCollate(), hold(8)


def torch_collate(folder: Path) -> Pipeline:
    import torch

    data = [torch.from_numpy(clip) for clip in clips()]

    def collate(parts: list[Any]) -> Any:
        return torch.stack([torch.from_numpy(slow_python(part.numpy())) for part in parts])

    return torch.utils.data.DataLoader(data, batch_size=BATCH, collate_fn=collate, num_workers=1), hold(8)


def computing(folder: Path) -> Pipeline:
    weights = network()
    return lengths_dataset(np.full(8000, 300)), tf.function(lambda batch: forward(weights, batch))


CASES: dict[str, Case] = {
    "Python function per utterance": Case("python_function", python_function, packed(8)),
    "Python function inside interleave": Case("python_function", nested_python_function, packed(8)),
    "a file for every piece": Case("per_file_reads", per_file_reads, packed(5)),
    "slow disk (emulated)": Case("slow_disk", emulated_slow_disk, packed(8)),
    "slow disk read by Python (emulated)": Case("slow_disk", disk_read_by_python, packed(8)),
    "too few workers": Case("too_few_workers", too_few_workers, lambda folder: too_few_workers(folder, 2)),
    "work for more than all cores": Case("host_cores", all_cores_busy, packed(10)),
    "no prefetch": Case("no_prefetch", no_prefetch, lambda folder: no_prefetch(folder, True)),
    "oscillating producer": Case("oscillation", oscillating, lambda folder: oscillating(folder, 32)),
    "shapes retrace": Case("retracing", retracing, static_shapes),
    "values retrace": Case("retracing", retraced_by_values, lambda folder: retraced_by_values(folder, True)),
    "XLA recompiles": Case("recompilation", recompiling, lambda folder: static_shapes(folder, True)),
    "eager step": Case("eager_step", eager, lambda folder: eager(folder, True)),
    "padding waste": Case("padding_waste", padded, lambda folder: padded(folder, True)),
    "tiny batch": Case("tiny_batch", tiny_batch, lambda folder: tiny_batch(folder, 2)),
    "memory pressure (emulated)": Case(
        "memory_pressure", memory_pressure, lambda folder: memory_pressure(folder, False)
    ),
    "mel on the host": Case("host_features", host_mel, packed(6)),
    "heavy collate": Case("python_loader", heavy_collate, packed(8)),
    "PyTorch DataLoader, heavy collate": Case("python_loader", torch_collate, packed(8)),
    "healthy: packed": Case("healthy", packed(10)),
    "healthy: computing": Case("healthy", computing),
    "healthy: a few shapes": Case("healthy", a_few_shapes),
}


def loop_ms_per_utterance(pipeline: Pipeline, seconds: float = 4.0) -> float:
    """The achieved speed: wall time of a loop, after everything is compiled and running."""
    data, step = pipeline
    batches = iter(data)
    for _ in range(6):
        step(next(batches, None))
    taken, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        batch = next(batches, None)
        if batch is None:
            batches = iter(data)
            continue
        step(batch)
        taken += len(batch)
    return (time.perf_counter() - began) * 1e3 / taken


def run(name: str, case: Case, folder: Path) -> dict[str, Any]:
    started = time.perf_counter()
    measured = observe(*case.sick(folder))
    verdict = judge(measured)
    row: dict[str, Any] = {
        "case": name,
        "cause": case.cause,
        "verdict": verdict.verdict,
        "measured": measured.to_dict(),
    }
    row["seconds"] = time.perf_counter() - started
    if case.cured is not None and verdict.cures:
        row["predicted"] = verdict.predicted(verdict.cures[0])["gain"]
        row["achieved"] = measured.loop_ms / measured.batch / loop_ms_per_utterance(case.cured(folder))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="cases whose name contains one of these, separated by commas")
    parser.add_argument("--record", type=Path, help="write the measurements, for the test that replays them")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    wanted = [part.strip() for part in arguments.only.split(",")] if arguments.only else [""]
    rows = []
    print(f"{'case':<36}{'cause':<18}{'found':<18}{'predicted':>10}{'achieved':>10}{'ratio':>7}{'took':>7}")
    for name, case in CASES.items():
        if not any(part in name for part in wanted):
            continue
        if case.sick is torch_collate and not _has_torch():
            print(f"{name:<36}skipped: PyTorch is not installed")
            continue
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            row = run(name, case, Path(folder))
        rows.append(row)
        gains = (
            f"{row['predicted']:>9.2f}x{row['achieved']:>9.2f}x{row['predicted'] / row['achieved']:>7.2f}"
            if "achieved" in row
            else " " * 27
        )
        right = "" if row["verdict"] == row["cause"] else "  WRONG"
        print(f"{name:<36}{row['cause']:<18}{row['verdict']:<18}{gains}{row['seconds']:>6.0f}s{right}", flush=True)
    right = sum(row["verdict"] == row["cause"] for row in rows)
    compared = [row for row in rows if "achieved" in row]
    near = sum(abs(row["predicted"] / row["achieved"] - 1) <= 0.25 for row in compared)
    print(f"cause right: {right} of {len(rows)}; gain predicted within 25 %: {near} of {len(compared)} (bar 80 %)")
    if arguments.record:
        lines = [json.dumps(rounded(row), separators=(",", ":")) for row in rows]
        arguments.record.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    if arguments.json:
        print(json.dumps(rows))
    sys.exit(0 if right == len(rows) else 1)


def rounded(value: Any) -> Any:
    """With four digits: a recording is to be read, and to fit into the repository."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _has_torch() -> bool:
    import importlib.util

    return importlib.util.find_spec("torch") is not None


if __name__ == "__main__":
    main()
