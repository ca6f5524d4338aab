"""A run that starts from another model speaks as that one does, in its symbols and languages and in new ones."""

from dataclasses import replace

import numpy as np
import pytest
from small_data import small_config
from small_run import SMALL

from myxtts.cache.reader import Cache
from myxtts.config.config import XTTSConfig
from myxtts.data.pipeline import Feed
from myxtts.errors import CheckpointError, ConfigError
from myxtts.features.mel import HOP_SAMPLES, SAMPLE_RATE
from myxtts.inference.script import Script
from myxtts.models import weights
from myxtts.models.description import ModelDescription
from myxtts.models.sizes import SIZES
from myxtts.models.xtts import XTTS
from myxtts.training.resume import with_settings_of
from myxtts.training.setup import build_model
from myxtts.training.start import start_training
from myxtts.training.start_from import for_fine_tuning, joined, new_rows_of, settle_start, take_over
from myxtts.training.step import Step


@pytest.fixture(autouse=True)
def small_model(monkeypatch):
    monkeypatch.setitem(SIZES, "tiny", SMALL)


def description(symbols: str, languages: list[str]) -> ModelDescription:
    return ModelDescription(token_table=list(symbols), learnt=list(symbols), languages=languages, reference_frames=40)


@pytest.fixture
def start(tmp_path):
    folder = tmp_path / "start"
    folder.mkdir()
    one = description("_abc", ["en", "de"])
    one.save(folder)
    weights.save(folder / "weights.safetensors", weights.weights_of(XTTS(one)))
    return folder


def test_symbols_and_languages_keep_what_they_mean(start):
    both = joined(description("_bad", ["fa", "de", "en-gb"]), ModelDescription.load(start))
    assert "".join(both.token_table) == "_badc"
    assert both.languages == ["en", "de", "fa", "en-gb"]
    assert both.reference_frames == 40
    model = XTTS(both)
    take_over(model, str(start))
    old, new = weights.load(start / "weights.safetensors"), weights.weights_of(model)
    symbols, languages = (getattr(model.text_encoder, name).path for name in ("symbols", "languages"))
    for name, before, after in (("_", 0, 0), ("b", 2, 1), ("a", 1, 2), ("c", 3, 4)):
        np.testing.assert_array_equal(new[symbols][after], old[symbols][before], err_msg=name)
    np.testing.assert_allclose(new[symbols][3], old[symbols].mean(axis=0), atol=1e-6)  # d
    np.testing.assert_array_equal(new[languages][:2], old[languages])
    np.testing.assert_allclose(new[languages][2], old[languages].mean(axis=0), atol=1e-6)  # fa
    np.testing.assert_array_equal(new[languages][3], old[languages][0])  # en-gb begins as en
    assert new_rows_of(model) == {symbols: [3], languages: [2]}  # of which nothing can be kept
    for name in new.keys() - {symbols, languages}:
        np.testing.assert_array_equal(new[name], old[name], err_msg=name)


def test_the_config_starts_a_model_from_another(voice_cache, start):
    feed = Feed(Cache(voice_cache), small_config())
    config = small_config(start_from=str(start))
    model = build_model(config, feed)
    assert {"en", "de"} <= set(model.description.languages)
    assert model.description.token_table[: len(feed.token_tables[0])] == list(feed.token_tables[0].symbols)
    old, new = weights.load(start / "weights.safetensors"), weights.weights_of(model)
    path = model.decoder.leave.kernel.path
    np.testing.assert_array_equal(new[path], old[path])


def test_whom_a_start_asks_to_name_is_said_and_kept(voice_cache, start, caplog):
    """By a run that starts from a run that started from it too: a description is what is passed on."""
    named = ["the voice of one (Apache-2.0)", "recordings of two (CC-BY 3.0)"]
    old = ModelDescription.load(start)
    replace(old, attribution=named).save(start)
    config = small_config(start_from=str(start))
    with caplog.at_level("INFO"):
        model = build_model(config, Feed(Cache(voice_cache), config))
    assert "name it where you publish the voice: the voice of one (Apache-2.0); recordings of two" in caplog.text
    assert model.description.attribution == named
    assert joined(description("_a", ["en"]), model.description).attribution == named
    assert joined(description("_a", ["en"]), old).attribution == []


def test_another_size_is_refused_and_the_rate_is_lower(start, voice_cache):
    config, cache = small_config(), Cache(voice_cache)
    assert for_fine_tuning(small_config(), str(start), cache).model.size == "tiny"
    config.model.give({"size": "small"}, "--model-size")
    with pytest.raises(ConfigError, match="model.size is small .--model-size., but .* is 'tiny'"):
        for_fine_tuning(config, str(start), cache)


@pytest.mark.parametrize(
    ("languages", "kind", "share"), [("the data's", "the data's", 0.4), (["fa"], "the data's", 0.4),
                                     (["en-gb"], "the data's", 0.4),
                                     ("the data's", "phonemes", 0.0)]
)  # fmt: skip
def test_a_part_of_a_start_stays_that_reads_the_same_symbols(start, voice_cache, languages, kind, share):
    """What is known can be forgotten, also where a language is added; other symbols leave nothing to keep."""
    cache, config, known = Cache(voice_cache), XTTSConfig(), ModelDescription.load(start)
    known.languages = ["de", *cache.languages] if languages == "the data's" else languages
    known.main_language = known.languages[0]
    known.tokens = cache.body["settings"]["tokens"] | ({} if kind == "the data's" else {"kind": kind})
    known.save(start)
    settled = for_fine_tuning(config, str(start), cache).training
    assert settled.learning_rate < config.training.learning_rate
    assert settled.start_share == share
    config.training.give({"start_share": 0.1}, "--set")
    assert for_fine_tuning(config, str(start), cache).training.start_share == 0.1


@pytest.fixture
def phonemes(voice_cache) -> Cache:
    """The clips, as if their texts had been packed as the base voice reads them."""
    cache = Cache(voice_cache)
    cache.body["settings"]["tokens"]["kind"] = "phonemes"
    return cache


@pytest.mark.parametrize(("hours", "base", "said"), [
    (1.9, "base", "1.9 h of speech are little: starting from the base"),
    (2.1, None, "2.1 h of speech: this voice begins from nothing (--from base starts from the base"),
])  # fmt: skip
def test_less_than_two_hours_start_from_the_base_and_that_is_said(phonemes, caplog, hours, base, said):
    frames = phonemes.columns["n_frames"]
    longer = {**phonemes.columns, "n_frames": frames * (hours * 3600 * SAMPLE_RATE / HOP_SAMPLES / frames.sum())}
    phonemes.columns = longer
    with caplog.at_level("INFO"):
        settled = settle_start(XTTSConfig(), phonemes)
    assert settled.training.start_from == base
    assert said in caplog.text


def test_who_wants_to_begin_from_nothing_is_told_nothing(phonemes, caplog):
    config = XTTSConfig()
    config.training.give({"start_from": "scratch"}, "--from")
    with caplog.at_level("INFO"):
        assert settle_start(config, phonemes) is config
    assert caplog.text == ""


def test_another_size_than_the_bases_begins_from_nothing_and_that_is_said(phonemes, caplog):
    config = XTTSConfig()
    config.model.give({"size": "small"}, "--model-size")
    assert settle_start(config, phonemes).training.start_from is None
    assert "begins from nothing, because model.size is small (--model-size)" in caplog.text
    assert "leave the size out" in caplog.text


@pytest.mark.parametrize("installed", [True, False])
def test_characters_begin_from_nothing_and_that_is_said(voice_cache, caplog, monkeypatch, installed):
    monkeypatch.setattr("myxtts.features.espeak.is_installed", lambda: installed)
    monkeypatch.setattr("myxtts.features.voices.version_of_lists", lambda: None)
    assert settle_start(XTTSConfig(), Cache(voice_cache)).training.start_from is None
    assert "its texts are characters and the base voice reads phonemes" in caplog.text
    assert "pack with data.text_tokens=phonemes" in caplog.text
    assert ("run pip install" in caplog.text) != installed


def test_a_start_that_reads_something_else_is_said_to(voice_cache, caplog):
    config = XTTSConfig()
    config.training.give({"start_from": "base"}, "--from")
    assert settle_start(config, Cache(voice_cache)).training.start_share == 0
    assert "base reads phonemes and these texts are characters" in caplog.text
    assert "pack with data.text_tokens=phonemes" in caplog.text


@pytest.mark.parametrize("start", [None, "scratch"])
def test_a_share_of_nothing_is_refused(start, voice_cache):
    config = small_config(start_share=0.3, start_from=start)
    model = build_model(config, Feed(Cache(voice_cache), config))
    with pytest.raises(ConfigError, match="start_share is 0.3, but there is nothing that it starts from"):
        Step(model, config.training, 10)


@pytest.mark.parametrize(("learning_rate", "start_share"), [(2e-4, 0.0), (5e-4, 0.2)])
def test_a_resumed_run_keeps_what_it_was_started_with(
    start, voice_cache, tmp_path, monkeypatch, learning_rate, start_share
):
    """What suits a start is for what nobody has settled yet."""
    run, trained_with = tmp_path / "run", []
    begun = small_config(start_from=str(start), learning_rate=learning_rate, start_share=start_share)
    (run / "checkpoints" / "step-1").mkdir(parents=True)
    begun.to_yaml(run / "config.yaml")
    monkeypatch.setattr("myxtts.training.start.XTTSTrainer", lambda config, *_, **__: trained_with.append(config))
    with pytest.raises(AttributeError):  # nobody trains
        start_training(with_settings_of(run, XTTSConfig()), voice_cache, None, run)
    (resumed,) = trained_with
    assert (resumed.training.learning_rate, resumed.training.start_share) == (learning_rate, start_share)


def begun(run, start):
    (run / "checkpoints" / "step-1").mkdir(parents=True)
    config = small_config() if start is None else small_config(start_from=str(start))
    config.to_yaml(run / "config.yaml")
    return run


@pytest.mark.parametrize(("own", "given", "said"), [
    ("start", "scratch", "started from .*start, and is resumed: leave --from scratch out"),
    (None, "start", "began from nothing, and is resumed: leave --from .*start out"),
])  # fmt: skip
def test_a_resumed_run_cannot_begin_otherwise(start, voice_cache, tmp_path, own, given, said):
    run = begun(tmp_path / "run", own and start)
    config = XTTSConfig()
    config.training.give({"start_from": str(start) if given == "start" else given}, "--from")
    with pytest.raises(ConfigError, match=said):
        start_training(with_settings_of(run, config), voice_cache, None, run)


def test_a_run_whose_start_is_gone_says_so(start, voice_cache, tmp_path):
    run = begun(tmp_path / "run", start)
    start.rename(tmp_path / "elsewhere")
    with pytest.raises(CheckpointError, match="run cannot be resumed without what it started from: .*put it back"):
        start_training(with_settings_of(run, XTTSConfig()), voice_cache, None, run)


def test_a_run_from_nothing_is_not_started_from_the_base_when_it_is_resumed(phonemes):
    assert settle_start(XTTSConfig(), phonemes).training.start_from == "base"
    assert settle_start(XTTSConfig(), phonemes, None, begins=False).training.start_from is None


def test_nothing_of_new_rows_is_kept(start, voice_cache):
    """They were never learnt: what is spoken has all that the training made of them."""
    config = small_config(start_from=str(start), start_share=0.4)
    model = build_model(config, Feed(Cache(voice_cache), config))
    optimiser = Step(model, config.training, 10).optimiser
    shares = dict(zip(optimiser.paths, optimiser.shares, strict=True))
    for path, rows in new_rows_of(model).items():
        share = np.asarray(shares[path]).ravel()
        assert not share[list(rows)].any()
        assert np.allclose(np.delete(share, rows), 0.4)
    assert any(len(rows) for rows in new_rows_of(model).values())


def test_a_voice_speaks_the_language_of_its_recordings_where_none_is_asked_for(start, voice_cache):
    """Not the first language of what it was started from."""
    both = joined(description("_bad", ["fa", "de"]), ModelDescription.load(start))
    assert both.languages[0] == "en"
    assert both.main_language == "fa"
    feed = Feed(Cache(voice_cache), small_config())
    made = build_model(small_config(start_from=str(start)), feed).description
    assert made.languages[0] == "en"
    assert made.languages[Script(made).language(None)] == feed.main_language == "en-us"
