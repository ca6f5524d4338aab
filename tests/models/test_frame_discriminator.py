"""The discriminator of frames learns to tell sharp from blurred, trains apart from the voice, and need not be there."""

import numpy as np
import tensorflow as tf
from small_models import make_batch, make_model

from myxtts.models import weights
from myxtts.models.frame_discriminator import FrameDiscriminator
from myxtts.training.optimiser import Adam


def test_it_learns_to_tell_sharp_frames_from_blurred_ones():
    tf.keras.utils.set_random_seed(0)
    judge = FrameDiscriminator()
    judge.build()
    optimiser = Adam(judge.trainable_variables, 0.8, 0.99, 0.9)
    random = np.random.default_rng(0)

    def pair():
        sharp = random.normal(size=(4, 32, 80)).astype(np.float32)
        return sharp, (sharp + np.roll(sharp, 1, -1) + np.roll(sharp, -1, -1)) / 3

    before = float(judge(*pair(), np.ones(4, np.float32)).caught)
    for _ in range(40):
        real, made = pair()
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([variable.value for variable in judge.trainable_variables])
            loss = judge(real, made, np.ones(4, np.float32)).caught
        optimiser.apply(tape.gradient(loss, [variable.value for variable in judge.trainable_variables]), 3e-3)
    verdicts = judge(*pair(), np.ones(4, np.float32))
    assert float(verdicts.caught) < 0.5 * before
    assert float(verdicts.deceived) > 0.5


def test_rows_without_weight_are_not_judged():
    judge = FrameDiscriminator()
    judge.build()
    random = np.random.default_rng(1)
    real, made = random.normal(size=(2, 3, 32, 80)).astype(np.float32)
    one = judge(real[:1], made[:1], np.ones(1, np.float32))
    padded = judge(real, made, np.array([1, 0, 0], np.float32))
    np.testing.assert_allclose(one, padded, rtol=1e-4)


def test_each_side_is_trained_by_its_own_loss():
    model = make_model()
    losses, _ = model.losses_of(make_batch(), tf.constant([5, 6]), tf.constant(1000, tf.int64))
    (spoken, speaking), (caught, judging) = model.objectives(losses)
    assert float(spoken + caught) == np.float32(tf.add_n(list(losses.values())))
    assert {variable.path for variable in speaking}.isdisjoint(variable.path for variable in judging)
    assert len(speaking) + len(judging) == len(model.trainable_variables)


def test_a_model_speaks_with_weights_that_lack_it():
    model, other = make_model(), make_model()
    tensors = {name: value for name, value in weights.weights_of(model).items() if "frame_discriminator" not in name}
    weights.set_weights(other, tensors)
    for name, value in weights.weights_of(other).items():
        if name in tensors:
            np.testing.assert_array_equal(value, tensors[name])
