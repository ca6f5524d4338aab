"""A vocoder is trained by the same trainer, from the same cache; its judges learn with it and are kept with it."""

import numpy as np
import pytest
import tensorflow as tf
from small_data import small_config

from myxtts.errors import ConfigError
from myxtts.features.mel import log_mel
from myxtts.inference.vocoder import find_vocoder
from myxtts.models import vocoder, weights
from myxtts.models.description import find_checkpoint
from myxtts.models.vocoder_description import VocoderDescription
from myxtts.models.vocoder_training import VocoderTraining
from myxtts.training.setup import build_model
from myxtts.training.start import check_variation, feeds_for, for_vocoder, start_training
from myxtts.training.step import Step
from myxtts.training.trainer import XTTSTrainer


@pytest.fixture(autouse=True)
def small_vocoder(monkeypatch):
    monkeypatch.setattr(vocoder, "DIM", 16)
    monkeypatch.setattr(vocoder, "BLOCKS", 1)


def settings(**training):
    config = small_config({"batch_size": 4, "reference_frames": 0}, learning_rate=1e-3, **training)
    config.model.give({"part": "vocoder"}, "the test")
    return config


def one_batch(cache):
    feed, _ = feeds_for(settings(), cache, None, tracks=("audio",))
    return next(iter(feed.dataset())), feed


def changed(before, after, name):
    return [not np.array_equal(before[key], after[key]) for key in before if key.startswith(name)]


def test_the_judges_learn_from_the_start_and_count_later(voice_cache):
    batch, _ = one_batch(voice_cache)
    model = VocoderTraining(VocoderDescription())
    step = Step(model, settings(enable_eager_debug=True).training, 10_000)
    before = weights.weights_of(model)
    first, later = step.run(batch, 0), step.run(batch, 4000)
    after = weights.weights_of(model)
    assert first["finite"]
    assert first["deceived"] == first["features"] == 0
    assert min(first["distance"], first["caught"], later["deceived"], later["features"]) > 0
    assert any(changed(before, after, "vocoder"))
    assert any(changed(before, after, "discriminators"))


def test_frames_in_another_colour_than_their_sound_are_refused():
    with pytest.raises(ConfigError, match="vary_voices is 0.5, but a vocoder"):
        check_variation(settings(vary_voices=0.5))


def test_other_colours_without_a_reference_are_refused():
    config = small_config({"batch_size": 4, "reference_frames": 0}, vary_voices=0.5)
    with pytest.raises(ConfigError, match="vary_voices is 0.5, but without references"):
        check_variation(config)


def test_each_side_is_trained_by_its_own_loss(voice_cache):
    model = VocoderTraining(VocoderDescription(), spectral_steps=0)
    losses = {name: tf.constant(1.0) for name in ("distance", "deceived", "features", "caught")}
    (made, by_vocoder), (caught, by_judges) = model.objectives(losses)
    assert (float(made), float(caught)) == (3.0, 1.0)
    assert {variable.path for variable in by_vocoder}.isdisjoint(variable.path for variable in by_judges)
    assert len(by_vocoder) + len(by_judges) == len(model.trainable_variables)


@pytest.mark.slow
def test_train_resumes_bit_for_bit_and_the_run_is_a_vocoder(voice_cache, tmp_path):
    for run, steps in (("whole", 6), ("parts", 3), ("parts", 6)):
        start_training(settings(steps=steps, schedule="constant"), voice_cache, None, tmp_path / run)
    one, other = (weights.load(find_checkpoint(tmp_path / run) / "weights.safetensors") for run in ("whole", "parts"))
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    mel = log_mel(np.random.default_rng(0).normal(size=5000).astype(np.float32))
    assert find_vocoder(tmp_path / "whole")(mel).shape == (len(mel) * 256,)


def test_a_voices_own_frames_are_used_where_one_is_given(voice_cache, monkeypatch):
    batch, feed = one_batch(voice_cache)
    acoustic = build_model(small_config({"reference_frames": 0}), feed)
    seen = []
    monkeypatch.setattr(acoustic, "copy", lambda clips, at: seen.append(1) or tf.zeros([*at.shape, 80]))
    model = VocoderTraining(VocoderDescription(), acoustic, spectral_steps=0)
    assert model.texts is acoustic.description
    assert not any(variable.path.startswith("xtts") for variable in model.variables)
    Step(model, settings(enable_eager_debug=True).training, 10).run(batch, 0)
    assert seen


def test_what_suits_a_vocoder_gives_way_to_what_was_given():
    config = small_config()
    config.data.give({"batch_size": 3}, "the test")
    made = for_vocoder(config)
    assert made.data.batch_size == 3
    assert made.data.reference_frames == 32  # given by small_config
    assert made.training.beta1 == 0.8


@pytest.mark.slow
def test_the_trainer_says_copies_not_speech(voice_cache, tmp_path):
    config = settings(steps=2, sample_steps=2)
    train, val = feeds_for(config, voice_cache, None, tracks=("audio",))
    XTTSTrainer(config, VocoderTraining(VocoderDescription()), tmp_path / "run").train(train, val)
    assert len(list((tmp_path / "run" / "samples").glob("step-2-*.wav"))) == 2
