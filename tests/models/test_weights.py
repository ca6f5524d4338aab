"""Weights there and back, and every way in which a file can fail to be what was written."""

import resource

import numpy as np
import pytest
from small_models import make_batch, make_model

from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.models.weights import load, load_metadata, save, set_weights, weights_of


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "weights.safetensors"
    save(path, {"a/kernel": np.arange(12, dtype=np.float32).reshape(3, 4).T, "b": np.float32(2)}, {"step": "7"})
    return path


def test_round_trip(saved):
    tensors = load(saved)
    np.testing.assert_array_equal(tensors["a/kernel"], np.arange(12).reshape(3, 4).T)
    assert tensors["b"].shape == ()
    assert load_metadata(saved) == {"step": "7"}
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_model_speaks_the_same_after_a_round_trip(model, tmp_path):
    save(tmp_path / "weights.safetensors", weights_of(model))
    other = make_model()
    other.text_encoder.symbols.assign(other.text_encoder.symbols * 0)
    other.set_statistics(0, 1)
    set_weights(other, load(tmp_path / "weights.safetensors"))
    batch = make_batch()
    assert model.validation_of(batch) == other.validation_of(batch)


def test_names_say_where_a_variable_belongs(model):
    names = set(weights_of(model))
    assert len(names) == len(model.variables)
    assert {"xtts/mel_mean", "xtts/duration_scale", "xtts/decoder/block_5/expand/kernel"} <= names


@pytest.mark.parametrize("keep", [0, 5, 40, -1])
def test_truncated_file(saved, keep):
    saved.write_bytes(saved.read_bytes()[:keep])
    with pytest.raises(CheckpointDamaged, match="weights.safetensors is damaged"):
        load(saved)


@pytest.mark.parametrize("place", [0, 12, -1])
def test_flipped_byte(saved, place):
    content = bytearray(saved.read_bytes())
    content[place] ^= 0x55
    saved.write_bytes(content)
    with pytest.raises(CheckpointDamaged, match="use an earlier checkpoint"):
        load(saved)


def test_missing_file(tmp_path):
    with pytest.raises(CheckpointError, match="is missing"):
        load(tmp_path / "weights.safetensors")


def test_a_failed_write_leaves_the_old_file(saved):
    before = saved.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))  # what a full disk does, at a chosen place
    try:
        with pytest.raises(CheckpointError, match="cannot write"):
            save(saved, {"a": np.zeros(100_000, np.float32)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_what_does_not_fit_is_named_and_nothing_is_set(model):
    tensors = weights_of(model)
    before = {name: array.copy() for name, array in tensors.items()}
    tensors["xtts/text_encoder/symbols"] = np.zeros((3, 192), np.float32)
    del tensors["xtts/mel_std"]
    tensors["xtts/wings"] = np.zeros(1, np.float32)
    tensors["xtts/mel_mean"] = np.ones(80, np.float32)
    with pytest.raises(CheckpointError) as caught:
        set_weights(model, tensors)
    for fault in ("mel_std is missing", "wings is not in the model", r"symbols is [3, 192], expected [30, 192]"):
        assert fault in str(caught.value)
    np.testing.assert_array_equal(weights_of(model)["xtts/mel_mean"], before["xtts/mel_mean"])


class _Variable:
    path, shape = "a/kernel", (2,)

    def assign(self, value):
        raise AssertionError("nothing may be set")


class _Model:
    variables = (_Variable(),)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(value):
    with pytest.raises(CheckpointDamaged, match="a/kernel holds NaN or infinite values"):
        set_weights(_Model(), {"a/kernel": np.array([1.0, value], np.float32)})
