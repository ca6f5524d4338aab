"""English phonemes without eSpeak: from word lists and models of two packages, here small ones of the same form."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest
from features.english.packages import write_packages

from myxtts.errors import MissingExtra
from myxtts.features.text import TextFrontend
from myxtts.features.token_table import TokenTable

HIDE_ESPEAK = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in ("espeakng_loader", "phonemizer") else find(name, *more)
sys.modules["phonemizer"] = sys.modules["espeakng_loader"] = None
"""
READ = """
import json, sys
from myxtts.errors import MyXTTSError
from myxtts.features.lexicon import Lexicon
from myxtts.features.text import TextFrontend
options = json.loads(sys.argv[1])
frontend = TextFrontend(bos=False, eos=False, lexicon=Lexicon(options.pop("lexicon", [])), **options)
out = []
for text, language in json.loads(sys.argv[2]):
    try:
        [reading] = frontend.read([text], language)
        out.append([str(reading.spelled), reading.left_out])
    except MyXTTSError as error:
        out.append([type(error).__name__, str(error)])
print(json.dumps([out, frontend.settings()]))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    write_packages(folder)
    return folder


def read(site, texts, hidden=False, **options):
    """[phonemes, left out] of each (text, language), and the settings of the front end; with eSpeak or without."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    command = [sys.executable, "-c", (HIDE_ESPEAK if hidden else "") + READ, json.dumps(options), json.dumps(texts)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SAID = {
    "we live.": "wiː lˈɪv.",
    "A live show": "ɐ lˈaɪv ʃˈoʊ",
    "the cat, the hour": "ðə kˈæt, ðɪ ˈaʊɚ",
    "we can": "wiː kˈæn",
    "we can wish": "wiː kæn wˈɪʃ",
    "cats boxes dog's": "kˈæts bˈɑːksᵻz dˈɔːɡz",
    "wished wishing": "wˈɪʃt wˈɪʃɪŋ",
    "FBI": "ˌɛfbˌiːˈaɪ",
    "the US": "ðə jˌuːˈɛs",
    "to us": "tʊ ˌʌs",
    "polish the Polish box": "pˈɑːlɪʃ ðə pˈoʊlɪʃ bˈɑːks",
    "café": "kæfˈeɪ",
    "Sean": "ʃˈɔːn",
    "zozo": "zˈɔːzˈɔː",
    "wish-box": "wˈɪʃbˈɑːks",
}  # fmt: skip


def test_words_are_read_by_their_kind_their_ending_and_their_neighbours(site):
    readings, _ = read(site, [(text, "en") for text in SAID], english="misaki")
    assert dict(zip(SAID, (spelled for spelled, _ in readings), strict=True)) == SAID
    assert not any(left for _, left in readings)


def test_symbols_are_those_of_the_token_table(site):
    readings, _ = read(site, [(text, "en") for text in SAID], english="misaki")
    assert set("".join(spelled for spelled, _ in readings)) <= set(TokenTable.base().symbols)


def test_without_espeak_it_is_taken_by_itself_and_says_what_it_cannot_read(site):
    texts = [("We wish.", "en"), ("wish αβ", "en"), ("wish 5 ✓", "en-gb"), ("سلام", "fa")]
    readings, settings = read(site, texts, hidden=True)
    assert readings[0] == ["wiː wˈɪʃ.", ""]
    assert "cannot read 'αβ' in en-us" in readings[1][0]
    assert readings[2] == ["wˈɪʃ fˈaɪv", "✓"]
    assert readings[3][0] == "TextError"
    assert "needs eSpeak" in readings[3][1]
    assert settings["english"] == "misaki"
    assert settings["espeak"] is None
    assert settings["readers"]["en"] == "misaki 9.9, gruut-lang-en 9.9"


def test_espeak_is_taken_where_it_is_and_other_scripts_go_to_it(site):
    [[usual, _]], settings = read(site, [("a box of zozo", "en")])
    assert usual.startswith("ɐ bˈɑːks ʌv")
    assert settings["english"] == "espeak"
    assert "en" not in settings["readers"]
    [[mixed, left]], _ = read(site, [("wish 你好", "en")], english="misaki")
    assert mixed.startswith("wˈɪʃ ni2")
    assert not left


def test_what_is_not_read_is_named_without_the_normaliser_too(site):
    [[_, left]], _ = read(site, [("wish 5 & 6%", "en")], english="misaki", normalise=False)
    assert left == "5&6%"


def test_a_lexicon_of_the_user_comes_first(site):
    lexicon = [("en", "cat", "/kˈɑt/"), ("en-us", "Sean", "dog")]
    readings, _ = read(site, [("the cat, the Sean box", "en")], english="misaki", lexicon=lexicon)
    assert readings[0][0] == "ðə kˈɑt, ðə dˈɔːɡ bˈɑːks"


@pytest.mark.skipif(importlib.util.find_spec("misaki") is not None, reason="misaki is installed")
def test_asked_for_and_not_installed_it_says_what_to_install():
    with pytest.raises(MissingExtra, match="needs the package 'misaki': run pip install"):
        _ = TextFrontend(english="misaki").english


@pytest.mark.parametrize("name", ["misaki/data/us_gold.json", "gruut_lang_en/lexicon.db"])
def test_a_damaged_package_is_named(tmp_path, name):
    write_packages(tmp_path)
    (tmp_path / name).write_bytes(b"nothing of use")
    readings, _ = read(tmp_path, [("zozo", "en")], english="misaki")
    assert readings[0][0] == "TextError"
    assert name.rpartition("/")[2] in readings[0][1]
