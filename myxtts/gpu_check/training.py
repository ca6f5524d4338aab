"""What `myxtts gpu-check` asks of the card together with data: staging, the doctor's verdict, two minutes of training.

As in `gpu_checks.py` each returns what it found, or raises `Failed`.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.cache.fit import settle
from myxtts.cache.open import open_cache
from myxtts.cache.reader import Cache
from myxtts.config.config import XTTSConfig
from myxtts.gpu_check.device import Details, Failed, best_ms, side_of
from myxtts.thresholds import STALLED

_STAGED_STEPS = 60
_STAGED_WORK_MS = 5.0
_SLOWER = 1.25  # what is asked of staging: not to be slower than not staging by more than noise
_OF_PREDICTION = 0.8  # of the emulated utilisation that the driver's must reach


# ---- the feed -------------------------------------------------------------------------------------------------------


def _settled(config: XTTSConfig, cache: Path, **changes: Any) -> tuple[Cache, XTTSConfig]:
    """The config as the cache was packed, with `changes` to its data; batches are small enough for a small corpus."""
    opened = open_cache(cache)
    data = settle(config.data, [opened])
    batch = min(data.batch_size, max(len(opened) // 4, 1))
    return opened, dataclasses.replace(config, data=dataclasses.replace(data, batch_size=batch, **changes))


def staging(config: XTTSConfig, cache: Path, device: str) -> Details:
    """The same loop with batches staged on the device and with batches that are copied when they are needed."""
    staged, plain = (_loop(*_settled(config, cache, prefetch_to_gpu=ahead), device) for ahead in (True, False))
    details = {"staged": staged, "not_staged": plain, "gain": plain["loop_ms"] / staged["loop_ms"]}
    if not staged["on_device"]:
        raise Failed(f"batches are not staged on {device}", "attach the file to a bug report", details)
    if "GPU" in device and staged["loop_ms"] > _SLOWER * plain["loop_ms"]:
        raise Failed(
            f"staging does not overlap: {staged['loop_ms']:.1f} ms a step against {plain['loop_ms']:.1f} ms without it",
            "train with --disable-gpu-prefetch, and attach the file to a bug report", details)  # fmt: skip
    return details


def _loop(cache: Cache, config: XTTSConfig, device: str) -> Details:
    """Milliseconds per step of a loop that works on each batch for about 5 ms on the device, and of its parts."""
    import tensorflow as tf

    from myxtts.data.pipeline import Feed

    batches = Feed(cache, config).batches(device=device)
    batch = next(batches)
    name = "mel" if "mel" in batch else "audio"
    work = _work_of(device)
    waits, begun = [], time.perf_counter()
    for _ in range(_STAGED_STEPS):
        asked = time.perf_counter()
        with tf.device(device):
            payload = tf.identity(next(batches)[name])
        waits.append(time.perf_counter() - asked)
        work(payload)
    loop_ms = (time.perf_counter() - begun) / _STAGED_STEPS * 1e3
    batches.close()
    where = tf.DeviceSpec.from_string(batch[name].device)
    wanted = tf.DeviceSpec.from_string(device)
    same = (where.device_type, where.device_index) == (wanted.device_type, wanted.device_index)
    return {"loop_ms": loop_ms, "wait_ms": float(np.mean(waits)) * 1e3, "on_device": same}


def _work_of(device: str) -> Callable[[Any], None]:
    """A step of about 5 ms: as many products as that takes, and a look at the batch, so that it must be there."""
    import tensorflow as tf

    side = side_of(device)
    with tf.device(device):
        matrix = tf.random.stateless_normal([side, side], [5, 6]) / side

    @tf.function
    def compute(first: Any, times: Any) -> Any:
        product = matrix
        for _ in tf.range(times):
            product = tf.matmul(product, matrix)
        return tf.reduce_sum(product) + first

    with tf.device(device):
        four_ms = best_ms(compute, tf.zeros([]), tf.constant(4))
        times = tf.constant(max(round(4 * _STAGED_WORK_MS / four_ms), 1))

    def step(payload: Any) -> None:
        with tf.device(device):
            compute(tf.cast(payload[0, 0, 0], tf.float32), times).numpy()

    return step


def doctor(config: XTTSConfig, cache: Path) -> Details:
    """The doctor's verdict on this machine with the model's own step."""
    from myxtts.doctor.treatment import examine

    _, settled = _settled(config, cache, dataset_path=str(cache))
    diagnosis = examine(settled, step_ms=None)
    details = diagnosis.to_dict()
    details["measured"].pop("intervals_ms")
    if not diagnosis.healthy:
        cure = diagnosis.cures[0].what if diagnosis.cures else "myxtts doctor --real-step says more"
        raise Failed(f"{diagnosis.verdict.replace('_', ' ')}: {'; '.join(diagnosis.evidence)}", cure, details)
    return details


# ---- training -------------------------------------------------------------------------------------------------------


def training(config: XTTSConfig, cache: Path, folder: Path, minutes: float) -> Details:
    """Real training: how much the device worked, by the loop's clock and by the driver, against the prediction of an
    emulated device of the same step time."""
    from myxtts.machine.sampler import MachineSampler
    from myxtts.monitor import Monitor
    from myxtts.training.start import start_training

    _, settled = _settled(config, cache)
    settled.training = dataclasses.replace(settled.training, minutes=minutes, steps=None, epochs=None, sample_steps=0)
    monitor = Monitor()
    with MachineSampler(monitor):
        result = start_training(settled, cache, None, folder)
    if result["interrupted"]:
        raise Failed("training was interrupted", "run it again")
    details = {"steps": result["step"], **_steps_of(folder), **_driver_says(folder, list(monitor.samples))}
    details["predicted_utilisation"] = _predicted(settled, cache, details["median_step_ms"])
    _judge_training(details)
    return details


def _steps_of(folder: Path) -> Details:
    """Of the last two thirds of the steps: the first ones warm up."""
    from myxtts.training.run_log import read_log

    steps = [record for record in read_log(folder) if record["kind"] == "step"]
    late = steps[len(steps) // 3 :]
    data, compute = (float(np.mean([step[name] for step in late])) for name in ("data_ms", "compute_ms"))
    rate = sum(step["batch"] for step in late) / (len(late) * (data + compute)) * 1e3
    median = float(np.median([step["compute_ms"] for step in late]))
    return {"data_ms": data, "compute_ms": compute, "median_step_ms": median, "utterances_per_s": rate,
            "achieved_utilisation": compute / (data + compute)}  # fmt: skip


def _driver_says(folder: Path, samples: list[Details]) -> Details:
    """Means of the first GPU's columns while those steps ran; None where the driver gives none."""
    from myxtts.training.run_log import read_log

    times = [record["time"] for record in read_log(folder) if record["kind"] == "step"]
    begin, end = times[len(times) // 3], times[-1]
    during = [sample for sample in samples if begin <= sample["at"] <= end]
    columns = ("utilisation_percent", "sm_activity_percent", "memory_used_bytes", "power_watts")
    values = {name: [sample[f"gpu0.{name}"] for sample in during if f"gpu0.{name}" in sample] for name in columns}
    return {f"gpu_{name}": float(np.mean(column)) if column else None for name, column in values.items()}


def _predicted(config: XTTSConfig, cache: Path, step_ms: float) -> float:
    """What the emulator gives for a device of this step time, fed by the same feed. One of half a second is fed as well
    as any slower one."""
    from myxtts.bench.emulator import emulate
    from myxtts.data.pipeline import Feed

    batches: Iterator[Any] = Feed(open_cache(cache), config).batches()
    step_ms = min(step_ms, 500.0)
    steps = int(np.clip(3e3 / step_ms, 3, 500))
    au = emulate(batches, step_ms, steps).au
    batches.close()  # type: ignore[attr-defined]
    return au


def _judge_training(details: Details) -> None:
    stall = 1 - details["achieved_utilisation"]
    if stall > STALLED:
        raise Failed(f"the step waited {stall:.0%} of its time for data", "run myxtts doctor --real-step", details)
    used = details["gpu_utilisation_percent"]
    if used is not None and used < 100 * _OF_PREDICTION * details["predicted_utilisation"]:
        raise Failed(
            f"the driver says {used:.0f} % used, {100 * details['predicted_utilisation']:.0f} % were predicted",
            "if its kernels are small: a larger batch, or training.enable_xla_compilation", details)  # fmt: skip
