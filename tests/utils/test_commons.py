"""The tuner's documented name: starting points without data, measurements with it."""

import subprocess
import sys

from myxtts.config.config import XTTSConfig
from myxtts.data.starting_points import starting_point
from myxtts.machine.description import describe_machine
from myxtts.utils.commons import auto_tune_performance_settings


def test_without_data_it_returns_this_machines_starting_point():
    config = XTTSConfig()
    tuned = auto_tune_performance_settings(config)
    chosen = starting_point(describe_machine())
    assert {name: getattr(tuned.data, name) for name in chosen} == chosen
    assert config == XTTSConfig()
    assert (tuned.model, tuned.training) == (config.model, config.training)


def test_with_a_corpus_that_is_not_packed_too(tmp_path):
    config = XTTSConfig()
    config.data.dataset_path, config.data.batch_size = str(tmp_path), 5
    tuned = auto_tune_performance_settings(config)
    assert (tuned.data.dataset_path, tuned.data.batch_size) == (str(tmp_path), 5)
    assert list(tmp_path.iterdir()) == []


def test_with_packed_data_it_measures(corpus_folder, tmp_path, monkeypatch):
    from corpora import feed_config

    from myxtts.cache.pack import pack
    from myxtts.cache.settings import PackSettings
    from myxtts.corpus.read import open_corpus
    from myxtts.tuner import tune as room

    config = feed_config(dataset_path=str(tmp_path / "voice.cache"))
    pack(open_corpus(corpus_folder), tmp_path / "voice.cache", PackSettings.from_config(config.data))
    real, asked = room.tune, []

    def briefly(config, cache):
        asked.append(cache)
        machine = {"gpus": [], "cpus": 2, "memory_bytes": 8e9}
        return real(config, cache, 3.0, step=lambda batch: None, keep={"batch_size"}, machine=machine)

    monkeypatch.setattr(room, "tune", briefly)
    assert auto_tune_performance_settings(config).data.batch_size == 8
    assert asked == [tmp_path / "voice.cache"]


def test_importing_it_needs_no_tensorflow():
    code = "import sys, myxtts.utils.commons; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=300).returncode == 0
