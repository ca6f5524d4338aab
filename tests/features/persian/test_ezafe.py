"""Persian as it is spoken: the ezafe, the glides, the words that eSpeak does not know, what the writer has marked."""

import persian as benchmark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.features.persian import ezafe
from myxtts.features.phonemes import phonemise
from myxtts.features.text import TextFrontend


def sounds(text: str) -> str:
    """Without stress and length."""
    [symbols] = TextFrontend(stress=False, bos=False, eos=False).symbols([text], "fa")
    return "".join(symbols).replace("ː", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("کتاب من", "ketɑbe man"),
        ("خانه ما بزرگ است.", "xɑneje mɑ bozorɡ ast."),
        ("دانشگاه تهران", "dɑneʃɡɑhe tehrɑn"),
        ("جمهوری اسلامی ایران", "dʒomhurije eslɑmije irɑn"),
        ("روی میز", "ruje miz"),
        ("سال ۱۴۰۳ و من", "sɑle hezɑr o tʃahɑrsad o se va man"),
        ("برای دوست من", "barɑje duste man"),
        ("کتاب‌های خوب", "ketɑbhɑje xub"),
        ("او به مدرسه رفت.", "u be madrese raft."),
        ("این کتاب را خواندم.", "in ketɑb rɑ xɑndam."),
    ],
)
def test_ezafe(text, expected):
    assert sounds(text) == expected


@pytest.mark.parametrize("text", ["کتابِ او", "خانهٔ او", "خانۀ او", "خانه‌ی او", "کتابِ، او"])
def test_an_ezafe_that_is_written_is_spoken(text):
    assert sounds(text).split()[0].rstrip(",").endswith("e")


def test_a_written_ezafe_does_not_change_the_word():
    assert sounds("شبِ سیاه") == sounds("شب سیاه") == "ʃabe sijɑh"
    assert sounds("خانهٔ ما") == sounds("خانهٔ ما") == sounds("خانه‌ی ما") == sounds("خانه ما")


def test_a_sukun_says_that_there_is_none():
    assert sounds("کتابْ من") == "ketɑb man"


def test_no_ezafe_before_a_mark_or_at_the_end():
    assert not sounds("کتاب").endswith("e")
    assert sounds("کتاب، دفتر").startswith("ketɑb,")


@pytest.mark.parametrize(
    ("word", "expected"),
    [("زیاد", "zijɑd"), ("دانایی", "dɑnɑji"), ("سازمان", "sɑzmɑn"), ("رسانه‌ها", "resɑnehɑ"), ("رسانه‌ای", "resɑneʔi"),
     ("گفت‌وگو", "ɡoftoɡu"), ("می‌خوای", "mixɑj")],
)  # fmt: skip
def test_words_and_glides(word, expected):
    assert sounds(word) == expected


def test_every_word_of_the_list_differs_from_what_espeak_says():
    from myxtts.features import espeak
    from myxtts.features.persian import reading

    words = reading._words()
    assert len(words) >= 100
    spoken = espeak.speak_all({("fa", word) for word in words})
    same = [word for word in words if reading._add_glides(spoken["fa", word]) == words[word]]
    assert not same


@pytest.mark.slow
def test_the_bars_on_sentences_with_hard_ezafe():
    """15 % of words wrong and F1 80 are what must ship; eSpeak alone has 26.6 % and 22."""
    sentences = benchmark.read_sentences(benchmark.KASRE)
    phonemes = benchmark.score(sentences, phonemise)
    assert phonemes.words_wrong <= 0.13
    assert phonemes.ezafe_f1 >= 0.81
    assert benchmark.score(sentences, benchmark.espeak_alone).words_wrong == pytest.approx(0.266, abs=0.001)


# ---- any text --------------------------------------------------------------------------------------------------------

ODD = st.text(
    st.sampled_from("سلامپچگژقغهیيكۀةءأؤئ\u200c\u0650\u0651\u0652\u064b\u0654\u0670 ،.؟!()—a1۲٪"), max_size=60
)


@given(st.lists(ODD, max_size=5))
@settings(max_examples=200)
def test_any_persian_text_gives_one_output_and_the_same_each_time(texts):
    out = TextFrontend().symbols(texts, "fa")
    assert out is not None
    assert [str(each) for each in out] == [str(TextFrontend().symbols([text], "fa")[0]) for text in texts]


@given(st.lists(st.text(min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=30))
@settings(max_examples=200)
def test_the_tagger_takes_any_words(words):
    tagger = ezafe.EzafeTagger.load()
    assert len(tagger.tag(words)) == len(words)
    assert not tagger.tag([])


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=7), st.lists(st.floats(-2, 2), min_size=4, max_size=4))
def test_the_best_path_is_the_best_of_all_paths(scores, numbers):
    transitions = [numbers[:2], numbers[2:]]

    def worth(path):
        steps = sum(transitions[before][after] for before, after in zip(path, path[1:], strict=False))
        return steps + sum(score for score, label in zip(scores, path, strict=True) if label)

    paths = [[bool(n >> bit & 1) for bit in range(len(scores))] for n in range(2 ** len(scores))]
    assert worth(ezafe.best_path(scores, transitions)) == pytest.approx(max(map(worth, paths)))


def test_scores_are_the_sums_of_the_weights_of_features():
    tagger = ezafe.EzafeTagger.load()
    words = ["کتاب", "من", "روی", "میز", "است", "."]
    sums = [tagger._unit * sum(tagger._weights[slot] for slot in slots) for slots in ezafe.features(words)]
    assert tagger.scores(words) == pytest.approx(sums)
