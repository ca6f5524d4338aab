"""From a cache to feeds: what is held back, and which settings count."""

import json

import numpy as np
import pytest
from corpora import write_corpus
from small_data import pack_voice, small_config

from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.config.config import XTTSConfig
from myxtts.corpus.read import open_corpus
from myxtts.errors import CacheDamaged, CacheMismatch, TrainingError
from myxtts.features.audio import AudioSettings
from myxtts.features.text import TextFrontend
from myxtts.training.setup import describe_model, mel_statistics, precision_for
from myxtts.training.start import feeds_for
from myxtts.training.voice import voice_of_feed


def texts_of(feed) -> set[str]:
    cache = feed.caches[0]
    return {cache.text(int(row)) for table in feed.tables for row in table.members}


def test_no_sentence_is_on_both_sides(voice_cache):
    train, val = feeds_for(small_config(), voice_cache, None)
    rows = [np.sort(np.concatenate([table.members for table in feed.tables])) for feed in (train, val)]
    assert np.array_equal(np.sort(np.concatenate(rows)), np.arange(40))
    assert len(rows[1]) >= 8
    assert not texts_of(train) & texts_of(val)


def test_references_of_training_are_not_taken_from_what_is_held_back(voice_cache):
    train, val = feeds_for(small_config(), voice_cache, None)
    held = set(val.tables[0].members.tolist())
    for step in range(2 * train.steps_per_epoch):
        utterances = train.order.batch(step).utterances
        assert not held & set(train.references.pick(utterances, step)[0].tolist())


def test_a_corpus_too_small_to_split_trains_without_validation(tmp_path, caplog):
    train, val = feeds_for(small_config(), pack_voice(tmp_path, 10), None)
    assert val is None
    assert sum(len(table.members) for table in train.tables) == 10
    assert "found 10 utterances" in caplog.text


def test_too_long_utterances_are_left_out_of_both_sides(voice_cache):
    frames = Cache(voice_cache).columns["n_frames"]
    most = int(np.median(frames))
    for feed in feeds_for(small_config({"max_mel_frames": most}), voice_cache, None):
        assert frames[np.concatenate([table.members for table in feed.tables])].max() <= most


def test_validation_has_few_shapes_and_numbers_of_training(voice_cache, tmp_path):
    corpus = write_corpus(tmp_path / "other", 16, (0.4, 1.2))
    text = (corpus / "metadata.csv").read_text().replace("speaker0", "newcomer")
    (corpus / "metadata.csv").write_text(text)
    pack(open_corpus(corpus), tmp_path / "other.cache", PackSettings(AudioSettings(), TextFrontend(kind="characters")))
    train, val = feeds_for(small_config({"num_buckets": 6}), voice_cache, tmp_path / "other.cache")
    assert sum(len(table.members) for table in train.tables) == 40  # nothing has to be held back
    assert len(val.tables[0].shapes) <= 2
    assert val.languages == train.languages
    assert val.speakers == ["speaker0", "speaker1", "newcomer"]
    assert set(val.columns[:, 4].tolist()) == {1, 2}


def test_strange_languages_and_symbols_are_refused(voice_cache, tmp_path):
    corpus = write_corpus(tmp_path / "other", 16, (0.4, 1.2))
    rows = (corpus / "metadata.csv").read_text()
    settings = PackSettings(AudioSettings(), TextFrontend(kind="characters"))
    (corpus / "metadata.csv").write_text(rows.replace("en-us", "de"))
    pack(open_corpus(corpus), tmp_path / "german.cache", settings)
    with pytest.raises(TrainingError, match=r"german\.cache has de, which is not trained on"):
        feeds_for(small_config(), voice_cache, tmp_path / "german.cache")
    (corpus / "metadata.csv").write_text(rows.replace("dog", "dog \U00010400"))
    pack(open_corpus(corpus), tmp_path / "russian.cache", settings)
    with pytest.raises(CacheMismatch, match=r"has symbols that .*--set data\.token_table=.*voice\.cache"):
        feeds_for(small_config(), voice_cache, tmp_path / "russian.cache")


def test_where_the_config_is_silent_the_cache_decides(voice_cache):
    train, val = feeds_for(XTTSConfig(), voice_cache, None)
    assert train.data.text_tokens == val.data.text_tokens == "characters"
    loud = XTTSConfig.from_dict({"data": {"trim_db": 30.0}})
    with pytest.raises(CacheMismatch, match="trim_db"):
        feeds_for(loud, voice_cache, None)


def test_a_model_is_described_by_its_feed(feed, tmp_path):
    description = describe_model(small_config(), feed)
    assert description.token_table == list(feed.caches[0].table.symbols)
    assert description.speakers == ["speaker0", "speaker1"]
    assert description.tokens["kind"] == "characters"
    assert description.reference_frames == feed.data.reference_frames == 32
    description.save(tmp_path)
    assert json.loads((tmp_path / "model.json").read_text())["mel"]["hop_samples"] == 256


def test_statistics_are_those_of_the_packed_mel(feed):
    cache = feed.caches[0]
    everything = np.concatenate([cache.frames(row) for row in range(len(cache))]).astype(np.float64)
    assert mel_statistics(feed) == pytest.approx((everything.mean(), everything.std()))


def test_the_models_own_voice_is_of_one_speaker_and_of_the_shape_that_speaking_wants(feed):
    voice = voice_of_feed(feed, 176)
    assert voice["reference"].shape == (4, 176, 80)
    cache = feed.caches[0]
    speaker = [row for row in range(len(cache)) if cache.columns["speaker"][row] == 0]
    longest = sorted((int(cache.columns["n_frames"][row]) for row in speaker), reverse=True)[:4]
    assert voice["lengths"].tolist() == longest


def test_precision_is_what_is_asked_for():
    for precision in ("float32", "bfloat16", "float16"):
        assert precision_for(small_config(precision=precision)) == precision
    assert precision_for(small_config(precision="auto")) in ("float32", "bfloat16")


def test_a_wholly_damaged_cache_is_said(own_cache):
    from small_data import write_nan

    from myxtts.data.pipeline import Feed

    write_nan(own_cache)
    with pytest.raises(CacheDamaged, match="myxtts verify"):
        mel_statistics(Feed(Cache(own_cache), small_config()))
