"""What a person decides is kept, replayed in order, and can be taken back."""

import pytest

from myxtts.errors import PrepareError
from myxtts.prepare.decisions import Decisions, apply
from myxtts.prepare.rows import Row


def rows():
    return [Row(f"a-{n}", "a", 3.0 * n, 3.0 * n + 2.5, f"Sentence {n}.", "anna", "en-us", 0.5, reason=reason)
            for n, reason in enumerate(["", "low_confidence", ""])]  # fmt: skip


def test_each_decision_does_what_it_says():
    after, stale = apply(rows(), [{"do": "accept", "id": "a-1"}, {"do": "reject", "id": "a-0"},
                                  {"do": "text", "id": "a-2", "text": " Another\n one. "}])  # fmt: skip
    assert [(row.reason, row.text, row.trust) for row in after] == [
        ("rejected", "Sentence 0.", 0.5),
        ("", "Sentence 1.", 1.0),
        ("", "Another one.", 1.0),
    ]
    assert stale == []


def test_rows_are_joined_and_split():
    after, _ = apply(rows(), [{"do": "join", "id": "a-1"}])
    assert [(row.start, row.end, row.text) for row in after][1:] == [(3.0, 8.5, "Sentence 1. Sentence 2.")]
    assert after[1].reason == "low_confidence"
    split = {"do": "split", "id": after[1].id, "at": 2.0, "texts": ["Sentence one,", "and two."]}
    again, _ = apply(rows(), [{"do": "join", "id": "a-1"}, split])
    assert [(row.start, row.end, row.text, row.reason) for row in again][1:] == [
        (3.0, 5.0, "Sentence one,", ""),
        (5.0, 8.5, "and two.", ""),
    ]
    assert len({row.id for row in again}) == 3


def test_decisions_are_replayed_and_taken_back(tmp_path):
    made = Decisions(tmp_path / "d.jsonl")
    made.add({"do": "reject", "id": "a-0"}, rows())
    made.add({"do": "reject", "id": "a-1"}, rows())
    made.add({"do": "undo"}, rows())
    after, _ = apply(rows(), Decisions(tmp_path / "d.jsonl").made)
    assert [row.reason for row in after] == ["rejected", "low_confidence", ""]


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        ({"do": "fly", "id": "a-0"}, "expected one of accept, reject"),
        ({"do": "text", "id": "a-0"}, "not as it should be"),
        ({"do": "text", "id": "a-0", "text": "  "}, "is empty"),
        ({"do": "accept", "id": "gone"}, "no such row"),
        ({"do": "join", "id": "a-2"}, "no row after"),
        ({"do": "split", "id": "a-0", "at": 2.4, "texts": ["a", "b"]}, "shorter than"),
        ({"do": "split", "id": "a-0", "at": 1.0, "texts": ["a", " "]}, "no text"),
        ({"do": "split", "id": "a-0", "at": 1.0, "texts": ["a"]}, "found 1 texts"),
        (["accept"], "expected one of"),
    ],
)
def test_a_decision_that_cannot_be_is_refused_and_not_kept(tmp_path, decision, message):
    made = Decisions(tmp_path / "d.jsonl")
    with pytest.raises(PrepareError, match=message):
        made.add(decision, rows())
    assert made.made == []
    assert Decisions(tmp_path / "d.jsonl").made == []


def test_a_decision_about_a_row_that_is_gone_is_counted():
    after, stale = apply(rows(), [{"do": "reject", "id": "of another cut"}])
    assert (after, len(stale)) == (rows(), 1)
