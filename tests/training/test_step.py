"""One step of the real model, made small: what it changes, what it must not, and that parts add up to the whole."""

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from small_models import describe, make_batch, make_model
from small_run import SMALL
from stand_in import StandInModel

from myxtts.config.config import TrainingConfig
from myxtts.models import sizes, weights
from myxtts.models.xtts import LOSS_WEIGHTS
from myxtts.monitor import start_monitor
from myxtts.training.step import Step

STILL = replace(SMALL, encoder_dropout=0.0, duration_dropout=0.0)
LATE = 1000  # the aligner no longer leans towards the diagonal, so that what a step does does not depend on its number


@pytest.fixture(autouse=True)
def small_model(monkeypatch):
    monkeypatch.setitem(sizes.SIZES, "tiny", STILL)


def make_step(precision="float32", model=None, **training) -> Step:
    settings = {"enable_graph_mode": False, "schedule": "constant", "warmup_steps": 0} | training
    return Step(model or make_model(precision), TrainingConfig(**settings), 100)


def plain_step(**training) -> Step:
    return make_step(model=StandInModel(describe()), **training)


def tensors(batch: dict, rows=slice(None)) -> dict:
    return {name: tf.constant(part[rows]) for name, part in batch.items()}


def even_batch(rows: int = 4) -> dict:
    """Rows of one length: only then is the mean over a batch the mean of the means over its halves."""
    batch = make_batch(rows, 40, 10)
    for name, length in (("frame_lengths", 40), ("token_lengths", 10), ("reference_lengths", 22)):
        batch[name][:] = length
    return batch


def everything(step: Step) -> dict[str, bytes]:
    """All bits that training may change."""
    kept = weights.weights_of(step.model) | step.state()
    averages = {f"average/{name}": value for name, value in step.optimiser.averages().items()}
    return {name: np.asarray(value).tobytes() for name, value in (kept | averages).items()}


def moments(step: Step) -> dict[str, np.ndarray]:
    return {name: value for name, value in step.state().items() if name.startswith("first/")}


def assert_same_moments(ours: Step, theirs: Step) -> None:
    largest = max(float(np.abs(value).max()) for value in moments(theirs).values())
    for name, value in moments(theirs).items():
        np.testing.assert_allclose(moments(ours)[name], value, rtol=1e-3, atol=1e-5 * largest, err_msg=name)


# ---- parts and wholes ------------------------------------------------------------------------------------------------


def test_two_accumulated_halves_are_one_update_of_the_whole():
    batch, whole, halves = even_batch(), make_step(), make_step(gradient_accumulation_steps=2)
    before = weights.weights_of(halves.model)
    whole.run(tensors(batch), LATE + 1)
    halves.run(tensors(batch, slice(0, 2)), LATE)
    assert all(np.array_equal(value, before[name]) for name, value in weights.weights_of(halves.model).items())
    halves.run(tensors(batch, slice(2, 4)), LATE + 1)
    assert_same_moments(halves, whole)
    assert halves.state()["updates"] == whole.state()["updates"] == 1


def test_an_accumulation_is_kept_by_a_checkpoint_in_its_middle():
    batch, straight, other = even_batch(), *(plain_step(gradient_accumulation_steps=2) for _ in range(2))
    straight.run(tensors(batch, slice(0, 2)), LATE)
    other.restore(straight.state(), straight.optimiser.averages())
    for step in (straight, other):
        step.run(tensors(batch, slice(2, 4)), LATE + 1)
    assert everything(straight) == everything(other)
    straight.restore(other.state(), other.optimiser.averages())  # and a whole one leaves nothing over
    assert everything(straight) == everything(other)


def test_micro_batches_give_the_gradient_of_the_whole_batch():
    whole, cut = make_step(), make_step()
    cut.micro_batches = 2
    numbers = [step.run(tensors(even_batch()), LATE) for step in (whole, cut)]
    assert_same_moments(cut, whole)
    assert numbers[1] == pytest.approx(numbers[0], rel=1e-4)


@pytest.mark.parametrize(("parts", "filled"), [(2, 5), (2, 2), (3, 5), (4, 1), (16, 4)])
def test_whatever_the_parts_rows_that_only_fill_up_do_not_weaken_the_others(parts, filled):
    batch, whole, cut = even_batch(5), plain_step(), plain_step()
    batch["weight"][filled:] = 0.0
    cut.micro_batches = parts
    numbers = [step.run(tensors(batch), LATE) for step in (whole, cut)]
    assert_same_moments(cut, whole)
    assert numbers[1] == pytest.approx(numbers[0], rel=1e-4)


# ---- compiled --------------------------------------------------------------------------------------------------------


def test_compiled_once_ahead_it_does_what_it_does_eagerly_and_skips_what_is_not_finite():
    monitor, batch = start_monitor(), make_batch(4, 40, 10)
    eager, compiled = make_step(), make_step(enable_graph_mode=True)
    before = everything(compiled)
    compiled.compile({name: tf.TensorSpec(part.shape, part.dtype) for name, part in batch.items()})
    assert everything(compiled) == before
    assert monitor.counters["step.traces"] == 1
    for step in range(2):
        ours, theirs = compiled.run(tensors(batch), LATE + step), eager.run(tensors(batch), LATE + step)
        assert ours == pytest.approx(theirs, rel=1e-3)
        assert ours["finite"] == 1.0
        terms = LOSS_WEIGHTS.keys() - {"voice", "spoken"}  # which one speaker has not
        assert ours["loss"] == pytest.approx(sum(ours[name] for name in terms), rel=1e-5)
    good = everything(compiled)
    assert good != before
    for value in (np.nan, np.inf):
        spoilt = batch | {"mel": batch["mel"].copy()}
        spoilt["mel"][1, 3, 7] = value
        assert compiled.run(tensors(spoilt), LATE + 2)["finite"] == 0.0
    assert everything(compiled) == good
    assert compiled.run(tensors(batch), LATE + 3)["finite"] == 1.0
    assert everything(compiled) != good
    assert monitor.counters["step.traces"] == 1


@pytest.mark.slow
def test_every_trace_is_counted_whatever_caused_it():
    monitor, compiled = start_monitor(), make_step(enable_graph_mode=True)
    batch = make_batch(2, 16, 4)
    for dtype, traces in ((np.int32, 1), (np.int32, 1), (np.int64, 2), (np.int32, 2)):
        compiled.run(tensors(batch | {"note": np.zeros(2, dtype)}), LATE)
        assert monitor.counters["step.traces"] == traces


def test_gradients_are_clipped_to_the_norm():
    """The first moments are a tenth of the first gradient."""
    norms = {}
    for most in (0.0, 0.01):
        step = make_step(clip_norm=most)
        printed = step.run(tensors(even_batch()), LATE)["grad_norm"]
        norms[most] = 10 * float(np.sqrt(sum(np.square(value).sum() for value in moments(step).values())))
    assert norms[0.0] == pytest.approx(printed, rel=1e-4)
    assert norms[0.01] == pytest.approx(0.01, rel=1e-4)
    assert printed > 0.02


# ---- float16 ---------------------------------------------------------------------------------------------------------


def test_an_overflow_in_float16_halves_the_loss_scale_and_long_luck_doubles_it():
    step = make_step("float16")
    batch, calm = tensors(even_batch()), step.state()
    assert calm["step/loss_scale"] == 2.0**15
    exact = make_step().run(batch, LATE)
    step.restore(calm | {"step/loss_scale": np.float32(2.0**24)}, step.optimiser.averages())
    before = weights.weights_of(step.model)
    assert step.run(batch, LATE)["finite"] == 0.0
    assert step.state()["step/loss_scale"] == 2.0**23
    assert all(np.array_equal(value, before[name]) for name, value in weights.weights_of(step.model).items())
    step.restore(calm | {"step/good_steps": np.int64(1997)}, step.optimiser.averages())
    printed = [step.run(batch, LATE) | {"scale": float(step.state()["step/loss_scale"])} for _ in range(3)]
    assert [(each["finite"], each["scale"]) for each in printed] == [(1.0, 2.0**15), (1.0, 2.0**16), (1.0, 2.0**16)]
    assert printed[0]["grad_norm"] == pytest.approx(exact["grad_norm"], rel=0.05)  # the scale does not show
