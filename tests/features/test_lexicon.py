"""The user's lexicon: found in texts, kept by caches and models, part of the fingerprint."""

import json

import pytest
from corpora import write_corpus

from myxtts.cache.fit import misfits, settings_in
from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.config.config import DataConfig
from myxtts.corpus.read import open_corpus
from myxtts.errors import CacheMismatch, TextError
from myxtts.features.audio import AudioSettings
from myxtts.features.lexicon import Lexicon
from myxtts.features.text import TextFrontend, TokenTable
from myxtts.inference.script import Script
from myxtts.models.description import ModelDescription

BARE = {"bos": False, "eos": False}


def said(text: str, language: str, *entries: tuple[str, str, str], kind: str = "phonemes") -> str:
    [symbols] = TextFrontend(kind, lexicon=Lexicon(entries), **BARE).symbols([text], language)
    return "".join(symbols)


# ---- in texts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["phonemes", "characters"])
def test_another_spelling_is_read_as_if_it_stood_there(kind):
    entry = ("en", "Siobhan", "Shivawn")
    assert said("Ask Siobhan, please.", "en", entry, kind=kind) == said("Ask Shivawn, please.", "en", kind=kind)


def test_phonemes_take_the_place_of_a_word_and_leave_its_neighbours_alone():
    plain = said("We sent a gif of the cat.", "en")
    assert "ɡˈɪf" in plain
    assert said("We sent a gif of the cat.", "en", ("en", "gif", "/dʒˈɪf/")) == plain.replace("ɡˈɪf", "dʒˈɪf")
    assert said("gif!", "en", ("en", "gif", "/dʒˈɪf/")) == "dʒˈɪf!"
    after_a_comma = said("Well, gif it is.", "en")
    assert said("Well, gif it is.", "en", ("en", "gif", "/dʒˈɪf/")) == after_a_comma.replace("ɡˈɪf", "dʒˈɪf")


def test_a_word_with_marks_in_it_and_a_phrase():
    assert "ˈeɪtiː" in said("I work at AT&T.", "en", ("en", "AT&T", "/ˈeɪtiː/"))
    assert said("in New York now", "en", ("en", "New York", "/nuː jɔːk/")).split()[1:3] == ["nuː", "jɔːk"]


def test_what_has_figures_or_dots_in_it_is_the_users_before_it_is_the_normalisers():
    assert said("5G at 5 pm", "en", ("en", "5G", "fifth gen")) == said("fifth gen at five P M", "en")
    assert said("Dr. No", "en", ("en", "Dr.", "Drive")) == said("Drive No", "en")


def test_only_whole_words_are_found():
    entry = ("en", "cat", "dog")
    assert said("a cat", "en", entry) == said("a dog", "en")
    assert said("cats, concatenate", "en", entry) == said("cats, concatenate", "en")
    # In a script without spaces there are no whole words to be seen.
    assert said("我在重庆", "zh", ("zh", "重庆", "虫庆")) == said("我在虫庆", "zh")


def test_small_letters_match_capitals_but_not_the_other_way_round():
    assert said("GIF Gif gif", "en", ("en", "gif", "jiff")) == said("jiff jiff jiff", "en")
    polish = ("en", "Polish", "Poulish")
    assert said("polish it", "en", polish) == said("polish it", "en")
    assert said("Polish food", "en", polish) == said("Poulish food", "en")


@pytest.mark.parametrize(
    ("written", "language", "applies"),
    [("en", "en-gb", True), ("en-gb", "en-us", False), ("EN_US", "en", True), ("zh", "zh-CN", True),
     ("farsi", "fa", True), ("*", "de", True), ("de", "en", False)],
)  # fmt: skip
def test_an_entry_holds_for_its_language(written, language, applies):
    heard = said("xyzzy", language, (written, "xyzzy", "/ɑɑɑ/"))
    assert (heard == "ɑɑɑ") == applies


def test_persian_words_are_found_in_any_keyboard_and_take_the_ezafe():
    entry = ("fa", "كرم", "/kerm/")
    assert said("کرم ابریشم", "fa", entry).startswith("kerm")
    assert said("کرم‌ها", "fa", entry).startswith("kermh")
    assert said("خانه کرم من است", "fa", ("fa", "خانه", "/xuna/")).startswith("xunaje")


def test_of_two_entries_the_later_one_holds_and_the_longest_match_wins():
    assert said("a b", "en", ("en", "a", "x"), ("en", "a", "z"), ("en", "a b", "q")) == said("q", "en")
    assert said("a", "en", ("en", "a", "x"), ("en", "a", "z")) == said("z", "en")


def test_letters_that_no_voice_reads_are_no_reason_to_refuse_a_word_of_the_lexicon():
    assert said("東京", "ja", ("ja", "東京", "/toːkjoː/")) == "toːkjoː"
    assert said("東京", "ja", ("ja", "東京", "とうきょう")) == said("とうきょう", "ja")


# ---- the file --------------------------------------------------------------------------------------------------------


def test_tsv_and_yaml_say_the_same(tmp_path):
    (tmp_path / "a.tsv").write_text("# names\n\nen\tSiobhan\tShivawn\nfa\tکرم\t/kerm/\n", encoding="utf-8")
    (tmp_path / "a.yaml").write_text("en: {Siobhan: Shivawn}\nfa:\n  کرم: /kerm/\n", encoding="utf-8")
    expected = [("en", "Siobhan", "Shivawn"), ("fa", "کرم", "/kerm/")]
    assert Lexicon.load(tmp_path / "a.tsv").entries == Lexicon.load(tmp_path / "a.yaml").entries == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", b"en\tword\n", "line 1.*expected language, word and what is said"),
        ("a.tsv", b"en\tword\t \n", "line 1"),
        ("a.tsv", "en\t☺\tsmile\n".encode(), "left out of every text"),
        ("a.tsv", b"\xff\xfe", "not UTF-8"),
        ("a.yaml", b"en: [a, b]", "mapping"),
        ("a.yaml", b"en: {a: b", "not YAML"),
        ("b.tsv", None, "cannot read"),
    ],
)
def test_a_file_that_cannot_be_used_says_where(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TextError, match=message):
        Lexicon.load(tmp_path / name)


# ---- kept ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("en\thello\t/hɛˈloː/\n", encoding="utf-8")
    return path


def test_a_cache_and_a_model_keep_the_lexicon(tmp_path, words):
    write_corpus(tmp_path / "voice", 4, (0.3, 0.5))
    data = DataConfig(lexicon=str(words), text_tokens="characters")
    pack(open_corpus(tmp_path / "voice"), tmp_path / "voice.cache", PackSettings.from_config(data))
    words.unlink()
    tokens = json.loads(json.dumps(Cache(tmp_path / "voice.cache").body["settings"]["tokens"]))
    assert tokens["lexicon"] == [["en", "hello", "/hɛˈloː/"]]
    description = ModelDescription(
        token_table=list(TokenTable.base().symbols),
        languages=["en-us"],
        tokens=TextFrontend(lexicon=Lexicon(tokens["lexicon"])).settings(),
    )
    (tmp_path / "model").mkdir()
    description.save(tmp_path / "model")
    [line] = Script(ModelDescription.load(tmp_path / "model")).lines("hello", 0)
    assert "".join(TokenTable.base().decode(line.tokens)[1:-1]) == "hɛˈloː"
    more = Lexicon([("en", "hello", "/bɑː/")])
    [line] = Script(description, more).lines("hello", 0)
    assert "".join(TokenTable.base().decode(line.tokens)[1:-1]) == "bɑː"


def test_another_lexicon_is_a_misfit_and_a_silent_config_takes_that_of_the_cache(tmp_path, words):
    write_corpus(tmp_path / "voice", 4, (0.3, 0.5))
    settings = PackSettings.from_config(DataConfig(lexicon=str(words), text_tokens="characters"))
    body = pack(open_corpus(tmp_path / "voice"), tmp_path / "voice.cache", settings)
    silent = DataConfig(text_tokens="characters")
    assert misfits(silent, body) == []
    assert PackSettings.from_config(silent.filled(settings_in(body))).unlike(body) == {}
    assert misfits(DataConfig(lexicon=[["en", "hello", "/hɛˈloː/"]]), body) == []
    words.write_text("en\thello\t/bɑː/\nen\tbye\t/bɑː/\n", encoding="utf-8")
    [misfit] = misfits(DataConfig(lexicon=str(words)), body)
    assert (misfit.part, "the cache has of 1 words" in misfit.what) == ("tokens", True)
    with pytest.raises(CacheMismatch, match="lexicon of 1 words, ......, not of 0 words"):
        pack(open_corpus(tmp_path / "voice"), tmp_path / "voice.cache", PackSettings.from_config(silent))


def test_readers_of_other_languages_do_not_make_a_cache_old(tmp_path):
    write_corpus(tmp_path / "voice", 4, (0.3, 0.5))
    settings = PackSettings(AudioSettings(), TextFrontend())
    body = pack(open_corpus(tmp_path / "voice"), tmp_path / "voice.cache", settings)
    body["settings"]["tokens"]["readers"]["fa"] = "somebody else"
    assert settings.unlike(body) == {}
    assert set(settings.unlike(body | {"languages": ["en-us", "Persian"]})) == {"tokens"}
