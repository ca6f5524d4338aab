"""Staging: batches arrive on the device, as many ahead as the settings say, and the cache is still not copied.

Two logical CPU devices stand in for a host and a GPU. They need a process of their own.
"""

import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest
import tensorflow as tf

from myxtts.data.device import first_gpu

STAGING = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import numpy as np
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from measure import anonymous_bytes
from synthetic import write_index_only
from myxtts.cache.reader import Cache
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.data.pipeline import Feed
write_index_only(Path(sys.argv[2]), 16_000)
cache = Cache(sys.argv[2])

def feed_of(**data):
    return Feed(cache, XTTSConfig(data=DataConfig(batch_size=8, prefetch_buffer_size=2, **data)))

def first(**data):
    return next(iter(feed_of(**data).dataset(device="/CPU:1")))

staged, plain = first(), first(prefetch_to_gpu=False)
assert staged["mel"].device.endswith("CPU:1") and plain["mel"].device.endswith("CPU:0")
assert first(enhanced_gpu_prefetch=False)["tokens"].device.endswith("CPU:1")
# The way that a trainer takes: several batches in their order, each on its device.
for data, device in (({}, "CPU:1"), ({"prefetch_to_gpu": False}, "CPU:0")):
    batches = feed_of(**data).batches(device="/CPU:1")
    for step in range(5):
        batch = next(batches)
        assert int(batch["step"]) == step
        assert all(batch[name].device.endswith(device) for name in ("mel", "tokens", "reference", "weight"))
    batches.close()
for name in plain:
    np.testing.assert_array_equal(staged[name], plain[name])
assert anonymous_bytes() < 1.0e9, anonymous_bytes()  # the mel alone has 1.4 GB
"""


@pytest.mark.slow
def test_batches_are_staged_on_the_device(tmp_path):
    benchmarks = Path(__file__).parents[2] / "benchmarks"
    command = [sys.executable, "-c", STAGING, benchmarks, tmp_path / "big.cache"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def test_of_several_gpus_one_is_used_and_that_is_said_once(monkeypatch, caplog):
    gpus = [tf.config.LogicalDevice(f"/device:GPU:{n}", "GPU") for n in range(3)]
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: gpus if kind == "GPU" else [])
    assert first_gpu() == first_gpu() == "/device:GPU:0"
    assert caplog.text.count("1 of 3 GPUs is used, /device:GPU:0") == 1
    assert "CUDA_VISIBLE_DEVICES" in caplog.text
    caplog.clear()
    del gpus[1:]
    assert first_gpu() == "/device:GPU:0"
    assert caplog.text == ""


def test_how_many_are_staged_ahead_follows_the_settings():
    import tensorflow as tf

    from myxtts.config.config import DataConfig
    from myxtts.data.device import stage

    source = tf.data.Dataset.range(10)
    for enhanced, ahead in ((True, 2), (False, 1)):
        staged = stage(source, "/CPU:0", DataConfig(enhanced_gpu_prefetch=enhanced))
        assert int(staged._buffer_size) == ahead
    assert stage(source, "/CPU:0", DataConfig(prefetch_to_gpu=False)) is source
    assert stage(source, None, DataConfig()) is source
