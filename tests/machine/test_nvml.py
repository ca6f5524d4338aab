"""What is read from NVML, and what happens where it gives nothing."""

import logging

import pytest
from fake_nvml import FakeNvml

from myxtts.machine import nvml as room
from myxtts.machine.nvml import Gpus

COLUMNS = {
    "utilisation_percent": 41.0, "memory_used_bytes": 2e9, "sm_activity_percent": 33.0, "power_watts": 120.5,
    "pcie_in_bytes_per_s": 5e6, "pcie_out_bytes_per_s": 1e6,
}  # fmt: skip


def test_every_column_of_every_gpu():
    gpus = Gpus(FakeNvml(2))
    first = gpus.read()
    assert "gpu0.sm_activity_percent" not in first  # it is between two readings
    for _ in range(3):
        assert gpus.read() == {f"gpu{index}.{name}": value for index in (0, 1) for name, value in COLUMNS.items()}
    assert gpus.reason is None
    assert gpus.describe() == [{"name": "Fake GPU", "memory_bytes": 24 << 30}] * 2


def test_what_was_opened_is_closed_once():
    nvml = FakeNvml(2)
    gpus = Gpus(nvml)
    gpus.read()
    gpus.read()
    assert nvml.gpm_samples == 4
    gpus.close()
    gpus.close()
    assert (nvml.opened, nvml.gpm_samples) == (0, 0)
    assert gpus.read() == {}


@pytest.mark.parametrize(
    ("function", "lost"),
    [
        ("nvmlDeviceGetUtilizationRates", {"utilisation_percent"}),
        ("nvmlDeviceGetMemoryInfo", {"memory_used_bytes"}),
        ("nvmlDeviceGetPowerUsage", {"power_watts"}),
        ("nvmlDeviceGetPcieThroughput", {"pcie_in_bytes_per_s", "pcie_out_bytes_per_s"}),
        ("nvmlGpmQueryDeviceSupport", {"sm_activity_percent"}),
        ("nvmlGpmSampleGet", {"sm_activity_percent"}),
        ("nvmlGpmMetricsGet", {"sm_activity_percent"}),
    ],
)
def test_a_call_that_is_not_supported_costs_its_column_only(caplog, function, lost):
    caplog.set_level(logging.INFO)
    gpus = Gpus(FakeNvml(fails=[function]))
    for _ in range(3):
        reading = gpus.read()
    assert set(reading) == {f"gpu0.{name}" for name in set(COLUMNS) - lost}
    assert set(gpus.dropped) == {f"gpu0.{name}" for name in lost}
    assert len(caplog.messages) == len(lost)
    gpus.close()


def test_a_card_before_hopper_has_no_sm_activity():
    gpus = Gpus(FakeNvml(gpm=False))
    gpus.read()
    assert "gpu0.sm_activity_percent" not in gpus.read()
    assert gpus.dropped == {"gpu0.sm_activity_percent": "this GPU has no GPM"}


def test_a_metric_that_failed_is_not_a_number():
    gpus = Gpus(FakeNvml(gpm_return=3))
    gpus.read()
    assert "gpu0.sm_activity_percent" not in gpus.read()


def test_a_package_without_gpm():
    class FakeOldNvml(FakeNvml):
        nvmlGpmQueryDeviceSupport = property()  # raises AttributeError, as a missing function does

    reading = Gpus(FakeOldNvml()).read()
    assert set(reading) == {f"gpu0.{name}" for name in set(COLUMNS) - {"sm_activity_percent"}}


@pytest.mark.parametrize("function", ["nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"])
def test_no_driver_or_no_permission_is_a_reason_and_not_an_error(function):
    nvml = FakeNvml(fails=[function])
    gpus = Gpus(nvml)
    assert gpus.reason.startswith("none: ")
    assert "Not Supported" in gpus.reason
    assert (gpus.read(), gpus.describe(), gpus.driver()) == ({}, [], None)
    gpus.close()
    assert nvml.opened == 0


def test_a_name_or_driver_that_is_not_told():
    gpus = Gpus(FakeNvml(fails=["nvmlDeviceGetName", "nvmlSystemGetDriverVersion"]))
    assert gpus.describe() == [{"name": None, "memory_bytes": 24 << 30}]
    assert gpus.driver() is None


@pytest.mark.parametrize(("driver", "said"), [(True, "nvidia-ml-py>=12.535"), (False, "no NVIDIA driver")])
def test_without_the_package_the_reason_depends_on_the_driver(monkeypatch, tmp_path, driver, said):
    if driver:
        (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(room, "_DRIVER_FILES", (str(tmp_path / "nvidiactl"),))
    monkeypatch.setattr(room, "_package", lambda: None)
    gpus = Gpus()
    assert said in gpus.reason
    assert gpus.read() == {}
    gpus.close()
