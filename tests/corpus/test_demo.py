"""The demo corpus: the same bytes every time, a prefix of any larger one, resumable, and never in the way of a user."""

import json
import re
import sys
import wave
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.corpus.demo import encode_wav, make_demo_corpus, seconds_of
from myxtts.corpus.demo_sentences import inflect, load_grammar, number_words, plan_rows, sentences, year_words
from myxtts.errors import CorpusError, MissingExtra

FEW = {"hibari": 6, "espeak": 40}
ENGINES = sorted(FEW)
NOT_SPOKEN = re.compile(r"[\d{}|~+/_$%]|\b(Dr|Mr|Mrs|Prof|Sr|Mme|Capt|Gen|Sgt|Rev|Dra|M)\.")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module", params=ENGINES)
def corpus(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / request.param
    return make_demo_corpus(folder, FEW[request.param], request.param)


def remake(corpus, folder: Path, utterances: int | None = None):
    return make_demo_corpus(folder, utterances or corpus["utterances"], corpus["engine"])


# --- what is in the folder --------------------------------------------------------------------------------------------


def test_rows_name_a_clip_of_the_promised_format_without_clipping(corpus):
    folder = Path(corpus["folder"])
    rows = [line.split("|") for line in (folder / "metadata.csv").read_text(encoding="utf-8").splitlines()]
    assert [len(row) for row in rows] == [5] * corpus["utterances"]
    for clip_id, _, _, speaker, language in rows:
        assert speaker in corpus["speakers"]
        assert language in corpus["languages"]
        with wave.open(str(folder / "wavs" / f"{clip_id}.wav")) as clip:
            assert (clip.getframerate(), clip.getnchannels(), clip.getsampwidth()) == (22050, 1, 2)
            samples = np.frombuffer(clip.readframes(clip.getnframes()), "<i2") / 32768
        assert 1.2 < len(samples) / 22050 < 10
        assert np.abs(samples).max() < 0.98
        assert 0.02 < np.sqrt(np.mean(samples**2)) < 0.2


def test_the_result_and_the_readme_say_that_it_is_synthetic(corpus):
    readme = (Path(corpus["folder"]) / "README.txt").read_text(encoding="utf-8")
    assert corpus["synthetic"] is True
    assert "SYNTHETIC" in readme
    assert {"hibari": "Apache-2.0", "espeak": "GPL-3.0"}[corpus["engine"]] in readme
    total = sum(seconds_of(path) or 0 for path in (Path(corpus["folder"]) / "wavs").iterdir())
    assert corpus["seconds"] == pytest.approx(total, abs=0.01)


def test_espeak_takes_turns_through_every_language_and_voice():
    rows = plan_rows("espeak", 0, 40)
    assert len({(row.speaker, row.language) for row in rows}) == 40
    assert {row.language for row in rows} == {"en-us", "fa", "es", "fr", "de"}


# --- determinism, prefix, resume --------------------------------------------------------------------------------------


def test_two_runs_give_the_same_bytes_in_every_file(corpus, tmp_path):
    remake(corpus, tmp_path / "again")
    assert content(tmp_path / "again") == content(Path(corpus["folder"]))


def test_a_small_corpus_is_the_beginning_of_a_large_one_and_grows_into_it(corpus, tmp_path):
    remake(corpus, tmp_path / "grown", corpus["utterances"] // 2)
    small, large = content(tmp_path / "grown"), content(Path(corpus["folder"]))
    assert large["metadata.csv"].startswith(small["metadata.csv"])
    assert all(large[name] == small[name] for name in small if name.endswith(".wav"))
    remake(corpus, tmp_path / "grown")
    assert content(tmp_path / "grown") == large


def test_a_stopped_run_is_continued_to_the_same_bytes_and_keeps_what_is_complete(corpus, tmp_path):
    folder, calls = tmp_path / "stopped", []

    def stop_after_two(done: int, total: int) -> None:
        calls.append((done, total))
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_demo_corpus(folder, corpus["utterances"], corpus["engine"], progress=stop_after_two)
    assert calls == [(0, corpus["utterances"]), (1, corpus["utterances"]), (2, corpus["utterances"])]
    assert not (folder / "metadata.csv").exists()
    first, second, *_ = sorted((folder / "wavs").glob("*.wav"))
    second.write_bytes(second.read_bytes()[:-2])  # incomplete
    kept = first.stat().st_mtime_ns
    remake(corpus, folder)
    assert first.stat().st_mtime_ns == kept
    assert content(folder) == content(Path(corpus["folder"]))


def test_deleted_clips_and_metadata_come_back(corpus, tmp_path):
    folder = tmp_path / "holes"
    remake(corpus, folder)
    for path in [*sorted((folder / "wavs").iterdir())[::2], folder / "metadata.csv", folder / "README.txt"]:
        path.unlink()
    remake(corpus, folder)
    assert content(folder) == content(Path(corpus["folder"]))


def test_another_seed_is_another_corpus(tmp_path):
    make_demo_corpus(tmp_path / "a", 2, "espeak", seed=1)
    make_demo_corpus(tmp_path / "b", 2, "espeak", seed=2)
    assert content(tmp_path / "a") != content(tmp_path / "b")


# --- what belongs to the user -----------------------------------------------------------------------------------------


def refuses(message: str, folder: Path, utterances: int = 2, engine: str = "espeak", seed: int = 0) -> None:
    before = content(folder) if folder.is_dir() else folder.read_bytes()
    with pytest.raises(CorpusError, match=message):
        make_demo_corpus(folder, utterances, engine, seed)
    assert before == (content(folder) if folder.is_dir() else folder.read_bytes())


def test_a_foreign_folder_or_file_is_refused_and_left_alone(tmp_path):
    (tmp_path / "metadata.csv").write_text("mine|my own words\n")
    refuses("not a demo corpus.*metadata.csv.*new or empty", tmp_path)
    refuses("is a file", tmp_path / "metadata.csv")
    (tmp_path / "plan.json").write_text('{"plan": "take over the world"}')
    refuses("not the plan of a demo corpus", tmp_path)


@pytest.fixture
def two(tmp_path):
    make_demo_corpus(tmp_path / "two", 2, "espeak")
    return tmp_path / "two"


def test_another_plan_or_a_smaller_number_is_refused(two):
    refuses("engine espeak, engine hibari", two, engine="hibari")
    refuses("seed 0, seed 3", two, seed=3)
    refuses("2 utterances, 1 were asked", two, utterances=1)


def test_changed_metadata_is_refused(two):
    (two / "metadata.csv").write_text("mine|my own words\n")
    refuses("was changed after it was made", two)


def test_other_versions_are_refused_only_when_something_is_missing(two):
    plan = json.loads((two / "plan.json").read_text())
    (two / "plan.json").write_text(json.dumps(plan | {"versions": {"espeakng-loader": "0.0.1"}}, indent=1) + "\n")
    before = content(two)
    make_demo_corpus(two, 2, "espeak")
    assert content(two) == before
    refuses("0.0.1", two, utterances=3)


def test_files_beside_a_demo_corpus_are_left_alone(two):
    (two / "cached_features").mkdir()
    (two / "cached_features" / "mine.bin").write_bytes(b"mine")
    make_demo_corpus(two, 3, "espeak")
    assert (two / "cached_features" / "mine.bin").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1, "festival"), "hibari, espeak"), ((0, "espeak"), "1 or more"), ((1, "espeak", -1), "seed of 0 or more")],
)
def test_wrong_arguments_say_what_to_do_and_make_no_folder(tmp_path, arguments, message):
    with pytest.raises(CorpusError, match=message):
        make_demo_corpus(tmp_path / "none", *arguments)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(("engine", "module"), [("hibari", "hibari"), ("espeak", "espeakng_loader")])
def test_a_missing_package_names_the_pip_command_and_makes_no_folder(tmp_path, monkeypatch, engine, module):
    monkeypatch.setitem(sys.modules, module, None)  # Python's own way to make an import fail
    with pytest.raises(MissingExtra, match=r"pip install .*(hibari-tts|phonemizer-fork)"):
        make_demo_corpus(tmp_path / "none", 1, engine)
    assert not (tmp_path / "none").exists()


# --- sentences --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "number"), [("en-us", 6000), ("es", 400), ("fr", 400), ("de", 400), ("fa", 400)])
def test_sentences_are_distinct_short_and_spelled_out(language, number):
    made = list(islice(sentences(language, 0), number))
    assert len({sentence.spoken for sentence in made}) == number
    assert all(len(s.text) >= 25 and len(s.spoken) <= 140 for s in made)
    assert not [s.spoken for s in made if NOT_SPOKEN.search(s.spoken)]
    assert not [s.text for s in made if re.search(r"[{}|~+/_\n]", s.text)]
    assert 0.01 < sum(s.text != s.spoken for s in made) / number < 0.2
    assert all(s.text[-1] in '.?!؟"' for s in made)


def test_english_has_a_large_vocabulary_even_in_the_default_corpus():
    words = {word for row in plan_rows("hibari", 0, 1000) for word in re.findall(r"[a-z'-]+", row.spoken.lower())}
    assert len(words) > 2500


def test_english_articles_fit_the_next_word():
    text = " ".join(sentence.spoken for sentence in islice(sentences("en-us", 0), 4000))
    assert not re.findall(r"\b[Aa] (?:[aei]|o(?!n[ce]\b)|hour|honest)\w*", text)
    assert not re.findall(r"\b[Aa]n (?:[bcdfgjklmnpqrstvwxyz]|use|uni[fv]|h(?!on|our))\w*", text)


def test_grammars_are_large_and_name_only_lists_that_exist():
    for language in ("en-us", "es", "fr", "de", "fa"):
        grammar = load_grammar(language)
        entries = [entry for entries in grammar.values() for entry in entries]
        slots = {slot for entry in entries for slot in re.findall(r"\{([\w.]+)(?::\w+)?\}", entry)}
        assert slots <= set(grammar)
    english = load_grammar("en-us")
    assert len(set(english["frames"])) >= 150
    assert len(english["whole"]) >= 150


@pytest.mark.parametrize(
    ("entry", "form", "expected"),
    [
        ("baker", "pl", "bakers"), ("box", "pl", "boxes"), ("pony", "pl", "ponies"), ("wolf/wolves", "pl", "wolves"),
        ("wolf/wolves", "", "wolf"), ("stop+", "past", "stopped"), ("stop+", "ing", "stopping"), ("stop+", "", "stop"),
        ("carry", "past", "carried"), ("carry", "s", "carries"), ("agree", "ing", "agreeing"),
        ("move", "ing", "moving"),
        ("take/took/taken off", "pp", "taken off"), ("put+/put/put on", "ing", "putting on"),
        ("buy/bought/bought", "pp", "bought"), ("switch off", "s", "switches off"),
        ("in the garden", "", "in the garden"),
    ],
)  # fmt: skip
def test_inflection(entry, form, expected):
    assert inflect(entry, form) == expected


def test_numbers_are_read_aloud():
    assert number_words(40) == "forty"
    assert number_words(384) == "three hundred eighty-four"
    assert (year_words(1905), year_words(1800)) == ("nineteen oh five", "eighteen hundred")


# --- wav files --------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.lists(st.floats(-4, 4, width=32), min_size=1, max_size=200), st.integers(1, 43))
def test_a_wav_is_whole_or_not_ours(tmp_path_factory, samples, cut_bytes):
    path = tmp_path_factory.mktemp("wav") / "x.wav"
    encoded = encode_wav(np.array(samples, np.float32))
    path.write_bytes(encoded)
    assert seconds_of(path) == len(samples) / 22050
    assert np.abs(np.frombuffer(encoded[44:], "<i2").astype(int)).max() <= 0.971 * 32767
    path.write_bytes(encoded[:-cut_bytes])
    assert seconds_of(path) is None
