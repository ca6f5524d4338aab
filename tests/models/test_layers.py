"""Dropout as a function of its seed; variables stay float32 in every precision."""

import numpy as np
import pytest
import tensorflow as tf
from small_models import make_batch, make_model

from myxtts.models.layers import Block, drop, fold

SEED = tf.constant([1, 2])


def test_dropout_is_a_function_of_its_seed():
    x = np.ones((4, 50, 64), np.float32)
    first, again, other = (drop(x, 0.25, fold(SEED, n)).numpy() for n in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert abs((first == 0).mean() - 0.25) < 0.02
    assert abs(first.mean() - 1) < 0.03
    np.testing.assert_array_equal(drop(x, 0.25, None), x)


def test_a_block_sees_no_padding():
    block = Block(16, 5, 3, 8, 0.0)
    block.build()
    rng = np.random.default_rng(0)
    x, voice = rng.normal(size=(1, 6, 16)).astype(np.float32), rng.normal(size=(1, 8)).astype(np.float32)
    alone = block(x, np.ones((1, 6, 1), np.float32), voice)
    inside = np.r_[np.ones(6), np.zeros(5)].astype(np.float32)[None, :, None]
    padded = block(np.pad(x, [(0, 0), (0, 5), (0, 0)]), inside, voice).numpy()
    np.testing.assert_allclose(padded[:, :6], alone, atol=1e-5)
    assert (padded[:, 6:] == 0).all()


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_is_for_computing_only(model, precision):
    half = make_model(precision)
    assert {variable.dtype for variable in half.variables} == {"float32"}
    assert half.decoder.blocks[0].expand.compute_dtype == precision
    step = tf.constant(0, tf.int64)
    (whole, _), (coarse, outputs) = (each.losses_of(make_batch(), SEED, step) for each in (model, half))
    for name, loss in coarse.items():
        assert loss.dtype == tf.float32
        np.testing.assert_allclose(loss, whole[name], rtol=0.05)
    assert outputs["durations"].dtype == tf.int32


def test_unknown_precision():
    with pytest.raises(ValueError, match="expected one of float32, bfloat16, float16"):
        make_model("int8")
