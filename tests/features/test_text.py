"""Text becomes the same symbols always, in every script, and the token table never moves an id."""

import hashlib
import json
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myxtts.errors import RowError, TextError
from myxtts.features.letters import clean
from myxtts.features.text import SPECIALS, TextFrontend, TokenTable, resolve_language

ANY_TEXT = st.text(max_size=60)
BARE = {"bos": False, "eos": False}

# ---- clean ----------------------------------------------------------------------------------------------------------


@given(ANY_TEXT)
def test_clean_is_idempotent_and_leaves_nothing_invisible(text):
    once = clean(text)
    assert clean(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert once == " ".join(once.split())
    kinds = {unicodedata.category(char) for char in once if char not in "\u200c\u200d"}
    assert not kinds & {"Cc", "Cf", "Cs", "Co"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\ufeffa\x00b\u00adc\u200bd", "abcd"),
        (" a\t\r\n\u00a0\u3000b\u2028", "a b"),
        ("e\u0301", "é"),
        ("“a” «b» „c‟ ‘d’ don’t", '"a" "b" "c" \'d\' don\'t'),
        ("a – b — c ― d", "a — b — c — d"),
        ("well\u2010known \u22125", "well-known -5"),
        ("a... b…. c . . . d", "a… b… c … d"),
        ("ﬁve ＡＢＣ１ Ⅳ ｱ", "five ABC1 IV ア"),
        ("①② ⑽ ❸ Ⓐ 5㎏ 2ᵉ H₂O", "1 2 10 3 A 5kg 2e H2O"),
        ("1\ufe0f\u20e3 ❤\ufe0f", "1 ❤"),
        ("m² ½ 3.5", "m² ½ 3.5"),
        ("ﻻ ﷼ مـــن", "لا ریال من"),
        ("lone \ud800 surrogate", "lone surrogate"),
    ],
)
def test_clean_examples(text, expected):
    assert clean(text) == expected


def test_clean_keeps_arabic_and_persian_letters_apart():
    assert clean("علي كتاب على") == "علي كتاب على"
    assert clean("علی کتاب") == "علی کتاب"


def test_clean_keeps_joiners_only_between_letters_that_join():
    assert clean("می\u200c\u200cخواهم") == "می\u200cخواهم"
    assert clean("\u200cمن\u200c a\u200cb \u200d") == "من ab"
    assert clean("क\u094d\u200dष") == "क\u094d\u200dष"


# ---- the token table ------------------------------------------------------------------------------------------------


def test_base_table_is_frozen():
    """Ids are in caches and models: append to tokens.txt, and leave the prefix that this hash covers alone."""
    table = TokenTable.base()
    assert table.symbols[:8] == (*SPECIALS, " ", ".", ",")
    prefix = "\n".join(table.symbols[:1072]).encode()
    assert hashlib.sha256(prefix).hexdigest() == "600a9913eaab5271a3c064d44c3370ecb2314b35845c14047696cbde8cebbe83"


def test_base_table_has_the_alphabets_and_no_han():
    known = set(TokenTable.base().symbols)
    assert known >= set(" .,;:!?¿¡—…\"'()ˈˌːɹəŋʲ\u0303\u0361˥5")
    assert known >= set("zßéñğışąřőțđ" + "ạậữỹ" + "αςώ" + "яёїў" + "غض\u064e\u0651\u0670" + "پچژگکی\u200c" + "ٹڈڑںھہے")
    assert known >= set("אתץ\u05b8" + "कह\u093f\u094d" + "٣۳३" + "あンー" + "\u1112\u1161\u11ab")
    assert not any("\u4e00" <= symbol <= "\u9fff" for symbol in known)
    assert len(known) < 1500


@given(st.lists(st.text(min_size=1, max_size=3), max_size=20))
def test_table_grows_by_first_occurrence_and_decodes(symbols):
    base, table = TokenTable.base(), TokenTable.base()
    ids = table.encode(symbols)
    assert ids.dtype == np.int32
    assert ids.shape == (len(symbols),)
    assert table.decode(ids) == symbols
    assert table.symbols == base.symbols + tuple(dict.fromkeys(s for s in symbols if s not in set(base.symbols)))
    assert table.extends(base)
    assert base.extends(table) == (len(table) == len(base))


def test_table_without_growing_says_unk():
    table = TokenTable.base()
    before = len(table)
    assert table.encode(["漢", "a", "<unk>"], grow=False).tolist() == [4, table.symbols.index("a"), 4]
    assert len(table) == before


def test_tables_that_part_do_not_extend_each_other():
    one, two = TokenTable.base(), TokenTable.base()
    one.encode("漢字")
    two.encode("字漢")
    assert not one.extends(two)
    assert not two.extends(one)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3), unique=True, max_size=20))
def test_table_file_round_trip(tmp_path_factory, symbols):
    path = tmp_path_factory.mktemp("table") / "tokens.txt"
    table = TokenTable([*SPECIALS, *(symbol for symbol in symbols if symbol not in SPECIALS)])
    table.save(path)
    assert TokenTable.load(path).symbols == table.symbols
    assert [item.name for item in path.parent.iterdir()] == ["tokens.txt"]
    assert path.read_bytes().count(b"\n") == len(table)


def test_package_file_is_what_save_writes_and_says_append_only(tmp_path):
    TokenTable.base().save(tmp_path / "tokens.txt")
    written = (tmp_path / "tokens.txt").read_text(encoding="utf-8")
    assert written == TokenTable.base().text()
    assert "append-only" in written.splitlines()[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<pad>\na\n", "begins with"),
        ("\n".join([*SPECIALS, "a", "a", ""]), "twice"),
        ("\n".join([*SPECIALS, "", "a", ""]), "line 6"),
        ("\n".join([*SPECIALS, "a"]), "cut off"),
        ("\n".join([*SPECIALS, "\\x", ""]), "backslash"),
    ],
)
def test_damaged_table_is_refused(tmp_path, content, message):
    path = tmp_path / "tokens.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(TextError, match=message):
        TokenTable.load(path)


def test_table_errors_name_the_cure(tmp_path):
    with pytest.raises(TextError, match="No such file"):
        TokenTable.load(tmp_path / "absent.txt")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(TextError, match="not a token table"):
        TokenTable.load(tmp_path / "binary")
    with pytest.raises(TextError, match="load the table the ids were made with"):
        TokenTable.base().decode([10**6])
    with pytest.raises(TextError, match="not in the table"):
        TokenTable.base().decode([-1])
    with pytest.raises(TextError, match="empty symbol"):
        TokenTable.base().encode([""])


# ---- languages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("en", "en-us"), ("EN_us", "en-us"), ("English", "en-us"), ("en-GB", "en-gb"), ("en-AU", "en-us"),
        ("zh", "cmn"), ("zh-cn", "cmn"), ("zh_Hans_CN", "cmn"), ("Chinese", "cmn"), ("fa-IR", "fa"), ("Persian", "fa"),
        ("Farsi", "fa"), ("ar-EG", "ar"), ("russian", "ru"), ("fr", "fr-fr"), ("French", "fr-fr"), ("German", "de"),
        ("pt-br", "pt-br"), ("pt-PT", "pt"), ("no", "nb"), (" es ", "es"), ("Spanish", "es"), ("deu", "de"),
    ],
)  # fmt: skip
def test_resolve_language(name, code):
    assert resolve_language(name) == code


def test_unknown_language_names_the_nearest():
    with pytest.raises(TextError, match="persian"):
        resolve_language("Persain")
    with pytest.raises(TextError, match="text_tokens: characters"):
        TextFrontend().symbols(["a"], "xx")
    with pytest.raises(TextError, match="'' is not"):
        resolve_language("")


# ---- symbols --------------------------------------------------------------------------------------------------------

SENTENCES = {
    "en": "Hello, world!",
    "fa": "سلام، حال شما چطور است؟",
    "ar": "مرحبا، كيف حالك؟",
    "ru": "Привет, как дела?",
    "zh-cn": "你好，世界！",
}


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", "hello, world!"),
        ("fa", "سلام, حال شما چطور است?"),
        ("ar", "مرحبا, كيف حالك?"),
        ("ru", "привет, как дела?"),
        ("zh-cn", "你好,世界!"),
    ],
)
def test_characters(language, expected):
    assert TextFrontend("characters", **BARE).symbols([SENTENCES[language]], language) == [list(expected)]


@pytest.mark.parametrize(
    ("language", "sounds", "marks"),
    [
        ("en", "hwɜːl", ",!"),
        ("fa", "sɑmtʃ", ",?"),
        ("ar", "ħfkaː", ",?"),
        ("ru", "pʲvk", ",?"),
        ("zh-cn", "nɕχ25", ",!"),
    ],
)
def test_phonemes(language, sounds, marks):
    [symbols] = TextFrontend(**BARE).symbols([SENTENCES[language]], language)
    assert set(symbols) >= set(sounds)
    assert [symbol for symbol in symbols if symbol in ".,;:!?"] == list(marks)
    assert set(symbols) <= set(TokenTable.base().symbols)
    assert "ˈ" in symbols


def test_specials_and_blank():
    def of(**settings):
        return TextFrontend("characters", **settings).symbols(["ab"], "en")[0]

    assert of() == ["<bos>", "a", "b", "<eos>"]
    assert of(bos=False) == ["a", "b", "<eos>"]
    assert of(eos=False) == ["<bos>", "a", "b"]
    assert of(**BARE) == ["a", "b"]
    assert of(blank=True) == ["<bos>", "<blank>", "a", "<blank>", "b", "<blank>", "<eos>"]


def test_without_stress_only_the_marks_are_missing():
    text = ["An international organisation, certainly."]
    [with_stress] = TextFrontend().symbols(text, "en")
    [without] = TextFrontend(stress=False).symbols(text, "en")
    assert {"ˈ", "ˌ"} <= set(with_stress)
    assert without == [symbol for symbol in with_stress if symbol not in "ˈˌ"]


@pytest.mark.parametrize("kind", ["phonemes", "characters"])
def test_nothing_to_say_is_a_reason_in_its_place(kind):
    texts = ["", " \n\ufeff", "!?... —", "🙂👍🏽", "«»", "Yes."]
    symbols = TextFrontend(kind).symbols(texts, "en")
    reasons = [item.reason if isinstance(item, RowError) else "fine" for item in symbols]
    assert reasons == ["empty_text"] * 2 + ["unpronounceable"] * 3 + ["fine"]


def test_letters_without_a_voice_are_refused_by_name():
    [kanji, tibetan, kana] = TextFrontend().symbols(["世界です", "བོད་", "せかい"], "ja")
    assert kanji.reason == tibetan.reason == "unpronounceable"
    assert "世界" in str(kanji)
    assert isinstance(kana, list)


def test_language_decides_letters_and_marks():
    def of(text, language):
        return "".join(TextFrontend("characters", **BARE).symbols([text], language)[0])

    assert of("علي كتاب", "fa") == "علی کتاب"
    assert of("علي كتاب", "ar") == "علي كتاب"
    assert of("Πώς;", "el") == "πώς?"
    assert of("So;", "en") == "so;"
    assert of("IŞIK İZ", "tr_TR") == "ışık iz"
    assert of("IT İZ", "en") == "it iz"
    assert of("Ինչպե՞ս ես։", "hy") == "ինչպես? ես."
    assert of("नमस्ते।", "hi") == "नमस्ते."
    assert of("한글", "ko") == unicodedata.normalize("NFD", "한글")
    assert of("Wow!!! 🙂 ok", "x-anything") == "wow! ok"


@given(st.lists(ANY_TEXT, max_size=5), st.sampled_from(["en", "tr", "fa", "qq"]))
def test_characters_one_result_per_text(texts, language):
    symbols = TextFrontend("characters").symbols(texts, language)
    alone = [TextFrontend("characters").symbols([text], language)[0] for text in texts]
    assert list(map(str, symbols)) == list(map(str, alone))
    assert all(isinstance(item, RowError) or len(item) > 2 for item in symbols)


def test_settings_are_json_and_tell_every_difference():
    makes = [
        {}, {"stress": False}, {"bos": False}, {"eos": False}, {"blank": True}, {"kind": "characters"},
        {"normalise": False},
    ]  # fmt: skip
    written = [json.dumps(TextFrontend(**make).settings(), sort_keys=True) for make in makes]
    assert len(set(written)) == len(makes)
    assert isinstance(TextFrontend().settings()["revision"], int)
    assert TextFrontend().settings()["espeak"].startswith("1.")
    characters = TextFrontend("characters").settings()
    assert characters == TextFrontend("characters", stress=False).settings()  # there is no stress to leave out


def test_unknown_kind():
    with pytest.raises(TextError, match="phonemes or characters"):
        TextFrontend("words")


def test_characters_need_no_espeak():
    code = """
import sys
from myxtts.features.text import TextFrontend
TextFrontend("characters").symbols(["a"], "en")
heavy = {"phonemizer", "espeakng_loader", "tensorflow", "scipy", "joblib"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


# ---- what nobody hears ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "left_out"), [
    ("a plain text, with marks: 'yes' (it is) \u2014 \"so\".", ""),
    ("I \u2665 you \U0001f642", "\u2665\U0001f642"),
    ("a ^ b", "^"),
    ("glyph \ue000", "\ue000"),
    ("x\u0301", "\u0301"),
])  # fmt: skip
def test_nothing_is_left_out_in_silence(text, left_out):
    [reading] = TextFrontend().read([text], "en")
    assert reading.left_out == left_out
    assert reading.symbols == TextFrontend().symbols([text], "en")[0]


def test_characters_leave_out_pictures_only():
    [reading] = TextFrontend("characters").read(["a ^ b \u2665 \ue000"], "en")
    assert reading.left_out == "\ue000\u2665"
