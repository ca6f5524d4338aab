"""eSpeak behind its fence: one output per input, no memory of other texts, no flags, no markup, no crash."""

import json
import random
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.features.letters import clean
from myxtts.features.normalise import normalise
from myxtts.features.phonemes import MARKS, languages, phonemise, unreadable, version
from myxtts.features.text import TextFrontend, TokenTable

TEXTS = {
    "en-us": ["The 3 cats read 1,000 books.", "Dr. No?", "to", "你好 and привет", "a", "☺", "½ cup", "x&y @ 50%", "é"],
    "fa": ["سلام، خوبی؟", "می‌خواهم کتاب بخوانم.", "hello", "۱۲۳", "ها"],
    "ar": ["مرحبا", "كيف حالك؟", "١٢٣", "hello"],
    "ru": ["за\u0301мок", "Привет, hello!", "5 дней", "в"],
    "cmn": ["你好，世界！", "一个", "hello", "3"],
    "fr-fr": ["les enfants", "le weekend", "vous avez 5 ans"],
    "da": ["rødgrød med fløde", "\u0325\u036a-\u0322"],
    "my": ["¾းႏ", "မင်္ဂလာပါ"],
}

# Words of every script, and the odd things between them.
WILD = st.text(
    st.one_of(
        st.sampled_from("abcdeio éßğ 0123456789 .,;:!?…—-'\"()[]{}<>&%$#@/*_~|\\\n\t"),
        st.sampled_from("سلامپچگ،؟ПриветКАК你好世界नमस्तेこんにちは안녕αβγשלוםสวัสดี\u200c\u0301\u064e"),
        st.characters(),
    ),
    max_size=80,
)


@given(st.lists(WILD, max_size=6), st.sampled_from(["en-us", "fa", "ar", "ru", "cmn", "da", "my", "vi", "fr-fr", "ja"]))
@settings(max_examples=150)
def test_one_output_per_input_and_no_memory(texts, language):
    out = phonemise(texts, language)
    assert len(out) == len(texts)
    assert out == [phonemise([text], language)[0] for text in texts]
    for ipa in out:
        assert ipa == " ".join(ipa.split())
        assert not set(ipa) & set("[]{}<>_*&#@+\n\x00")
        assert not ipa or set(ipa) - set(MARKS + " ")


def test_order_batch_and_other_languages_do_not_matter():
    alone = {(code, text): phonemise([text], code)[0] for code, texts in TEXTS.items() for text in texts}
    rng = random.Random(0)
    for _ in range(30):
        code = rng.choice(list(TEXTS))
        batch = rng.choices(TEXTS[code], k=12)
        assert phonemise(batch, code) == [alone[code, text] for text in batch]


def test_threads_share_one_espeak():
    jobs = [(texts, code) for code, texts in TEXTS.items()] * 4
    expected = [phonemise(*job) for job in jobs]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda job: phonemise(*job), jobs)) == expected


def test_a_new_process_says_the_same():
    code = "import sys, json; from myxtts.features.phonemes import phonemise; t = json.load(sys.stdin);"
    code += "print(json.dumps([phonemise(texts, code) for code, texts in t.items()]))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], input=json.dumps(TEXTS), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [phonemise(texts, code) for code, texts in TEXTS.items()]
    assert done.stderr == ""


def test_at_least_a_hundred_languages_count_in_known_symbols():
    known = set(TokenTable.base().symbols)
    assert len(languages()) >= 100
    assert {"en-us", "fa", "ar", "ru", "cmn", "de", "hi", "tr", "vi"} <= languages().keys()
    spoken = {code: phonemise(["1, 2, 3. 17; 58?"], code)[0] for code in languages()}
    assert [code for code, ipa in spoken.items() if not ipa] == ["chr-us-qaaa-x-west", "cv", "sjn"]  # no numbers
    for code, ipa in spoken.items():
        assert set(ipa) <= known, code
        assert not ipa or [mark for mark in ipa if mark in MARKS] == list(",,.;?"), code
    assert version().count(".") == 2


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Hello, world!", ",!"),
        ("It costs 3.5 or 1,000 at 10:30", ""),
        ("Mr. Smith met Dr. Who. He left.", ".."),
        ("The U.S. Army, e.g. this one.", ",."),
        ("Neither do I. Really", "."),
        ("Really?!", "?!"),
        ("Stop!!!", "!"),
        ("well... no", "…"),
        ("...and then", "…"),
        ('"Quoted," he said (twice).', ",()."),
        ("a - b -- c", "——"),
        ("well-known", ""),
        ("¿Qué?", "¿?"),
        ("hello. how are you", "."),
        ("see example.com now", ""),
    ],
)
def test_punctuation_is_kept(text, marks):
    [ipa] = phonemise([clean(text)], "en-us")
    assert "".join(mark for mark in ipa if mark in MARKS) == marks


def test_marks_stand_where_they_stood():
    assert phonemise(["Hello, (my) world!"], "en-us") == ["həlˈoʊ, (mˈaɪ) wˈɜːld!"]


def test_quotes_do_not_change_the_words():
    quoted = ['the "apple" is', '"the apple is"', "the «apple» is", "the ‘apple’ is"]
    assert set(phonemise(list(map(clean, quoted)), "en-us")) == set(phonemise(["the apple is"], "en-us"))


def test_espeak_sees_no_markup():
    plain, marked = phonemise(["hello", "[[hello]]"], "en-us")
    assert marked == f"({plain})"
    spoken = phonemise(["<break time='5s'/> x", "<voice name='fa'>x</voice>", "a &lt; b"], "en-us")
    assert "bɹˈeɪk" in spoken[0]
    assert "vˈɔɪs" in spoken[1]
    assert "\x01" not in phonemise(["a\x01+5s b"], "en-us")[0]


@pytest.mark.parametrize(
    ("text", "language"),
    [("Le weekend, un meeting", "fr-fr"), ("سلام hello", "fa"), ("Привет hello", "ru"), ("你好 hello", "cmn")],
)
def test_no_language_flags(text, language):
    [ipa] = phonemise([text], language)
    assert "(" not in ipa
    assert ")" not in ipa


def test_words_of_another_script_are_read_not_spelled():
    assert phonemise(["say привет now"], "en-us")[0].split()[1] == phonemise(["привет"], "ru")[0]
    assert phonemise(["say 你好 now"], "en-us")[0].split()[1] == phonemise(["你好"], "cmn")[0]
    assert phonemise(["angle α"], "en-us")[0].endswith("ˈælfə")
    assert unreadable("naïve привет 你好 α", "en-us") == ""
    assert unreadable("漢字かな", "ja") == "漢字"


def test_chinese_characters_that_a_voice_only_calls_a_letter_are_named():
    assert unreadable("我們一㐂", "hak") == "我們一㐂"  # it reads romanised Hakka
    assert [unreadable("好㐂丂", language) for language in ("cmn", "yue", "en-us")] == ["㐂", "㐂丂", "㐂"]


@pytest.mark.parametrize(("word", "language"), [("п\u02bcять", "uk"), ("o\u02bbzbek", "uz"), ("erba\u02bc", "mt")])
def test_letters_that_look_like_an_apostrophe_are_read(word, language):
    assert unreadable(word, language) == ""
    assert phonemise([word], language) != [""]


@pytest.mark.parametrize("number", ["0", "59", "12410"])
def test_no_language_writes_numbers_that_its_voice_cannot_read(number):
    said = {language: normalise(number, language) for language in languages()}
    assert {language: unreadable(words, language) for language, words in said.items()} == dict.fromkeys(said, "")
    read = {language: phonemise([words], language)[0] for language, words in said.items()}
    assert {language for language, ipa in read.items() if not ipa} <= {"chr-us-qaaa-x-west", "cv", "sjn", "quc", "qya"}
    assert "lˈetə" not in " ".join(read.values())


def test_persian_half_space_keeps_a_word_whole():
    assert phonemise(["می\u200cخواهم"], "fa") == ["mixˈɑham"]


def test_signs_of_espeak_are_not_mistaken_for_marks():
    symbols = "".join(
        phonemise(["是 十", "hund", "etthundra"], "cmn")
    )  # retroflex sounds, which eSpeak writes with a dot
    assert "." not in symbols
    assert "\u0323" in symbols
    assert "?" not in phonemise(["hund ked mand"], "da")[0]


def test_long_texts_and_words_lose_nothing():
    one = phonemise(["hello"], "en-us")[0]
    assert phonemise(["hello " * 400], "en-us") == [" ".join([one] * 400)]
    assert phonemise(["a" * 5000], "en-us")[0]
    assert phonemise(["9" * 1000], "en-us")[0]


def test_hyphens_that_crash_espeak_do_not_reach_it():
    code = "import sys; from myxtts.features.phonemes import phonemise; phonemise(sys.argv[2:], sys.argv[1])"
    for language in ("da", "vi", "en-us"):
        texts = ["'-A", "€-a", "óh-a", "²²-a", "\u0325\u036a-\u0322", "a -5 b-c"]
        subprocess.run([sys.executable, "-c", code, language, *texts], check=True)
    assert phonemise(["-5 well-known"], "en-us") == ["mˈaɪnəs fˈaɪv wˈɛlnˈoʊn"]


def test_digits_of_every_script_are_numbers():
    for code, digits in {"fa": "۱۲۳", "ar": "١٢٣", "hi": "१२३"}.items():
        assert phonemise([digits], code) == phonemise(["123"], code)


def test_missing_package_is_named():
    code = """
import sys
sys.modules["phonemizer"] = None
from myxtts.errors import MissingExtra
from myxtts.features.text import TextFrontend
try:
    TextFrontend().symbols(["a"], "en")
except MissingExtra as error:
    assert "phonemizer-fork" in str(error) and "espeakng-loader>=0.2.4" in str(error), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_frontend_takes_every_script_in_one_call():
    texts = ["Hello.", "", "سلام", "🙂", "Bye!"]
    symbols = TextFrontend().symbols(texts, "en")
    assert [isinstance(item, list) for item in symbols] == [True, False, True, False, True]


@pytest.mark.parametrize(
    ("word", "language", "ipa"),
    [
        ("مُحَم\u0651\u064eد", "fa", "mohˈamad"),
        ("مُحَم\u0651\u064eد", "ar", "muħˈammad"),
        ("مُحَم\u0651\u064eد", "ur", "mʊhˈammad"),
        ("ש\u05c1\u05b7ב\u05bc\u05b8ת", "he", "ʃˈabat"),
    ],
)
def test_a_doubled_letter_keeps_its_vowel_after_nfc(word, language, ipa):
    assert phonemise([word, clean(word)], language) == [ipa, ipa]


@pytest.mark.parametrize(("word", "language", "ipa"), [("قلب", "fa", "ɢˈalb"), ("غم", "fa", "ɢˈam")])
def test_no_digit_stands_for_a_consonant(word, language, ipa):
    assert phonemise([word], language) == [ipa]


@pytest.mark.parametrize(
    ("text", "syllables"),
    [
        ("英雄", "jˈi5ŋ ɕˈionɡɜ"),
        ("胸口", "ɕˈionɡ5 khˈou2"),
        ("无穷", "wˈuɜ tɕhˈionɡɜ"),
        ("兄弟", "ɕˈionɡ5 tˈi5"),
        ("B.十", "bˈiː.ṣˈịɜ"),
    ],
)
def test_chinese_syllables_that_espeak_spells_in_english_are_said(text, syllables):
    [phonemes] = phonemise([text], "cmn")
    assert phonemes == unicodedata.normalize("NFD", syllables)


def test_a_killed_process_leaves_no_copy_of_the_library(tmp_path):
    script = "from myxtts.features.phonemes import phonemise, version; version(); import os; os.kill(os.getpid(), 9)"
    import os

    subprocess.run([sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)}, timeout=60)
    assert list(tmp_path.iterdir()) == []
