"""The numpy batches are the feed's batches, bit for bit, and no TensorFlow is needed for them."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from corpora import feed_config

from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.corpus.read import open_corpus
from myxtts.data.numpy_batches import NumpyBatches
from myxtts.data.pipeline import Feed
from myxtts.data.plan import Plan
from myxtts.monitor import start_monitor


@pytest.fixture(scope="module")
def other(corpus_folder, tmp_path_factory) -> Cache:
    folder = tmp_path_factory.mktemp("other") / "other.cache"
    pack(open_corpus(corpus_folder), folder, PackSettings.from_config(feed_config().data))
    return Cache(folder)


def assert_same_batches(made, expected):
    made, expected = list(made), list(expected)
    assert len(made) == len(expected) > 0
    for ours, theirs in zip(made, expected, strict=True):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            assert ours[name].dtype == value.dtype, name
            np.testing.assert_array_equal(ours[name], value, err_msg=name)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ({}, {}),
        ({"preprocessing_mode": "on_the_fly", "reference_frames": 60}, {}),
        ({"preprocessing_mode": "on_the_fly", "reference_frames": 400}, {}),
        ({"reference_frames": 24, "frame_budget": 1200}, {"tracks": ["audio"]}),
        ({"speaker_temperature": 5.0, "enable_memory_mapping": False}, {"utterances": [list(range(0, 60, 3))]}),
    ],
    ids=["mel", "audio", "long-references", "both", "balanced"],
)
def test_batches_are_those_of_the_feed(cache, data, options):
    feed = Feed(cache, feed_config(**data), **options)
    stop = feed.steps_per_epoch + 3
    expected = feed.dataset(1, stop).as_numpy_iterator()
    assert_same_batches(NumpyBatches(Plan(cache, feed_config(**data), **options), 1, stop), expected)


def test_several_caches(cache, other):
    plan = Plan([cache, other], feed_config(), cache_weights=[1, 2])
    feed = Feed([cache, other], feed_config(), cache_weights=[1, 2])
    assert_same_batches(NumpyBatches(plan, 0, 15), feed.dataset(0, 15).as_numpy_iterator())


def test_a_feed_is_a_plan_too_and_each_step_stands_alone(cache):
    monitor = start_monitor()
    feed = Feed(cache, feed_config())
    batches = NumpyBatches(feed, 10, 14)
    assert len(batches) == 4
    assert_same_batches([batches[n] for n in range(4)], batches)
    assert [int(batch["step"]) for batch in batches] == [10, 11, 12, 13]
    for outside in (-1, 4):
        with pytest.raises(IndexError, match="of 4"):
            batches[outside]
    assert monitor.counters["loader.numpy"] == 1


def test_without_a_stop_it_goes_on_and_batches_stay_as_they_were(cache):
    batches = iter(NumpyBatches(Plan(cache, feed_config())))
    first = next(batches)
    kept = {name: np.copy(value) for name, value in first.items()}
    for _ in range(30):
        last = next(batches)
    assert last["step"] == 30
    assert_same_batches([first], [kept])


def test_no_tensorflow_is_imported(cache):
    script = """
import sys
from myxtts.cache.reader import Cache
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.data.plan import Plan
from myxtts.data.numpy_batches import NumpyBatches
config = XTTSConfig(data=DataConfig(text_tokens="characters"))
assert len(list(NumpyBatches(Plan(Cache(sys.argv[1]), config), 0, 5))) == 5
assert "tensorflow" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script, cache.folder], check=True, timeout=300)


if importlib.util.find_spec("torch"):  # no dependency of ours; what follows is for those who have it
    TORCH = """
import sys
import numpy as np
import torch
from myxtts.cache.reader import Cache
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.data.plan import Plan
from myxtts.data.numpy_batches import NumpyBatches
config = XTTSConfig(data=DataConfig(text_tokens="characters"))
batches = NumpyBatches(Plan(Cache(sys.argv[1]), config), 3, 9)
for workers in (0, 2):
    loaded = list(torch.utils.data.DataLoader(batches, batch_size=None, num_workers=workers))
    assert len(loaded) == 6
    for made, expected in zip(loaded, batches, strict=True):
        assert made["mel"].dtype == torch.float16
        assert all(isinstance(made[name], torch.Tensor) for name in expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(made[name].numpy(), value)
assert "tensorflow" not in sys.modules
"""

    def test_a_torch_loader_takes_it_as_it_is(cache):
        """In a process of its own: a DataLoader forks, which a process with TensorFlow's threads should not."""
        subprocess.run([sys.executable, "-W", "error", "-c", TORCH, cache.folder], check=True, timeout=120)
