"""What `myxtts gpu-check` asks of the card: each check returns what it found, or raises `Failed` or `Skipped`.

All but the first take the device they are about, so that a CPU can stand in for a GPU in tests. The checks that need
data are in `gpu_training_checks.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from myxtts.config.config import XTTSConfig
from myxtts.errors import install_command

_REPEATS = 10

Details = dict[str, Any]


class Skipped(Exception):
    """There is nothing to check; the message says why."""


class Failed(Exception):
    """The check went through and says no."""

    def __init__(self, reason: str, next_step: str, details: Details | None = None):
        super().__init__(reason)
        self.next_step, self.found = next_step, details or {}


# ---- the device -----------------------------------------------------------------------------------------------------


def device(machine: Details) -> tuple[str, Details]:
    """The first GPU that TensorFlow sees, and what is known about all. `machine` is what `describe_machine` found."""
    import tensorflow as tf

    build = dict(tf.sysconfig.get_build_info())
    names = ("cuda_version", "cudnn_version", "cuda_compute_capabilities", "is_cuda_build")
    details = {
        "tensorflow": tf.__version__,
        "build": {name: build[name] for name in names if name in build},
        "driver": machine["driver"],
        "nvml": machine["gpu"],
        "gpus": [_details(gpu) for gpu in tf.config.list_physical_devices("GPU")],
    }
    if not details["gpus"]:
        raise Failed(*_why_no_gpu(machine, tf.test.is_built_with_cuda()), details)
    return "/GPU:0", details


def _details(gpu: Any) -> Details:
    import tensorflow as tf

    details = tf.config.experimental.get_device_details(gpu)
    capability = details.get("compute_capability")
    return {"name": details.get("device_name"), "compute_capability": capability and ".".join(map(str, capability))}


def _why_no_gpu(machine: Details, built_with_cuda: bool) -> tuple[str, str]:
    """Reason and next step: no card or driver, a TensorFlow without CUDA, or one that cannot load it."""
    if not machine["gpus"] and "driver" in str(machine["gpu"]):
        return (
            f"no GPU was found ({machine['gpu'].removeprefix('none: ')})",
            "with an NVIDIA card: install its driver, until nvidia-smi shows the card; without one nothing is wrong",
        )
    if not built_with_cuda:
        return (
            "no GPU was found by TensorFlow: the version that is installed is the one for CPUs",
            f"pip uninstall -y tensorflow-cpu; {install_command('gpu')}",
        )
    return (
        f"no GPU was found by TensorFlow, though it is built with CUDA (the driver says: {machine['gpu']})",
        "run TF_CPP_MIN_LOG_LEVEL=0 python -c 'import tensorflow as tf; tf.config.list_physical_devices()': "
        "it names the library that it cannot load",
    )


def memory_growth(device: str | None) -> Details:
    """Memory is taken as it is needed, so that others can use the card too."""
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if device is None or "GPU" not in device or not gpus:
        raise Skipped(f"{device} is not a GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    grows = all(tf.config.experimental.get_memory_growth(gpu) for gpu in gpus)
    tf.ones([1], tf.float32)  # begins TensorFlow's use of the card
    info = tf.config.experimental.get_memory_info("GPU:0")
    details = {"grows": grows, "current_bytes": info["current"], "peak_bytes": info["peak"]}
    if not grows:
        raise Failed("GPU memory is taken as a whole", "start it in a process that has not used TensorFlow", details)
    return details


# ---- arithmetic -----------------------------------------------------------------------------------------------------


def precision(config: XTTSConfig, device: str) -> Details:
    """What training will compute in, and how fast matrices are multiplied in each kind."""
    from myxtts.training.setup import precision_for

    chosen = precision_for(config)
    rates = {kind: _teraflops(kind, device) for kind in ("float32", "float16", "bfloat16")}
    details = {"chosen": chosen, "teraflops": rates, "times_float32": rates[chosen] / rates["float32"]}
    if "GPU" in device and chosen != "float32" and rates[chosen] < rates["float32"]:
        raise Failed(
            f"{chosen} was chosen and is slower than float32 here ({rates[chosen]:.1f} against "
            f"{rates['float32']:.1f} TFLOPS)", "train with --set training.precision=float32", details)  # fmt: skip
    return details


def _teraflops(kind: str, device: str) -> float:
    import tensorflow as tf

    side = side_of(device)
    with tf.device(device):
        matrix = tf.cast(tf.random.stateless_normal([side, side], [1, 2]), kind)
        multiply = tf.function(lambda: tf.reduce_sum(tf.cast(tf.matmul(matrix, matrix), tf.float32)))
        multiply().numpy()
        return 2 * side**3 / best_ms(multiply) / 1e9


def side_of(device: str) -> int:
    """Of square matrices: large enough to fill the device, small enough for seconds."""
    return 4096 if "GPU" in device else 256


def best_ms(function: Callable[..., Any], *arguments: Any) -> float:
    return 1e3 * min(_seconds(lambda: function(*arguments).numpy()) for _ in range(_REPEATS))


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def xla(device: str) -> Details:
    """The same function compiled by XLA: the same result, how long compiling took, and what it brought."""
    import tensorflow as tf

    side = side_of(device) // 4

    def layer(x: Any) -> Any:
        for _ in range(4):
            x = tf.nn.gelu(tf.linalg.matmul(x, x) / side) + tf.math.sin(x)
        return tf.reduce_mean(x, axis=1)

    with tf.device(device):
        x = tf.random.stateless_normal([side, side], [3, 4])
        plain, compiled = (tf.function(layer, jit_compile=jit) for jit in (False, True))
        expected = plain(x).numpy()
        compile_s = _seconds(lambda: compiled(x).numpy())
        times = [best_ms(function, x) for function in (plain, compiled)]
        difference = float(np.abs(compiled(x).numpy() - expected).max())
    details = {"compile_s": compile_s, "plain_ms": times[0], "xla_ms": times[1], "largest_difference": difference}
    if not difference < 1e-3 * max(float(np.abs(expected).max()), 1.0) * (10 if "GPU" in device else 1):  # TF32
        raise Failed(f"XLA's result differs by {difference:.2g}", "leave training.enable_xla_compilation off", details)
    return details
