"""The rows of a corpus in the making: each slice with its text and how far that can be trusted, or why it is aside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from myxtts.errors import PrepareError
from myxtts.evaluation.words import spoken_words
from myxtts.prepare import trust
from myxtts.prepare.allotment import Allotment, Share, allot
from myxtts.prepare.ears import Heard
from myxtts.prepare.script import Script
from myxtts.prepare.slicing import SHORTEST, SLICE, Stretch
from myxtts.prepare.state import Group, Source, State

ASIDE = {
    "untranscribed": "no text was given and no recogniser asked",
    "nothing_heard": "the recogniser heard no word",
    "low_confidence": "the recogniser is not sure of what it heard",
    "odd_rate": "far more or fewer characters a second than usual",
    "disagrees": "what was heard is not what the text says",
    "unlikely": "it does not sound as the voice expects of the text",
    "words_missing": "words of the text in the middle of it were not heard",
    "not_in_text": "what was said is not in the text",
    "partly_in_text": "a part of what was said is not in the text",
    "rejected": "a person said so",
}
LEAST_FOUND = 0.3  # of the heard words must be in the text: another text of the same language has less
_SURE = 0.9  # likelihood: most slices of a right text have it, 0 to 14 % of a wrong one (docs/log.md)
_LEAST_LIKELY = 0.35  # below it the words that a voice has found count as not read: the best of a wrong place
_WEAKEST = {"confidence": "low_confidence", "rate": "odd_rate", "agreement": "disagrees", "likelihood": "unlikely"}


@dataclass(frozen=True)
class Row:
    """`reason` is empty for a row of the corpus, else one of ASIDE."""

    id: str
    source: str  # the name of the recording
    start: float
    end: float
    text: str
    speaker: str
    language: str
    trust: float
    heard: str = ""
    confidence: float = 0.0
    level_db: float = 0.0
    snr_db: float = 0.0
    reason: str = ""

    @property
    def audio(self) -> str:
        return f"wavs/{self.id}.wav"

    @property
    def seconds(self) -> float:
        return self.end - self.start

    def to_dict(self) -> dict[str, Any]:
        plain = vars(self) | {"start": round(self.start, 3), "end": round(self.end, 3)}
        return {"id": self.id, "audio": self.audio} | {k: v for k, v in plain.items() if v != "" and k != "id"}


@dataclass(frozen=True)
class Difference:
    """A passage that is only in the text, or only in the sound (then with its place there)."""

    kind: str  # not_read or not_in_text
    text: str
    text_name: str
    row: str  # the row that it is in, or before

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class _Slice:
    source: Source
    stretch: Stretch
    heard: Heard | None


def rows_of(group: Group, state: State, least_trust: float) -> tuple[list[Row], list[Difference]]:
    """The rows of a group, in the order of its recordings."""
    slices = list(_slices(group, state))
    if group.text is None:
        texts = [(each.heard.text if each.heard else "", "") for each in slices]
        return _judge(slices, texts, group, least_trust), []
    script = Script.of(state.text(group.text), group.language)
    given = allot([_words(each, group) for each in slices], script)
    _refuse_other_texts(given, slices, group)
    rows = _judge(slices, [_text(share, script, group) for share in given.shares], group, least_trust)
    return rows, list(_differences(given, rows, script, group))


def _slices(group: Group, state: State) -> Iterator[_Slice]:
    for source in (state.sources[digest] for digest in group.sources):
        for stretch in state.stretches(source):
            if stretch.kind == SLICE:
                yield _Slice(source, stretch, state.heard.get(source.key_of(stretch, group.ear)))


def _words(each: _Slice, group: Group) -> list[str]:
    if each.heard is None or (group.is_aligned and each.heard.confidence < _LEAST_LIKELY):
        return []
    return list(Script.of(each.heard.text, group.language).spoken)


def _refuse_other_texts(given: Allotment, slices: list[_Slice], group: Group) -> None:
    heard = [each.heard for each in slices if each.heard and (each.heard.text or group.is_aligned)]
    likely = sum(one.confidence >= _SURE for one in heard)
    share, what = (likely / max(len(heard), 1), "slices") if group.is_aligned else (given.known_share, "words heard")
    if heard and share < LEAST_FOUND:
        names = ", ".join(dict.fromkeys(each.source.name for each in slices))
        raise PrepareError(
            f"the text {group.text_name} is not that of {names}: of the {what} ({group.language}) "
            f"{share:.0%} are in it, expected {LEAST_FOUND:.0%} or more; "
            "name the right --text and --language"
        )


def _text(share: Share, script: Script, group: Group) -> tuple[str, str]:
    """The words of a slice, and why it must not be a row."""
    if not share:
        return "", "not_in_text" if share.extra or group.is_aligned else "nothing_heard"
    return share.text(script), "partly_in_text" if share.extra else "words_missing" if share.unread else ""


def _judge(slices: list[_Slice], texts: list[tuple[str, str]], group: Group, least_trust: float) -> list[Row]:
    spoken = [spoken_words(text, group.language) for text, _ in texts]
    rates = [_rate(words, each.stretch) for each, words in zip(slices, spoken, strict=True)]
    usual = trust.usual_rate(rates)
    rows = []
    for each, (text, fault), words, rate in zip(slices, texts, spoken, rates, strict=True):
        parts = {"rate": trust.plausibility(rate, usual)}
        if group.text is None or group.is_aligned:
            parts["likelihood" if group.is_aligned else "confidence"] = each.heard.confidence if each.heard else 0.0
        else:
            parts["agreement"] = trust.agreement(words, _words(each, group))
        value, weakest = trust.weakest(**parts)
        reason = fault or _missing(each, text) or (_WEAKEST[weakest] if value < least_trust else "")
        rows.append(_row(each, text, group, value, reason))
    return rows


def _rate(words: list[str], stretch: Stretch) -> float:
    """Characters a second without the pauses, with which numbers read one by one would be 3x slower than sentences."""
    return len(" ".join(words)) / max(stretch.spoken_seconds, SHORTEST / 4)


def _missing(each: _Slice, text: str) -> str:
    if each.heard is None:
        return "untranscribed"
    return "" if text.strip() else "nothing_heard"


def _row(each: _Slice, text: str, group: Group, value: float, reason: str) -> Row:
    source, stretch, heard = each.source, each.stretch, each.heard or Heard("", 0.0)
    return Row(
        source.id_of(stretch), source.name, stretch.start, stretch.end, text, group.speaker, group.language, value,
        heard.text, heard.confidence, stretch.level_db, stretch.snr_db, reason,
    )  # fmt: skip


def _differences(given: Allotment, rows: list[Row], script: Script, group: Group) -> Iterator[Difference]:
    for share, row in zip(given.shares, rows, strict=True):
        unwritten = [""] if group.is_aligned and not share else []  # a voice finds words, but writes none down
        for passage in share.extra + unwritten:
            yield Difference("not_in_text", passage, group.text_name, row.id)
    for first, last in given.unread:
        after = next(
            (row.id for share, row in zip(given.shares, rows, strict=True) if share and share.first > last), ""
        )
        yield Difference("not_read", script.text(first, last), group.text_name, after)
