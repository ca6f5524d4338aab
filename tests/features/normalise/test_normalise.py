"""What is written becomes what is said, in words only; what is not understood stays; nothing is dropped."""

import unicodedata

import numpy as np
import pytest
import text_fuzz
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.features.letters import clean, is_silent
from myxtts.features.normalise import LANGUAGES, normalise
from myxtts.features.text import TextFrontend

CODES = sorted(set(LANGUAGES) - {"cmn"})
PLAIN = {
    "en": "Where have all the flowers gone? I don't know.",
    "de": "Wo sind all die Blumen hin? Ich weiß es nicht.",
    "fr": "Où sont passées les fleurs ? Je n'en sais rien.",
    "es": "¿Dónde están las flores? No lo sé.",
    "it": "Dove sono finiti i fiori? Non lo so.",
    "pt": "Para onde foram as flores? Não sei.",
    "ru": "Куда пропали все цветы? Я не знаю.",
    "ar": "أين ذهبت كل الزهور؟ لا أعرف.",
    "zh": "花儿都到哪里去了?我不知道。",
    "fa": "گل‌ها کجا رفته‌اند؟ نمی‌دانم.",
}
# Bits that rules look for, in every order: numbers, marks, units, months, coins, addresses of all ten languages.
BITS = [
    *"0123456789", *" .,:;/-—+%$€£¥°'\"()=*x×^#@&½¼²³№§~<>|\\_", "km", "kg", "Mio.", "г.", "руб.", "年", "月", "日",
    "点", "个", "م", "ص", "ه", " mai ", " мая ", "May ", " مرداد ", "3. Mai", "Uhr", "h", "pm", "XIV", "Louis ", "http://",
    "www.", "a.com", "1/2", "12:30", "2024", "05", "1,000.5", "-5", "тел. ", "Tel. ", "1403/05/12", "٪", "٫", "٬", "⅞",
    "😀", "\u200c", "e", "de", "и", "و", "第", "元", "万", "٣", "۳", "9" * 20, "9" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("language", CODES)
def test_a_text_without_anything_to_read_comes_back_as_it_is(language):
    text = clean(PLAIN[language])
    assert normalise(text, language) == text


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(BITS), max_size=20), st.sampled_from([*CODES, "tr", "ja", "sw", "qq"]))
def test_no_figures_are_left_and_nothing_crashes(bits, language):
    said = normalise(clean("".join(bits)), language)
    if language in CODES:
        assert not any(unicodedata.category(char) == "Nd" for char in said)


@pytest.mark.parametrize("language", CODES)
def test_every_number_has_words(language):
    for value in [
        *range(1000),
        1001,
        1100,
        1999,
        2000,
        10_000,
        11_111,
        99_999,
        10**6,
        10**9,
        10**12,
        123_456_789_012_345,
    ]:
        said = normalise(str(value), language)
        assert said.strip()
        assert not any(char.isdigit() for char in said)


@pytest.mark.parametrize("language", CODES)
@pytest.mark.parametrize("place", ["a {} b", "5 {} 6", "{}5", "5{}", "0{}", "5 {}", "{}"])
def test_a_symbol_becomes_words_or_stays(language, place):
    """Never the same words as without it: whatever is not read is there to be named by `check` and `say`."""
    symbols = [chr(code) for code in range(0x21, 0x2300) if unicodedata.category(chr(code)) in ("Sc", "Sm", "So", "Po")]
    for symbol in (char for char in symbols if clean(char) == char and not is_silent(char)):
        said = normalise(place.format(symbol), language)
        without = normalise(" ".join(place.format(" ").split()), language)
        assert symbol in said or len(said.split()) > len(without.split()) or said != without, (symbol, said)


@pytest.mark.parametrize("language", CODES)
@pytest.mark.parametrize("text", ["07½", "07 ¾", "07°", "07º", "'07"])
def test_a_leading_zero_is_read(text, language):
    assert normalise(text, language) != normalise(text.replace("0", ""), language)


@pytest.mark.parametrize(
    ("text", "language", "said"),
    [
        ("0º", "pt", "zero graus"),
        ("+31403/05/12", "en", "plus thirty-one thousand four hundred three slash zero five slash twelve"),
        ("02¥", "ar", "صفر اثنان ين"),
        ("0°", "es", "cero grados"),
        ("0°", "it", "zero gradi"),
        ("21", "tr", "yirmi bir"),
        ("-3,5", "nl", "min drie komma vijf"),
        ("1.234", "pl", "tysiąc dwieście trzydzieści cztery"),
        ("٢١", "ur", "٢١"),  # no rules for its numbers: left to the voice
        ("21", "ja", "21"),  # numbers in kanji cannot be spoken
        ("5%", "sv", "fem%"),
    ],
)
def test_other_languages_get_numbers(text, language, said):
    assert normalise(text, language) == said


def test_digits_of_every_script_are_read():
    assert {normalise(clean(text), "fa") for text in ("25 متر", "۲۵ متر", "٢٥ متر")} == {"بیست و پنج متر"}
    assert normalise(clean("كتاب علي"), "fa") == "کتاب علی"


def test_dialects():
    assert normalise("05/03/2024", "en-us") == "May third, twenty twenty-four"
    assert normalise("05/03/2024", "en-gb") == "the fifth of March, twenty twenty-four"
    assert normalise("105", "en-gb") == "one hundred and five"
    assert normalise("1.500", "es") == "mil quinientos"
    assert normalise("1.5", "es-419") == "uno punto cinco"
    assert normalise("16", "pt") == "dezasseis"
    assert normalise("16", "pt-br") == "dezesseis"


@pytest.mark.parametrize("kind", ["phonemes", "characters"])
def test_it_runs_before_phonemes_and_before_characters(kind):
    def read(text, **options):
        return TextFrontend(kind, **options).symbols([text], "de")[0]

    assert read("am 3. Mai 1998") == read("am dritten Mai neunzehnhundertachtundneunzig")
    assert read("am 3. Mai 1998", normalise=False) != read("am 3. Mai 1998")


def test_characters_without_normalising_are_the_letters_of_the_text():
    [symbols] = TextFrontend("characters", bos=False, eos=False, normalise=False).symbols(["5 km"], "en")
    assert symbols == list("5 km")


@pytest.mark.parametrize("kind", ["phonemes", "characters"])
def test_random_texts_of_all_scripts_lose_nothing_in_silence(kind):
    """150 texts; benchmarks/text_fuzz.py reads 100,000."""
    letters, frontend, codes = text_fuzz.alphabet(), TextFrontend(kind), [*CODES, "tr", "hi", "ka", "vi", "cv"]
    for number in range(150):
        rng = np.random.default_rng([7, number])
        text, language = text_fuzz.make_text(rng, letters), codes[number % len(codes)]
        assert not text_fuzz.dropped(text, language, frontend), (text, language)
