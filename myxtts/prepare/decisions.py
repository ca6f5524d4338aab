"""What a person decided about rows: one line each, applied in order whenever the corpus is written.

{"do": "accept", "id": ROW}                          the row is right
{"do": "reject", "id": ROW}                          it is not to be used
{"do": "text", "id": ROW, "text": TEXT}              this is what is said
{"do": "join", "id": ROW}                            one row of this one and the next
{"do": "split", "id": ROW, "at": SECONDS, "texts": [TEXT, TEXT]}    two rows; the time is counted from its beginning
{"do": "undo"}                                       the decision before it is not
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from myxtts.cache.journal import Journal, read_journal
from myxtts.errors import PrepareError
from myxtts.prepare.rows import Row
from myxtts.shapes import Number, Only, misfit

LONGEST_JOINED = 30.0  # seconds; `pack` takes 40 by default
_SHORTEST_PART = 0.3
_SHAPES: dict[str, dict[str, Any]] = {
    "accept": {"id": str},
    "reject": {"id": str},
    "text": {"id": str, "text": str},
    "join": {"id": str},
    "split": {"id": str, "at": Number(0, 3600), "texts": [str]},
    "undo": {},
}
_OURS = {"decisions": 1}


class Decisions:
    """The lines so far; another one is on disk when `add` returns."""

    def __init__(self, path: Path):
        self._path = path
        self.made: list[dict[str, Any]] = read_journal(path, Any)[1:]

    def add(self, decision: dict[str, Any], rows: list[Row]) -> list[Row]:
        """The rows after it. A decision that cannot be is a `PrepareError`, and is not kept."""
        check(decision)
        after, stale = apply(rows, [*self.made, decision])
        if why := next((why for one, why in stale if one is decision), None):
            raise PrepareError(why)
        self.made.append(decision)
        journal = Journal(self._path, [_OURS, *self.made])
        journal.close()
        return after


def check(decision: Any) -> None:
    kind = decision.get("do") if isinstance(decision, dict) else None
    if kind not in _SHAPES:
        raise PrepareError(f"found a decision {str(kind)[:40]!r}, expected one of {', '.join(_SHAPES)}")
    if wrong := misfit(decision, Only({"do": str} | _SHAPES[kind])):
        raise PrepareError(f"the decision {kind!r} is not as it should be: {wrong}")
    if kind == "split" and len(decision["texts"]) != 2:
        raise PrepareError(f"a row is split in two, found {len(decision['texts'])} texts")


def apply(rows: list[Row], decisions: list[dict[str, Any]]) -> tuple[list[Row], list[tuple[dict[str, Any], str]]]:
    """The rows after all decisions; and decisions that fit no row, as of a recording cut otherwise now, with why."""
    rows, stale = list(rows), list[tuple[dict[str, Any], str]]()
    for decision in _without_undone(decisions):
        at = next((n for n, row in enumerate(rows) if row.id == decision["id"]), None)
        made = "there is no such row any more" if at is None else _CHANGES[decision["do"]](rows, at, decision)
        if isinstance(made, str):
            stale.append((decision, made))
        else:
            rows = made
    return rows, stale


def _without_undone(decisions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    left: list[dict[str, Any]] = []
    for decision in decisions:
        if decision["do"] != "undo":
            left.append(decision)
        elif left:
            left.pop()
    return left


def _accept(rows: list[Row], at: int, _: dict[str, Any]) -> list[Row] | str:
    return _put(rows, at, 1, [_sure(rows[at])]) if rows[at].text.strip() else "the row has no text: write it first"


def _reject(rows: list[Row], at: int, _: dict[str, Any]) -> list[Row] | str:
    return _put(rows, at, 1, [replace(rows[at], reason="rejected")])


def _correct(rows: list[Row], at: int, decision: dict[str, Any]) -> list[Row] | str:
    text = " ".join(decision["text"].split())
    return _put(rows, at, 1, [_sure(replace(rows[at], text=text))]) if text else "the text is empty"


def _join(rows: list[Row], at: int, _: dict[str, Any]) -> list[Row] | str:
    one, other = rows[at], rows[min(at + 1, len(rows) - 1)]
    if other is one or other.source != one.source:
        return "the recording has no row after this one"
    if other.end - one.start > LONGEST_JOINED:
        return f"both would have {other.end - one.start:.0f} s, expected {LONGEST_JOINED:.0f} at most"
    joined = replace(
        one, id=_id(one.source, one.start, other.end), end=other.end, text=f"{one.text} {other.text}".strip(),
        heard=f"{one.heard} {other.heard}".strip(), reason=one.reason or other.reason,
        trust=min(one.trust, other.trust), confidence=min(one.confidence, other.confidence),
    )  # fmt: skip
    return _put(rows, at, 2, [joined])


def _split(rows: list[Row], at: int, decision: dict[str, Any]) -> list[Row] | str:
    row, (left, right) = rows[at], (" ".join(text.split()) for text in decision["texts"])
    place = round(row.start + decision["at"], 3)
    if not row.start + _SHORTEST_PART <= place <= row.end - _SHORTEST_PART:
        return f"a part would be shorter than {_SHORTEST_PART} s"
    if not (left and right):
        return "a part would have no text"
    parts = [(row.start, place, left), (place, row.end, right)]
    new = [replace(row, id=_id(row.source, *span), start=span[0], end=span[1], text=text) for *span, text in parts]
    return _put(rows, at, 1, [_sure(part) for part in new])


_CHANGES = {"accept": _accept, "reject": _reject, "text": _correct, "join": _join, "split": _split}


def _sure(row: Row) -> Row:
    """A person has heard it."""
    return replace(row, trust=1.0, reason="")


def _put(rows: list[Row], at: int, count: int, new: list[Row]) -> list[Row]:
    return [*rows[:at], *new, *rows[at + count :]]


def _id(source: str, start: float, end: float) -> str:
    return f"{source}-{round(start * 1000):08d}-{round(end * 1000):08d}"
