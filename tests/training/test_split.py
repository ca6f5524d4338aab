"""The validation split: no sentence on both sides, whatever the order, and old decisions hold as a corpus grows."""

import unicodedata
from pathlib import Path

import numpy as np
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from myxtts.features.letters import clean
from myxtts.training import split as room
from myxtts.training.split import FEWEST, MOST, SHARE, choose, hash_texts, split

SENTENCES = st.lists(st.integers(0, 2**64 - 1), min_size=2 * FEWEST, max_size=400, unique=True)
HASHED = st.sets(st.integers(0, 5000), min_size=2 * FEWEST, max_size=400).map(
    lambda numbers: [xxhash.xxh3_64_intdigest(b"%d" % number) for number in numbers]
)  # as evenly spread as real ones
CROWDED = st.lists(st.integers(0, 12).map(lambda n: n * (2**59) + 7), min_size=1, max_size=300)


def chosen(hashes) -> np.ndarray:
    return choose(np.array(hashes, np.uint64))[0]


class StubCache(room.Cache):
    """The two things that the split reads of a cache."""

    def __init__(self, folder: Path, texts: list[str]):
        self.folder = folder
        encoded = [text.encode() for text in texts]
        folder.mkdir(parents=True, exist_ok=True)
        self._blobs = {"text_bytes": np.frombuffer(b"".join(encoded), np.uint8)}
        self.columns = {"text_end": np.cumsum([len(text) for text in encoded], dtype=np.int64)}


@given(SENTENCES)
def test_it_takes_five_per_cent_within_its_bounds(hashes):
    count = chosen(hashes).sum()
    low = sum(value < SHARE * 2**64 for value in hashes)
    assert count == min(max(low, FEWEST), MOST, len(hashes) // 2)


@given(CROWDED)
def test_no_sentence_is_on_both_sides(hashes):
    mask = chosen(hashes)
    values = np.array(hashes, np.uint64)
    assert not set(values[mask]) & set(values[~mask])
    assert not mask.any() or (FEWEST <= mask.sum() <= min(MOST, len(hashes) // 2))


@given(SENTENCES, st.randoms(use_true_random=False))
def test_the_order_of_the_corpus_does_not_matter(hashes, random):
    shuffled = random.sample(hashes, len(hashes))
    pick = {value for value, side in zip(hashes, chosen(hashes), strict=True) if side}
    assert pick == {value for value, side in zip(shuffled, chosen(shuffled), strict=True) if side}


@given(HASHED, HASHED)
def test_what_was_trained_on_is_never_validated_on_later(old, added):
    grown = old + [value for value in added if value not in set(old)]
    before, after = chosen(old), chosen(grown)[: len(old)]
    assert not (after & ~before).any()


def test_a_large_corpus_gives_two_hundred():
    hashes = np.random.default_rng(0).integers(0, 2**64, 100_000, dtype=np.uint64)
    mask, note = choose(hashes)
    assert (mask.sum(), note) == (MOST, "")
    assert hashes[mask].max() < hashes[~mask].min()


def test_a_sentence_that_everybody_says_is_not_validation():
    """The lowest hash has 300 utterances: more than validation may have. The next ones are taken instead."""
    mask = chosen([1] * 300 + list(range(2**60, 2**60 + 400)))
    assert not mask[:300].any()
    assert mask.sum() == FEWEST


def test_too_small_a_corpus_has_no_validation_and_says_so(tmp_path, caplog):
    few = split(StubCache(tmp_path / "few", [f"Sentence {n}." for n in range(15)]))
    same = split(StubCache(tmp_path / "same", ["Again!"] * 50))
    two = split(StubCache(tmp_path / "two", ["Most of them."] * 40 + ["One."]))
    for chosen, size in ((few, 15), (same, 50), (two, 41)):
        assert len(chosen.train[0]) == size
        assert len(chosen.validation[0]) == 0
    assert "found 15 utterances, expected at least 16" in few.note
    assert "say the same" in same.note
    assert "2 different sentences for 41 utterances" in two.note
    assert [record.message.partition(":")[0] for record in caplog.records] == ["no validation"] * 3


def test_several_caches_are_split_as_one(tmp_path):
    texts = [f"This is sentence number {n}." for n in range(120)]
    whole = split(StubCache(tmp_path / "whole", texts))
    parts = split([StubCache(tmp_path / "a", texts[:50]), StubCache(tmp_path / "b", texts[50:])])
    assert np.concatenate([parts.validation[0], parts.validation[1] + 50]).tolist() == whole.validation[0].tolist()
    assert np.concatenate([parts.train[0], parts.train[1] + 50]).tolist() == whole.train[0].tolist()
    assert sorted([*whole.train[0], *whole.validation[0]]) == list(range(120))


def test_a_real_cache_is_split_by_its_texts(tmp_path, corpus_folder):
    from myxtts.cache.pack import pack
    from myxtts.cache.reader import Cache
    from myxtts.cache.settings import PackSettings
    from myxtts.corpus.read import open_corpus
    from myxtts.features.audio import AudioSettings
    from myxtts.features.text import TextFrontend

    pack(open_corpus(corpus_folder), tmp_path / "x.cache", PackSettings(AudioSettings(), TextFrontend("characters")))
    cache = Cache(tmp_path / "x.cache")
    hashes = hash_texts([cache.text(n) for n in range(len(cache))])
    np.testing.assert_array_equal(room.text_hashes(cache), hashes)
    assert split(cache).validation[0].tolist() == np.flatnonzero(chosen(hashes)).tolist()


# ---- the hash -------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(), max_size=8))
def test_all_forms_of_a_text_have_one_hash(texts):
    forms = [
        texts,
        [clean(text) for text in texts],
        [unicodedata.normalize("NFD", text) for text in texts],
        [f"  «{text}»?! " for text in texts],
    ]
    hashes = [hash_texts(form).tolist() for form in forms]
    assert all(each == hashes[0] for each in hashes[1:])
    assert [hash_texts([text])[0] for text in texts] == hashes[0]  # neighbours do not matter


def test_what_is_said_decides():
    one, two, *others = hash_texts(
        ["It’s café NUMBER 5.", "its cafe\u0301 number 5", "It is number 5.", "Number 6", "۵"]
    )
    assert one == two
    assert len({one, *others}) == 4


def test_the_hash_of_a_sentence_never_changes():
    """A changed hash would move trained sentences into the validation of a run that goes on."""
    assert hash_texts(["Hello, world!", "سلام دنیا"]).tolist() == [
        5325470657154775638,
        2244433260366677185,
    ]


def test_python_does_not_look_at_every_character(tmp_path, monkeypatch):
    """What each character means is worked out once: so a million utterances take 3 seconds."""
    calls = []
    monkeypatch.setattr(room, "clean", lambda text: calls.append(text) or clean(text))
    split(
        StubCache(
            tmp_path / "x", [f"A sentence with the number {n} in it, and some words more." for n in range(40_000)]
        )
    )
    assert len(calls) < 60
