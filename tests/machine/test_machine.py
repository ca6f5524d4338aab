"""The sampler on this machine, with readings taken away from it; limits read from made-up cgroup trees."""

import json
import logging
import mmap
import os
import threading
import time

import psutil
import pytest
from fake_nvml import FakeNvml

from myxtts.machine import description as description_room
from myxtts.machine import sampler as sampler_room
from myxtts.machine.cgroups import cgroup_free_bytes, cgroup_limits
from myxtts.machine.description import describe_disk, describe_machine
from myxtts.machine.sampler import MachineSampler
from myxtts.monitor import Monitor, start_monitor

ALWAYS = {"at", "cpu_percent", "busiest_core_percent", "core_percent", "own_memory_bytes", "available_bytes"}


def sampled(count=3, **options):
    """A monitor and its sampler after at least `count` samples."""
    monitor = Monitor()
    with MachineSampler(monitor, interval_seconds=0.01, **options) as sampler:
        wait_for(lambda: len(sampler.samples) >= count)
    return monitor, sampler


def wait_for(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen within 30 s")


def test_samples_reach_the_monitor_and_its_log():
    monitor, sampler = sampled()
    assert set(sampler.latest()) >= ALWAYS
    assert list(monitor.samples) == list(sampler.samples)
    assert monitor.machine == sampler.description
    assert json.loads(json.dumps(monitor.to_records(), allow_nan=False))["machine"]["own_memory_bytes"][0] > 1e6
    assert 0 < sampler.latest()["available_bytes"] < psutil.virtual_memory().total
    assert len(sampler.latest()["core_percent"]) == len(os.sched_getaffinity(0))


def test_what_the_process_does_shows(tmp_path):
    monitor = Monitor()
    with MachineSampler(monitor, interval_seconds=0.01) as sampler:
        wait_for(lambda: sampler.samples)
        with open(tmp_path / "file", "wb") as file:
            for _ in range(20):
                with mmap.mmap(-1, 1 << 20) as fresh:  # pages from the kernel, whatever malloc has kept
                    fresh.write(bytes(1 << 20))
                file.write(bytes(1 << 20))
                os.fsync(file.fileno())
        seen = len(sampler.samples)
        wait_for(lambda: len(sampler.samples) > seen + 1)
    rates = {name: sum(sample[name] for sample in sampler.samples) for name in sampler.latest() if "_per_s" in name}
    assert rates["own_write_bytes_per_s"] > 0
    assert rates["minor_faults_per_s"] > 0
    assert rates["voluntary_switches_per_s"] > 0
    assert sum(sample["own_cpu_percent"] for sample in sampler.samples) > 0


def test_without_a_monitor_of_its_own_it_follows_the_one_in_use():
    first = start_monitor()
    with MachineSampler(interval_seconds=0.01):
        wait_for(lambda: first.samples)
        second = start_monitor()
        wait_for(lambda: second.samples)
    assert second.machine["cpus"] >= 0.1
    start_monitor()


def test_stop_ends_the_thread_and_start_is_harmless_twice():
    before = threading.active_count()
    sampler = MachineSampler(Monitor(), interval_seconds=600.0)
    assert sampler.latest() is None
    sampler.start()
    sampler.start()
    assert threading.active_count() == before + 1
    thread = sampler._thread
    assert thread.daemon
    sampler.stop()  # returns long before the interval is over
    assert not thread.is_alive()
    sampler.stop()
    assert threading.active_count() == before


def test_an_interval_must_be_positive():
    with pytest.raises(ValueError, match="expected more than 0"):
        MachineSampler(Monitor(), interval_seconds=0)


def refuse(*_, **__):
    raise psutil.AccessDenied(1, "nobody")


@pytest.mark.parametrize(
    ("owner", "name", "group", "column"),
    [
        (psutil.Process, "io_counters", "own disk traffic", "own_read_bytes_per_s"),
        (psutil, "swap_memory", "swap", "swap_used_bytes"),
        (psutil, "virtual_memory", "memory", "available_bytes"),
        (sampler_room, "_usage", "page faults", "major_faults_per_s"),
    ],
)
def test_a_refused_reading_is_left_out_and_said_once(monkeypatch, caplog, owner, name, group, column):
    caplog.set_level(logging.INFO)
    description = describe_machine()
    monkeypatch.setattr(sampler_room, "describe_machine", lambda **_: description)
    monkeypatch.setattr(owner, name, refuse)
    _, sampler = sampled(5)
    assert column not in sampler.latest()
    assert len(ALWAYS - {column} - set(sampler.latest())) == 0
    assert set(sampler.dropped) == {group}
    assert sum(f"the machine's {group} cannot be read" in message for message in caplog.messages) == 1


def test_a_reading_that_stops_later_leaves_the_others(monkeypatch):
    monitor = Monitor()
    with MachineSampler(monitor, interval_seconds=0.01) as sampler:
        wait_for(lambda: sampler.samples and "swap_used_bytes" in sampler.latest())
        monkeypatch.setattr(psutil, "swap_memory", refuse)
        wait_for(lambda: "swap" in sampler.dropped)
        seen = len(sampler.samples)
        wait_for(lambda: len(sampler.samples) > seen + 1)
    assert "swap_used_bytes" not in sampler.latest()
    assert "own_read_bytes_per_s" in sampler.latest()
    assert "swap_used_bytes" in monitor.summary()["machine"]["columns"]


def test_a_system_that_counts_no_disk_traffic(monkeypatch):
    monkeypatch.setattr(psutil, "disk_io_counters", lambda: None)
    _, sampler = sampled()
    assert "disk traffic" in sampler.dropped
    assert "own_read_bytes_per_s" in sampler.latest()


def test_a_sampler_that_breaks_says_so_and_ends_quietly(monkeypatch, caplog):
    monkeypatch.setattr(sampler_room, "describe_machine", refuse)
    with MachineSampler(Monitor(), interval_seconds=0.01) as sampler:
        wait_for(lambda: not sampler._thread.is_alive())
    assert sampler.latest() is None
    assert "the machine is not sampled any more: AccessDenied" in caplog.text


def test_samples_are_bounded():
    assert MachineSampler(Monitor()).samples.maxlen == 3600


def test_gpus_are_columns_of_the_sample_and_nvml_is_closed():
    nvml = FakeNvml(2)
    monitor, sampler = sampled(nvml=nvml)
    assert sampler.latest()["gpu1.utilisation_percent"] == 41.0
    assert sampler.description["gpu"] == "2 x Fake GPU"
    assert sampler.description["driver"] == "0.fake"
    assert nvml.opened == 0
    assert "gpu0" in monitor.get_summary_report()


def test_without_a_gpu_it_is_said_once_and_nothing_is_wrong(caplog):
    caplog.set_level(logging.INFO)
    description_room._say_no_gpu.cache_clear()
    for _ in range(2):
        _, sampler = sampled(1, nvml=FakeNvml(0))
    assert sampler.description["gpu"] == "none: the NVIDIA driver knows no GPU"
    assert sampler.description["gpus"] == []
    assert sum("knows no GPU" in message for message in caplog.messages) == 1
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


def test_this_machine(tmp_path):
    description = describe_machine(tmp_path)
    assert json.loads(json.dumps(description)) == description
    assert 0 < description["cpus"] <= description["cores"]
    assert 0 < description["memory_bytes"] <= psutil.virtual_memory().total
    assert description["tensorflow"].startswith("2.")
    assert description["disk"]["filesystem"]


def test_fewer_cores_by_affinity_or_quota(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5})
    monkeypatch.setattr(description_room, "cgroup_limits", lambda: (1.5, 1 << 20))
    description = describe_machine()
    assert (description["cpus"], description["memory_bytes"]) == (1.5, 1 << 20)
    monkeypatch.setattr(description_room, "cgroup_limits", lambda: (None, None))
    assert describe_machine()["cpus"] == 3


def tree(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


CGROUPS = {
    "v2, set on a group above ours": (
        {
            "proc/self/cgroup": "0::/pod/box\n",
            "sys/fs/cgroup/pod/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/pod/box/cpu.max": "max 100000\n",
            "sys/fs/cgroup/pod/box/memory.max": "2147483648\n",
            "sys/fs/cgroup/pod/memory.max": "4294967296\n",
        },
        (1.5, 1 << 31),
    ),
    "v2, in a container that sees only its root": (
        {"proc/self/cgroup": "0::/docker/abc\n", "sys/fs/cgroup/cpu.max": "400000 100000\n"},
        (4.0, None),
    ),
    "v1": (
        {
            "proc/self/cgroup": "4:memory:/box\n3:cpu,cpuacct:/box\n1:name=systemd:/\n",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/box/memory.limit_in_bytes": "1073741824\n",
        },
        (0.5, 1 << 30),
    ),
    "v1, unlimited": (
        {
            "proc/self/cgroup": "4:memory:/\n3:cpu:/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
        (None, None),
    ),
    "none at all": ({}, (None, None)),
}


@pytest.mark.parametrize("name", CGROUPS)
def test_cgroup_limits(tmp_path, name):
    files, expected = CGROUPS[name]
    assert cgroup_limits(tree(tmp_path, files)) == expected


def test_a_disk_that_cannot_be_described_is_not_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(psutil, "disk_partitions", refuse)
    description = describe_disk(tmp_path / "not there yet")
    assert description == {
        "path": str(tmp_path / "not there yet"), "filesystem": None, "device": None, "rotational": None
    }  # fmt: skip


@pytest.mark.parametrize(
    ("files", "free"),
    [
        (
            {
                "proc/self/cgroup": "0::/pod/box\n",
                "sys/fs/cgroup/pod/box/memory.max": "1000\n",
                "sys/fs/cgroup/pod/box/memory.current": "700\n",
                "sys/fs/cgroup/pod/box/memory.stat": "anon 300\nactive_file 150\ninactive_file 250\n",
                "sys/fs/cgroup/pod/memory.max": "max\n",
                "sys/fs/cgroup/pod/memory.current": "5000\n",
            },
            700,
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/box\n",
                "sys/fs/cgroup/memory/box/memory.limit_in_bytes": "1000\n",
                "sys/fs/cgroup/memory/box/memory.usage_in_bytes": "900\n",
                "sys/fs/cgroup/memory/box/memory.stat": "inactive_file 1\ntotal_inactive_file 100\n",
            },
            200,
        ),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, None),
        ({}, None),
    ],
)
def test_what_a_container_has_left(tmp_path, files, free):
    assert cgroup_free_bytes(tree(tmp_path, files)) == free
