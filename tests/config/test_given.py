"""Which settings were given, and where: the one record that everything asks."""

import copy
import dataclasses
import pickle

import pytest

from myxtts.config.config import DataConfig, XTTSConfig, load
from myxtts.errors import ConfigError


def test_each_way_of_giving_is_recorded_and_the_last_one_counts(tmp_path):
    file = tmp_path / "my.yaml"
    file.write_text("data: {num_workers: 18, batch_size: 7}\ntraining: {seed: 0}")
    config = load(file, "gpu_12gb", ["data.batch_size=56", "model.size=tiny"])
    assert dict(config.data.given) == {
        "prefetch_buffer_size": "preset gpu_12gb",
        "num_workers": str(file),
        "batch_size": "--set",
    }
    assert dict(config.model.given) == {"size": "--set"}
    assert dict(config.training.given) == {"gradient_accumulation_steps": "preset gpu_12gb", "seed": str(file)}
    config.data.give({"num_workers": 4}, "--num-workers")
    assert (config.data.num_workers, config.data.given["num_workers"]) == (4, "--num-workers")
    assert config.data.by_hand == {"num_workers", "batch_size"}  # a preset is where a search begins


def test_what_equals_the_default_may_be_given_and_what_does_not_may_not():
    assert dict(load(overrides=["data.trim_db=45.0"]).data.given) == {"trim_db": "--set"}
    filled = XTTSConfig().data.filled({"trim_db": 60.0})
    assert (filled.trim_db, dict(filled.given)) == (60.0, {})


def test_python_gives_by_constructor_by_assignment_and_by_replace():
    assert dict(DataConfig().given) == {}
    assert dict(DataConfig("here", batch_size=56).given) == {"dataset_path": "Python", "batch_size": "Python"}
    assert dict(XTTSConfig.from_dict({"data": {"trim_db": 45.0}}).data.given) == {"trim_db": "Python"}
    config = XTTSConfig(data=DataConfig(text_blank=False))
    config.data.num_workers = 18
    assert dict(config.data.given) == {"text_blank": "Python", "num_workers": "Python"}
    other = dataclasses.replace(config.data, trim_db=45.0)  # its default, but named
    assert dict(other.given) == {"text_blank": "Python", "num_workers": "Python", "trim_db": "Python"}
    assert "trim_db" not in config.data.given
    kept = dataclasses.replace(load(overrides=["data.trim_db=30"]).data, batch_size=3)
    assert dict(kept.given) == {"trim_db": "--set", "batch_size": "Python"}


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))])
def test_a_copy_has_a_record_of_its_own(copied):
    data = DataConfig(batch_size=8)
    other = copied(data)
    other.trim_db = 20.0
    assert (other.given.keys(), data.given.keys()) == ({"batch_size", "trim_db"}, {"batch_size"})


def test_what_is_filled_in_leaves_alone_what_was_given():
    data = load(preset="cpu", overrides=["data.num_buckets=4"]).data
    filled = data.filled({"num_buckets": 1, "num_workers": 9, "trim_db": 60.0})
    assert (filled.num_buckets, filled.num_workers, filled.trim_db) == (4, 2, 60.0)
    searched = data.filled({"num_buckets": 1, "num_workers": 9}, data.by_hand)
    assert (searched.num_buckets, searched.num_workers, "num_workers" in searched.given) == (4, 9, False)
    assert data.given["num_workers"] == "preset cpu"
    with pytest.raises(ConfigError, match="from 16"):
        data.filled({"max_mel_frames": 0})
    with pytest.raises(ConfigError, match="did you mean 'batch_size'"):
        data.give({"batch_sise": 1}, "--set")


def test_the_record_is_no_setting():
    data = DataConfig(batch_size=3)
    assert DataConfig(batch_size=56) == DataConfig()
    assert not [name for name in data.to_dict() if name.startswith("_")]
    assert "_given" not in repr(data)
    with pytest.raises(TypeError):
        data.given["batch_size"] = "somewhere"


def test_batch_size_of_older_files_is_recorded_where_it_belongs(tmp_path):
    file = tmp_path / "old.yaml"
    file.write_text("training: {batch_size: 9}")
    with pytest.warns(UserWarning, match="data.batch_size"):
        config = load(file)
    assert (dict(config.data.given), dict(config.training.given)) == ({"batch_size": str(file)}, {})
    with pytest.warns(UserWarning, match="data.batch_size"):
        config = load(preset="cpu", overrides=["training.batch_size=5"])
    assert (config.data.batch_size, config.data.given["batch_size"]) == (5, "--set")
