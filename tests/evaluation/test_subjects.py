"""In whose voice the sentences of a cache are spoken."""

import dataclasses

import numpy as np
import pytest
from corpora import feed_config, write_corpus, write_tone
from small_models import make_model

from myxtts.cache.open import open_cache
from myxtts.cache.pack import pack
from myxtts.cache.settings import PackSettings
from myxtts.cli import main
from myxtts.corpus.read import open_corpus
from myxtts.errors import SpeechError
from myxtts.evaluation.subjects import beside_others, cache_subject
from myxtts.inference.reference import make_reference
from myxtts.inference.synthesizer import Synthesizer


def packed(folder, name: str, utterances: int):
    """Clips of one speaker."""
    corpus = write_corpus(folder / name, utterances)
    listing = corpus / "metadata.csv"
    lines = listing.read_text(encoding="utf-8").replace("speaker1", name).replace("speaker0", name)
    listing.write_text(lines, encoding="utf-8")
    pack(open_corpus(corpus), folder / f"{name}.cache", PackSettings.from_config(feed_config().data))
    return open_cache(folder / f"{name}.cache")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return packed(tmp_path_factory.mktemp("alone"), "anna", 10)


@pytest.fixture
def synthesizer(cache):
    model = make_model(token_table=list(cache.table.symbols))
    own = np.full((60, 80), -4.0, np.float32)
    return Synthesizer(model, make_reference([own], model.description.reference_frames))


def spoken_in(synthesizer, cache, speakers, others, monkeypatch, **named) -> np.ndarray:
    """The vector of the voice that a sentence of the cache is spoken in, by a model that was trained on `speakers`."""
    said = []
    synthesizer.description = dataclasses.replace(synthesizer.description, speakers=speakers)
    monkeypatch.setattr(synthesizer, "say", lambda text, voice, **_: said.append(voice))
    subject = cache_subject(synthesizer, cache, np.arange(3), np.array(others, np.int64), 3, **named)
    subject.speak(subject.sentences[0], "griffin-lim")
    return said[0].vector.numpy()


@pytest.mark.parametrize(
    ("trained_on", "clips", "own"),
    [("the same", 7, True), ("another", 7, False), ("many", 7, False), ("another", 0, True)],
)
def test_a_speaker_the_model_has_not_learnt_is_shown_by_clips(synthesizer, cache, monkeypatch, trained_on, clips, own):
    """The base voice, asked for the sentences of a corpus of one, has to speak like that one, not like itself."""
    speakers = {"the same": cache.speakers, "another": ["somebody"], "many": [*cache.speakers, "somebody"]}[trained_on]
    vector = spoken_in(synthesizer, cache, speakers, range(3, 3 + clips), monkeypatch)
    assert np.array_equal(vector, synthesizer.hear().vector.numpy()) == own


@pytest.mark.parametrize(("name", "own"), [("anna", True), ("speaker", False)])
def test_a_speaker_whom_nobody_named_may_be_another_one(synthesizer, tmp_path, monkeypatch, name, own):
    """A model that was trained on other data speaks as itself only if its speaker is known to be the same."""
    cache = packed(tmp_path, name, 10)
    vector = spoken_in(synthesizer, cache, [name], range(3, 10), monkeypatch, as_itself=False)
    assert np.array_equal(vector, synthesizer.hear().vector.numpy()) == own


def test_all_of_the_sentences_held_back_are_spoken_with_clips_of_what_was_trained_on(synthesizer, cache, tmp_path):
    held_back = packed(tmp_path / "held", "anna", 4)
    subject = cache_subject(synthesizer, held_back, np.arange(4), np.arange(10), 40, clips=cache)
    assert [each.text for each in subject.sentences] == [held_back.text(row) for row in range(4)]
    clips = {cache.samples(row).tobytes() for row in range(10)}
    assert {clip.tobytes() for clip in subject.gallery["anna"]} <= clips


def test_a_lone_speaker_is_set_beside_people_of_a_folder(synthesizer, cache, tmp_path):
    subject = cache_subject(synthesizer, cache, np.arange(3), np.arange(3, 10), 3)
    others = tmp_path / "others"
    write_tone(others / "ben_1.wav", 0.5)
    beside = beside_others(subject, others)
    assert (set(subject.gallery), set(beside.gallery)) == ({"anna"}, {"anna", "ben"})
    write_tone(others / "anna_1.wav", 0.5)
    with pytest.raises(SpeechError, match="has a voice 'anna', as the data has: leave it out"):
        beside_others(subject, others)


def test_others_go_with_data(tmp_path, capsys):
    words = ["evaluate", "--model", "base", "--voices", str(tmp_path), "--others", str(tmp_path)]
    assert main(words) == 2
    assert "--others goes with --data" in capsys.readouterr().err


def test_val_data_of_somebody_else_is_refused(cache, tmp_path, capsys):
    other = packed(tmp_path, "ben", 4)
    words = ["evaluate", "--model", "base", "--val-data", str(other.folder)]
    assert main([*words, "--data", str(cache.folder)]) == 2
    assert "has no clip of 'ben'" in capsys.readouterr().err
    assert main(words[:3] + ["--voices", str(tmp_path), *words[3:]]) == 2
    assert "--val-data goes with --data" in capsys.readouterr().err
