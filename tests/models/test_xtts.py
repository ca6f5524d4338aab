"""The whole model: gradients reach what they should, padding and weight 0 change nothing, seeds decide, it learns."""

import numpy as np
import pytest
import tensorflow as tf
from small_models import describe, make_batch, make_model

from myxtts.features.mel import LOG_FLOOR
from myxtts.models.voice import Voice
from myxtts.models.xtts import XTTS

SEED, STEP = tf.constant([5, 6]), tf.constant(3, tf.int64)
PARTS = ("text_encoder", "reference_encoder", "duration_predictor", "pitch_predictor", "decoder")
# Which parts each loss term is meant to train, and no others.
TRAINS = {
    "mel": {"text_encoder", "reference_encoder", "decoder"},
    "prior": {"text_encoder", "reference_encoder"},
    "duration": {"reference_encoder", "duration_predictor"},
    "pitch": {"reference_encoder", "pitch_predictor"},
    "voicing": {"reference_encoder", "pitch_predictor"},
}


def gradients(model: XTTS, batch: dict, term: str | None = None) -> dict[str, np.ndarray]:
    variables = {variable.path: variable.value for variable in model.trainable_variables}
    with tf.GradientTape() as tape:
        losses, _ = model.losses_of(batch, SEED, STEP)
        loss = losses[term] if term else tf.add_n(list(losses.values()))
    gradients = tape.gradient(loss, variables, unconnected_gradients="zero")
    return {path: np.asarray(gradient) for path, gradient in gradients.items()}


def norm(arrays) -> float:
    return float(np.sqrt(sum(np.square(array.astype(np.float64)).sum() for array in arrays)))


@pytest.mark.parametrize("term", TRAINS)
def test_each_loss_term_trains_the_parts_it_is_meant_to(model, term):
    by_part = gradients(model, make_batch(), term)
    norms = {part: norm(by_part[path] for path in by_part if path.startswith(f"xtts/{part}/")) for part in PARTS}
    assert {part for part, size in norms.items() if size > 1e-4} == TRAINS[term], norms
    assert {part for part, size in norms.items() if size > 0} == TRAINS[term], norms


def test_every_variable_gets_a_gradient(model):
    still = [path for path, gradient in gradients(model, make_batch()).items() if norm([gradient]) < 1e-7]
    assert not still


def test_a_reference_of_the_clip_itself_trains_the_reference_encoder_too(model):
    batch = {name: value for name, value in make_batch().items() if not name.startswith("reference")}
    by_part = gradients(model, batch, "mel")
    assert norm(by_part[path] for path in by_part if "reference_encoder" in path) > 1e-4


def test_rows_of_weight_0_contribute_nothing(model):
    batch, other = make_batch(), make_batch()
    stranger = make_batch(seed=9)
    for each in (batch, other):
        each["weight"] = np.array([1, 0, 1], np.float32)
    for name in set(batch) - {"weight"}:
        other[name][1] = stranger[name][1]
    losses, changed = (model.losses_of(each, SEED, STEP)[0] for each in (batch, other))
    for name in losses:
        np.testing.assert_allclose(losses[name], changed[name], rtol=1e-6)
    changes = gradients(model, other)
    for path, gradient in gradients(model, batch).items():
        np.testing.assert_allclose(changes[path], gradient, atol=1e-6, err_msg=path)
    for name, value in model.validation_of(batch).items():
        np.testing.assert_allclose(model.validation_of(other)[name], value, rtol=1e-6)


def test_a_batch_without_any_weight_has_loss_0(model):
    losses, _ = model.losses_of(make_batch() | {"weight": np.zeros(3, np.float32)}, SEED, STEP)
    assert {float(loss) for loss in losses.values()} == {0.0}


@pytest.mark.parametrize("frames", [40, 41])
def test_padding_changes_nothing(model, frames):
    alone = make_batch(1, frames, 9, 21)
    padded = dict(alone)
    for name, more, value in (("mel", 23, LOG_FLOOR), ("reference", 8, LOG_FLOOR), ("tokens", 6, 0)):
        sides = [(0, 0), (0, more), (0, 0)][: alone[name].ndim]
        padded[name] = np.pad(alone[name], sides, constant_values=value)
    expected, measured = model.validation_of(alone), model.validation_of(padded)
    for name, value in expected.items():
        np.testing.assert_allclose(measured[name], value, rtol=1e-4, err_msg=name)


def test_the_seed_decides_everything(model):
    batch = make_batch(frames=160)
    first, again, other = (model.losses_of(batch, tf.constant([5, n]), STEP)[0] for n in (1, 1, 2))
    for name in first:
        assert float(first[name]) == float(again[name]), name
    assert all(float(first[name]) != float(other[name]) for name in ("mel", "prior", "duration", "pitch"))


def test_outputs_fit_the_batch(model):
    batch = make_batch()
    _, outputs = model.losses_of(batch, SEED, STEP)
    durations, alignment = outputs["durations"].numpy(), outputs["alignment"].numpy()
    np.testing.assert_array_equal(durations.sum(1), batch["frame_lengths"])
    for row, frames in enumerate(batch["frame_lengths"]):
        np.testing.assert_array_equal(alignment[row, :frames], np.repeat(np.arange(10), durations[row]))
    assert float(outputs["true_frames"]) == batch["frame_lengths"].sum()


def test_calibration_mends_the_ratio():
    model, batch = make_model(), make_batch()
    before = float(model.validation_of(batch)["duration_ratio"])
    model.duration_scale.assign(1 / before)
    np.testing.assert_allclose(model.validation_of(batch)["duration_ratio"], 1, rtol=1e-5)


@pytest.mark.parametrize(("size", "low", "high"), [("tiny", 2.7, 4), ("small", 18, 22), ("normal", 65, 75)])
def test_sizes(size, low, high):
    model = XTTS(describe(size=size))
    millions = sum(int(np.prod(variable.shape)) for variable in model.trainable_variables) / 1e6
    assert low <= millions <= high


@pytest.mark.slow
def test_it_learns_a_batch_by_heart():
    """Each token has its own frame: what a model that aligns, measures and decodes must find out."""
    model, batch = make_model(), make_batch(4, 64, 8)
    rng = np.random.default_rng(1)
    book = rng.normal(-5, 2, (30, 80)).astype(np.float32)
    for row in range(4):
        frames, tokens = batch["frame_lengths"][row], batch["token_lengths"][row]
        cuts = np.sort(rng.choice(np.arange(1, frames), tokens - 1, replace=False))
        batch["mel"][row, :frames] = np.repeat(book[batch["tokens"][row, :tokens]], np.diff([0, *cuts, frames]), 0)
    batch = {name: tf.constant(value) for name, value in batch.items()}
    variables = [variable.value for variable in model.trainable_variables]
    optimiser = tf.keras.optimizers.Adam(2e-3)
    optimiser.build(variables)

    @tf.function(autograph=False)
    def train(step):
        with tf.GradientTape() as tape:
            losses, outputs = model.losses_of(batch, tf.stack([1, tf.cast(step, tf.int32)]), step)
            loss = tf.add_n(list(losses.values()))
        optimiser.apply(tape.gradient(loss, variables), variables)
        return losses

    history = [train(tf.constant(step, tf.int64)) for step in range(60)]
    start, end = ({name: np.mean([float(h[name]) for h in part]) for name in part[0]}
                  for part in (history[:3], history[-3:]))  # fmt: skip
    for name in ("mel", "prior", "duration"):
        assert end[name] < 0.5 * start[name], (name, start, end)


# ---------------------------------------------------------------------------------------------------- speaking


def say(model, tokens=7, **options):
    text = np.arange(1, 2 * tokens + 1, dtype=np.int32).reshape(2, tokens) % 30
    lengths = np.array([tokens, tokens - 2], np.int32)
    voice = options.pop("voice", None) or speaker(model, 0)
    return model.synthesize(text, lengths, np.zeros(2, np.int32), voice, **options)


def speaker(model, seed):
    clips = np.random.default_rng(seed).normal(-5 + seed, 2, (2, 30, 80)).astype(np.float32)
    return model.voice(clips, np.array([30, 20], np.int32))


def test_speech_fits_its_lengths(model):
    mel, lengths, durations = (tensor.numpy() for tensor in say(model))
    assert mel.shape == (2, lengths.max() + lengths.max() % 2, 80)
    np.testing.assert_array_equal(durations.sum(1), lengths)
    assert (durations[0] >= 1).all()
    assert (durations[1, -2:] == 0).all()
    assert np.isfinite(mel).all()
    np.testing.assert_allclose(mel[1, lengths[1] :], LOG_FLOOR)


def test_another_reference_is_another_voice(model):
    one, other = (say(model, voice=speaker(model, seed))[0].numpy() for seed in (0, 3))
    frames = min(one.shape[1], other.shape[1])
    assert np.abs(one[:, :frames] - other[:, :frames]).mean() > 1e-3


def test_several_clips_are_averaged(model):
    clips = np.random.default_rng(0).normal(-5, 2, (2, 30, 80)).astype(np.float32)
    lengths = np.array([30, 20], np.int32)
    together = model.voice(clips, lengths)
    apart = [model.voice(clips[n : n + 1], lengths[n : n + 1]) for n in range(2)]
    vector, tokens = (sum(getattr(one, name) for one in apart) / 2 for name in ("vector", "tokens"))
    np.testing.assert_allclose(together.vector[:, :-1], vector[:, :-1], atol=1e-5)  # the last one is the pitch
    np.testing.assert_allclose(together.tokens, tokens, atol=1e-5)


def test_twice_the_speed_is_half_the_frames(model):
    slow, fast = (say(model, tokens=20, speed=speed)[1].numpy() for speed in (0.5, 1.0))
    np.testing.assert_allclose(slow / fast, 2, rtol=0.05)


def test_one_trace_speaks_texts_of_any_length(model):
    spec = [tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int32)]
    spec += [tf.TensorSpec([1, 128]), tf.TensorSpec([1, 8, 128]), tf.TensorSpec([])]

    @tf.function(input_signature=spec, autograph=False)
    def speak(tokens, lengths, language, vector, latent, speed):
        return model.synthesize(tokens, lengths, language, Voice(vector, latent), speed)

    voice = speaker(model, 0)
    for rows, tokens in ((1, 1), (2, 6), (1, 40)):
        text = np.full((rows, tokens), 4, np.int32)
        given = text, np.full(rows, tokens, np.int32), np.zeros(rows, np.int32)
        traced = speak(*given, voice.vector, voice.tokens, 1.0)
        eager = model.synthesize(*given, voice, 1.0)
        for one, other in zip(traced, eager, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-3)


def test_frames_of_a_piece_are_those_of_the_whole(model):
    batch = make_batch(2, 200, 30)
    whole = model.copy(batch, tf.tile(tf.range(200)[None], [2, 1]))
    starts = tf.constant([[0], [90]])
    piece = model.copy(batch, starts + tf.range(40)[None])
    np.testing.assert_allclose(piece[0], whole[0, :40], atol=2e-3)
    np.testing.assert_allclose(piece[1], whole[1, 90:130], atol=2e-3)


def test_a_reference_of_another_pitch_raises_the_voice_by_as_much():
    """Whatever the weights: nobody in the training need have had that pitch."""
    model, batch = make_model(), make_batch()
    voice = model.voice(batch["reference"], batch["reference_lengths"])
    higher = Voice(tf.concat([voice.vector[:, :-1], voice.vector[:, -1:] + 0.5], axis=-1), voice.tokens)
    piece = {
        "hidden": tf.zeros([1, 8, 192]),
        "place": tf.zeros([1, 8, 3]),
        "inside": tf.ones([1, 8, 1]),
    }
    for block in model.pitch_predictor.blocks:  # so that only what is added is seen
        block.norm.from_voice.kernel.assign(tf.zeros_like(block.norm.from_voice.kernel))
    low, high = (model._predict_pitch(piece | {"voice": each})[0] for each in (voice, higher))
    np.testing.assert_allclose(high - low, 0.5, atol=1e-5)


def test_a_model_of_before_keeps_the_pitch_that_it_learnt():
    model, batch = make_model(follows_pitch=False), make_batch()
    vector = model.voice(batch["reference"], batch["reference_lengths"]).vector
    normal = (batch["reference"] - np.float32(-5.0)) / np.float32(2.0)
    own = model.reference_encoder(normal, batch["reference_lengths"]).vector
    np.testing.assert_allclose(vector[0], np.mean(own, axis=0), atol=1e-5)
    shown = (tf.zeros([1, 8, 192]), tf.zeros([1, 8, 3]), tf.ones([1, 8, 1]), Voice(vector, None))
    piece = dict(zip(("hidden", "place", "inside", "voice"), shown, strict=True))
    np.testing.assert_array_equal(model._predict_pitch(piece)[0], model.pitch_predictor(*shown)[0])


def test_clips_without_a_pitch_do_not_bend_that_of_the_others():
    model, batch = make_model(), make_batch()
    silence = np.full_like(batch["reference"], LOG_FLOOR)
    alone = model.voice(batch["reference"], batch["reference_lengths"])
    beside = model.voice(np.concatenate([batch["reference"], silence]), np.tile(batch["reference_lengths"], 2))
    assert float(beside.vector[0, -1]) == pytest.approx(float(alone.vector[0, -1]), abs=1e-5)
