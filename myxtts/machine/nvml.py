"""What NVIDIA's driver says about its GPUs (NVML, by way of nvidia-ml-py). Where there is nothing to say, it says why.

Every reading is a column of its own: one that a card, a driver or a permission does not give is left out, said once,
and the others go on. SM activity comes from GPM, which cards before Hopper do not have; their utilisation only says
that some kernel ran, on however few multiprocessors.
"""

from __future__ import annotations

import importlib
import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from myxtts.errors import install_command

log = logging.getLogger(__name__)

_DRIVER_FILES = ("/dev/nvidiactl", "/proc/driver/nvidia/version")


class Gpus:
    """The GPUs of this machine; `reason` says why there are none, or is None."""

    def __init__(self, nvml: Any = None):
        """`nvml` stands in for the module pynvml."""
        self.reason: str | None = None
        self.dropped: dict[str, str] = {}  # column -> why it is not read
        self._columns: dict[str, Callable[[], float | None]] = {}
        self._activities: list[_SmActivity] = []
        self._handles: list[Any] = []
        self._is_open = False
        self._nvml = _package() if nvml is None else nvml
        if self._nvml is None:
            self.reason = _why_no_package()
        else:
            self._open()

    def describe(self) -> list[dict[str, Any]]:
        """Name and memory of each, None where the driver does not say."""
        return [
            {"name": self._asked(self._name, handle), "memory_bytes": self._asked(self._memory, handle)}
            for handle in self._handles
        ]

    def _name(self, handle: Any) -> str:
        return _text(self._nvml.nvmlDeviceGetName(handle))

    def _memory(self, handle: Any) -> int:
        return int(self._nvml.nvmlDeviceGetMemoryInfo(handle).total)

    def free_bytes(self) -> list[int]:
        """Of each that says so."""
        free = [self._asked(self._free, handle) for handle in self._handles]
        return [each for each in free if each is not None]

    def _free(self, handle: Any) -> int:
        memory = self._nvml.nvmlDeviceGetMemoryInfo(handle)
        return int(memory.total) - int(memory.used)

    def driver(self) -> str | None:
        return self._asked(lambda: _text(self._nvml.nvmlSystemGetDriverVersion())) if self._handles else None

    def read(self) -> dict[str, float]:
        """`gpu0.utilisation_percent` and so on. PCIe rates take the driver 20 ms each, which we spend waiting."""
        sample = {}
        for name, read in list(self._columns.items()):
            try:
                value = read()
            except self._errors as error:
                self._drop(name, error)
                continue
            if value is not None and math.isfinite(value):
                sample[name] = float(value)
        return sample

    def close(self) -> None:
        """It may be called twice, and reads nothing afterwards."""
        if self._is_open:
            for activity in self._activities:
                self._asked(activity.close)
            self._asked(self._nvml.nvmlShutdown)
        self._is_open = False
        self._handles, self._columns, self._activities = [], {}, []

    def _open(self) -> None:
        # An AttributeError is a function that this version of the package does not have.
        self._errors = (self._nvml.NVMLError, AttributeError, OSError, ValueError)
        try:
            self._nvml.nvmlInit()
            self._is_open = True
            count = self._nvml.nvmlDeviceGetCount()
            self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        except self._errors as error:
            self.reason = f"none: {error}" if Path(_DRIVER_FILES[0]).exists() else f"none: no NVIDIA driver ({error})"
            self.close()
            return
        if not self._handles:
            self.reason = "none: the NVIDIA driver knows no GPU"
        for index, handle in enumerate(self._handles):
            self._columns |= {f"gpu{index}.{name}": read for name, read in self._readers(handle).items()}

    def _readers(self, handle: Any) -> dict[str, Callable[[], float | None]]:
        nvml, activity = self._nvml, _SmActivity(self._nvml, handle)
        self._activities.append(activity)

        def pcie(direction: str) -> float:  # NVML counts in KB/s, as seen from the GPU: it receives what goes in
            return nvml.nvmlDeviceGetPcieThroughput(handle, getattr(nvml, f"NVML_PCIE_UTIL_{direction}_BYTES")) * 1e3

        return {
            "utilisation_percent": lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu,
            "memory_used_bytes": lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used,
            "sm_activity_percent": activity.read,
            "power_watts": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1e3,
            "pcie_in_bytes_per_s": lambda: pcie("RX"),
            "pcie_out_bytes_per_s": lambda: pcie("TX"),
        }

    def _drop(self, name: str, error: Exception) -> None:
        del self._columns[name]
        self.dropped[name] = str(error)
        log.info("%s cannot be read (%s): it is left out", name, error)

    def _asked(self, ask: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return ask(*arguments)
        except self._errors as error:
            log.debug("NVML does not answer: %s", error)
            return None


class _SmActivity:
    """The share of a GPU's multiprocessors that worked between two readings; None at the first."""

    def __init__(self, nvml: Any, handle: Any):
        self._nvml, self._handle = nvml, handle
        self._samples: list[Any] = []  # the one before and the one now

    def read(self) -> float | None:
        nvml = self._nvml
        if not self._samples and not nvml.nvmlGpmQueryDeviceSupport(self._handle).isSupportedDevice:
            raise ValueError("this GPU has no GPM")
        if len(self._samples) < 2:
            self._samples.append(nvml.nvmlGpmSampleAlloc())
        else:
            self._samples.reverse()
        nvml.nvmlGpmSampleGet(self._handle, self._samples[-1])
        return self._between() if len(self._samples) == 2 else None

    def _between(self) -> float | None:
        question = self._nvml.c_nvmlGpmMetricsGet_t()
        question.version, question.numMetrics = self._nvml.NVML_GPM_METRICS_GET_VERSION, 1
        question.sample1, question.sample2 = self._samples
        question.metrics[0].metricId = self._nvml.NVML_GPM_METRIC_SM_UTIL
        answer = self._nvml.nvmlGpmMetricsGet(question).metrics[0]
        return None if answer.nvmlReturn else answer.value

    def close(self) -> None:
        for sample in self._samples:
            self._nvml.nvmlGpmSampleFree(sample)


def _package() -> Any:
    try:
        return importlib.import_module("pynvml")
    except ImportError:
        return None


def _why_no_package() -> str:
    if any(Path(file).exists() for file in _DRIVER_FILES):
        return f"none: the package nvidia-ml-py is missing, run {install_command('gpu')}"
    return "none: no NVIDIA driver on this machine"


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
