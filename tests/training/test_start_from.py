"""A run that starts from another model speaks as that one does, in its symbols and languages and in new ones."""

import numpy as np
import pytest
from small_data import small_config
from small_run import SMALL

from myxtts.cache.reader import Cache
from myxtts.config.config import XTTSConfig
from myxtts.data.pipeline import Feed
from myxtts.errors import ConfigError
from myxtts.models import weights
from myxtts.models.description import ModelDescription
from myxtts.models.sizes import SIZES
from myxtts.models.xtts import XTTS
from myxtts.training.setup import build_model
from myxtts.training.start import check_start_share
from myxtts.training.start_from import for_fine_tuning, joined, take_over


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
    both = joined(description("_bad", ["fa", "de"]), ModelDescription.load(start))
    assert "".join(both.token_table) == "_badc"
    assert both.languages == ["en", "de", "fa"]
    assert both.reference_frames == 40
    model = XTTS(both)
    take_over(model, str(start))
    old, new = weights.load(start / "weights.safetensors"), weights.weights_of(model)
    symbols, languages = (getattr(model.text_encoder, name).path for name in ("symbols", "languages"))
    for name, before, after in (("_", 0, 0), ("b", 2, 1), ("a", 1, 2), ("c", 3, 4)):
        np.testing.assert_array_equal(new[symbols][after], old[symbols][before], err_msg=name)
    np.testing.assert_allclose(new[symbols][3], old[symbols].mean(axis=0), atol=1e-6)  # d
    np.testing.assert_array_equal(new[languages][:2], old[languages])
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


def test_another_size_is_refused_and_the_rate_is_lower(start):
    config = small_config()
    assert for_fine_tuning(small_config(), str(start), ["en"]).model.size == "tiny"
    config.model.give({"size": "small"}, "--model-size")
    with pytest.raises(ConfigError, match="model.size is small .--model-size., but .* is 'tiny'"):
        for_fine_tuning(config, str(start), ["en"])


def test_half_of_a_start_stays_that_knows_the_language(start):
    """What is known can be forgotten; of a language that it does not know nothing can."""
    config = XTTSConfig()
    known, new = (for_fine_tuning(config, str(start), each).training for each in (["de"], ["de", "fa"]))
    assert known.learning_rate == new.learning_rate < config.training.learning_rate
    assert (known.start_share, new.start_share) == (0.5, 0.0)
    config.training.give({"start_share": 0.1}, "--set")
    assert for_fine_tuning(config, str(start), ["de"]).training.start_share == 0.1


@pytest.mark.parametrize(
    ("part", "start", "why"),
    [("voice", "scratch", "there is nothing that it starts from"), ("vocoder", "base", "it is for voices")],
)
def test_a_share_of_nothing_is_refused(part, start, why):
    config = XTTSConfig()
    config.model.give({"part": part}, "--set")
    config.training.give({"start_share": 0.3, "start_from": start}, "--set")
    with pytest.raises(ConfigError, match=f"start_share is 0.3, but {why}"):
        check_start_share(config)
