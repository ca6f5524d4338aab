"""Adam and the running average, against a plain numpy version of the papers' formulas."""

import contextlib
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import pytest
import tensorflow as tf

from myxtts.errors import CheckpointError
from myxtts.training.optimiser import Adam

SHAPES = [(3, 4), (5,), ()]


def make(seed: int = 0, decay: float = 0.9, start_share: float = 0.0):
    rng = np.random.default_rng(seed)
    variables = [
        keras.Variable(rng.normal(size=shape).astype(np.float32), name=f"v{n}") for n, shape in enumerate(SHAPES)
    ]
    return variables, Adam(variables, 0.9, 0.98, decay, start_share)


def gradients_of(step: int) -> list[np.ndarray]:
    rng = np.random.default_rng(100 + step)
    return [(rng.normal(size=shape) * 10.0 ** rng.integers(-4, 3)).astype(np.float32) for shape in SHAPES]


def numpy_run(values, steps, rate, beta1=0.9, beta2=0.98, decay=0.9):
    """Kingma & Ba (2015), in the form with the correction inside the rate; then the average."""
    first = second = [0.0] * len(values)
    averages = list(values)
    for count in range(1, steps + 1):
        given = [gradient.astype(np.float64) for gradient in gradients_of(count)]
        first = [beta1 * m + (1 - beta1) * g for m, g in zip(first, given, strict=True)]
        second = [beta2 * v + (1 - beta2) * g * g for v, g in zip(second, given, strict=True)]
        corrected = rate(count) * np.sqrt(1 - beta2**count) / (1 - beta1**count)
        moved = zip(values, first, second, strict=True)
        values = [value - corrected * m / (np.sqrt(v) + 1e-8) for value, m, v in moved]
        share = 1 - min(decay, (1 + count) / (10 + count))
        averages = [a + (v - a) * share for a, v in zip(averages, values, strict=True)]
    return values, averages


@pytest.mark.parametrize("start_share", [0.0, 0.3])
def test_updates_and_averages_are_those_of_the_formula(start_share):
    variables, adam = make(start_share=start_share)
    start = [variable.numpy().astype(np.float64) for variable in variables]
    rate = lambda count: 0.01 / count  # noqa: E731
    for count in range(1, 41):
        adam.apply([tf.constant(gradient) for gradient in gradients_of(count)], tf.constant(rate(count)))
    values, averages = numpy_run(start, 40, rate)
    for variable, value in zip(variables, values, strict=True):
        np.testing.assert_allclose(variable.numpy(), value, rtol=1e-6, atol=1e-6)
    for average, first, value in zip(adam.averages().values(), start, averages, strict=True):
        kept = start_share * first + (1 - start_share) * value
        np.testing.assert_allclose(average, kept, rtol=1e-6, atol=2e-6)
    assert int(adam.updates) == 40


def test_new_rows_keep_nothing_of_the_start():
    """What a symbol or language begins with that the start did not know is not worth keeping."""
    variables, _ = make()
    adam = Adam(variables, 0.9, 0.98, 0.0, 0.3, {variables[0].path: [1], variables[1].path: [4]})
    start = [variable.numpy() for variable in variables]
    adam.apply([tf.constant(gradient) for gradient in gradients_of(1)], tf.constant(0.1))
    for average, first, variable in zip(adam.averages().values(), start, variables, strict=True):
        kept = np.full(first.shape, 0.3, np.float32)
        if first.shape == (3, 4):
            kept[1] = 0.0
        if first.shape == (5,):
            kept[4] = 0.0
        now = variable.numpy() + kept * (first - variable.numpy())
        np.testing.assert_allclose(average, now, rtol=1e-6, atol=1e-6)


def test_within_averaged_the_model_has_the_averages_and_afterwards_its_own_bits():
    variables, adam = make()
    adam.apply([tf.constant(gradient) for gradient in gradients_of(1)], tf.constant(0.1))
    own = [variable.numpy().tobytes() for variable in variables]
    with contextlib.suppress(KeyboardInterrupt), adam.averaged():
        for variable, average in zip(variables, adam.averages().values(), strict=True):
            assert variable.numpy().tobytes() == average.tobytes()
        assert [variable.numpy().tobytes() for variable in variables] != own
        raise KeyboardInterrupt
    assert [variable.numpy().tobytes() for variable in variables] == own


@pytest.mark.parametrize("start_share", [0.0, 0.5])
def test_a_restored_state_goes_on_bit_for_bit(start_share):
    (ours, adam), (theirs, other) = make(start_share=start_share), make(seed=5, start_share=start_share)
    for step in range(3):
        adam.apply([tf.constant(gradient) for gradient in gradients_of(step)], tf.constant(0.1))
    other.restore(adam.state(), adam.averages())
    for mine, yours in zip(ours, theirs, strict=True):
        yours.assign(mine)
    for each in (adam, other):
        each.apply([tf.constant(gradient) for gradient in gradients_of(9)], tf.constant(0.1))
    for mine, yours in zip(ours, theirs, strict=True):
        assert mine.numpy().tobytes() == yours.numpy().tobytes()
    for path, average in adam.averages().items():
        assert other.averages()[path].tobytes() == average.tobytes()


@pytest.mark.parametrize("spoil", ["missing", "extra", "average"])
def test_a_state_of_another_model_is_refused(spoil):
    _, adam = make()
    state, averages = adam.state(), adam.averages()
    if spoil == "missing":
        state.pop("second/v1")
    elif spoil == "extra":
        state["first/v9"] = np.zeros(3)
    else:
        averages.pop("v0")
    with pytest.raises(CheckpointError, match=r"does not fit the model \((second/v1|first/v9|v0)\).*--reset"):
        adam.restore(state, averages)
