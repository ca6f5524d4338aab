"""Each slice gets its own words of a text; what is missing, added or misheard stays where it belongs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myxtts.evaluation.words import spoken_words
from myxtts.prepare.alignment import NOWHERE, align
from myxtts.prepare.allotment import allot
from myxtts.prepare.script import Script

STORY = [
    "The old lighthouse stood on a cliff above the northern sea.",
    "Nobody had lived there since the great storm.",
    "One winter evening a lamp was burning in its window.",
    "The fishermen saw it, and they were afraid.",
    "Only Clara took her bicycle and rode up the hill.",
    "In the kitchen sat a man who was mending nets.",
]
WORDS = st.lists(st.sampled_from(["the", "sea", "a", "lamp", "storm", "hill", "clara", "nets", "of"]), max_size=40)


def shares_of(heard, text):
    script = Script.of(" ".join(text), "en-us")
    given_ = allot([spoken_words(one) for one in heard], script)
    texts = [share.text(script) if share else "" for share in given_.shares]
    return texts, given_, [script.text(*one) for one in given_.unread]


@given(WORDS, WORDS)
def test_places_only_go_up(heard, text):
    places = align(heard, text)
    known = [place for place in places if place != NOWHERE]
    assert len(places) == len(heard)
    assert known == sorted(set(known))
    assert all(0 <= place < len(text) for place in known)


@given(WORDS)
def test_the_same_words_are_all_found(words):
    assert align(words, words) == list(range(len(words)))


def test_a_text_that_was_read_as_it_stands():
    texts, given_, unread = shares_of(STORY, STORY)
    assert texts == STORY
    assert (unread, given_.known_share) == ([], 1.0)


def test_a_passage_that_was_skipped_is_listed():
    texts, _, unread = shares_of([*STORY[:2], *STORY[4:]], STORY)
    assert texts == [*STORY[:2], *STORY[4:]]
    assert unread == [" ".join(STORY[2:4])]


def test_a_passage_that_is_not_in_the_text_is_listed():
    texts, given_, unread = shares_of(STORY, [*STORY[:3], *STORY[4:]])
    assert texts == [*STORY[:3], "", *STORY[4:]]
    assert given_.shares[3].extra == ["the fishermen saw it and they were afraid"]
    assert unread == []


def test_a_slice_that_is_only_partly_in_the_text_says_so():
    _, given_, _ = shares_of([STORY[0], f"{STORY[1]} And now some music please.", STORY[2]], STORY)
    assert given_.shares[1].extra == ["and now some music please"]
    assert not given_.shares[0].extra
    assert not given_.shares[2].extra


@pytest.mark.parametrize(
    "heard",
    [
        "The old light house stood on a cliff above the northern sea.",
        "The old lighthouse stewed on a clip above the northern see.",
        "The old all of his stood on a cliff above the northern sea.",
        "The old lighthouse stood on a cliff above the northern",
        "old lighthouse stood on a cliff above northern sea.",
    ],
)
def test_misheard_words_do_not_move_the_ends(heard):
    texts, _, unread = shares_of([heard, *STORY[1:]], STORY)
    assert texts == STORY
    assert unread == []


def test_both_at_once_far_into_a_long_text():
    text = [f"{line[:-1]} in the year {n}." for n in range(40) for line in STORY]
    heard = [line for n, line in enumerate(text) if n % 20]
    texts, _, unread = shares_of(heard, text)
    assert texts == heard
    assert unread == [line for n, line in enumerate(text) if n % 20 == 0]


def test_words_that_were_not_heard_in_the_middle_are_counted():
    _, given_, unread = shares_of(["The old lighthouse above the northern sea.", *STORY[1:]], STORY)
    assert given_.shares[0].unread == 4
    assert unread == ["stood on a cliff"]


def test_a_sentence_that_nobody_read_may_lie_inside_a_slice():
    texts, given_, unread = shares_of([f"{STORY[0]} {STORY[2]}", *STORY[3:]], STORY)
    assert texts == [f"{STORY[0]} {STORY[2]}", *STORY[3:]]
    assert unread == [STORY[1]]
    assert given_.shares[0].unread == 0


def test_a_language_without_spaces():
    script = Script.of("你好，世界。今天天气很好。", "cmn")
    given_ = allot([list("你好世界"), list("今天天气很好")], script)
    assert [script.text(share.first, share.last) for share in given_.shares] == ["你好，世界。", "今天天气很好。"]
