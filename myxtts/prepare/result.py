"""Writes the corpus from what the journal knows: the same journal, the same corpus, byte by byte.

manifest.jsonl       the rows: what `check`, `pack` and `train` read
aside.jsonl          slices that are no rows, each with its reason
left_out.jsonl       every other second of the recordings, with its reason
differences.jsonl    what is only in the text, and what is only in the sound
wavs/                one file for each row and each slice that was put aside
"""

from __future__ import annotations

import bisect
import json
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from myxtts.files import place_of, write_whole
from myxtts.prepare.cutting import write_slices
from myxtts.prepare.decisions import Decisions, apply
from myxtts.prepare.rows import Difference, Row, rows_of
from myxtts.prepare.slicing import SLICE, Stretch
from myxtts.prepare.state import Source, State


@dataclass(frozen=True)
class Result:
    """All that is written. `proposed` are the rows before a person decided anything."""

    proposed: list[Row]
    rows: list[Row]  # the corpus and what is aside, in the order of the recordings
    differences: list[Difference]
    left_out: list[tuple[Source, Stretch]]
    stale_decisions: int


def compose(state: State, least_trust: float) -> Result:
    proposed: list[Row] = []
    differences: list[Difference] = []
    for group in state.current_groups():
        rows, differing = rows_of(group, state, least_trust)
        proposed += rows
        differences += differing
    rows, stale = apply(proposed, decisions_of(state).made)
    used = {digest for group in state.current_groups() for digest in group.sources}
    sources = [source for digest, source in state.sources.items() if digest in used]
    left_out = [(source, part) for source in sources for part in _left_out(source, state, rows)]
    return Result(proposed, rows, differences, left_out, len(stale))


def decisions_of(state: State) -> Decisions:
    return Decisions(state.folder / "decisions.jsonl")


def _left_out(source: Source, state: State, rows: list[Row]) -> Iterable[Stretch]:
    """Without the pauses inside rows that were joined."""
    own = sorted((row.start, row.end) for row in rows if row.source == source.name)
    starts = [start for start, _ in own]
    for part in state.stretches(source):
        before = bisect.bisect_right(starts, part.start) - 1
        inside = before >= 0 and part.end <= own[before][1]
        if part.kind != SLICE and not inside:
            yield part


def publish(state: State, result: Result) -> dict[str, Any]:
    """Write it all; the manifest last, so that what it names is there. Returns the summary."""
    (state.corpus / "wavs").mkdir(exist_ok=True)
    for source in state.sources.values():
        own = [row for row in result.rows if row.source == source.name]
        write_slices(source, [(row.start, row.end, state.corpus / row.audio) for row in own])
    kept = [row for row in result.rows if not row.reason]
    aside = [row for row in result.rows if row.reason]
    _write(state.corpus / "aside.jsonl", (row.to_dict() for row in aside))
    _write(state.corpus / "left_out.jsonl", (_as_dict(*each) for each in result.left_out))
    _write(state.corpus / "differences.jsonl", (each.to_dict() for each in result.differences))
    _write(state.corpus / "manifest.jsonl", (row.to_dict() for row in kept))
    _clear(state.corpus / "wavs", {Path(row.audio).name for row in result.rows})
    summary = summarise(state, result)
    write_whole(state.corpus / "prepare" / "summary.json", (json.dumps(summary, indent=2) + "\n").encode())
    return summary


def summarise(state: State, result: Result) -> dict[str, Any]:
    """Every second of every recording is in one of `rows`, `aside` and `left_out`."""
    kept = [row for row in result.rows if not row.reason]
    aside = [(row.reason, row.seconds) for row in result.rows if row.reason]
    left_out = [(part.kind, part.seconds) for _, part in result.left_out]
    used = {source.digest: source for source, _ in result.left_out} | _sources_of(state, result.rows)
    total = sum(source.seconds for source in used.values())
    accounted = sum(row.seconds for row in kept) + sum(seconds for _, seconds in [*aside, *left_out])
    differences = [each.kind for each in result.differences]
    return {
        "recordings": len(used),
        "seconds": round(total, 3),
        "rows": len(kept),
        "row_seconds": round(sum(row.seconds for row in kept), 3),
        "trust": round(statistics.median(row.trust for row in kept), 3) if kept else None,
        "aside": _by_reason(aside),
        "left_out": _by_reason(left_out),
        "unaccounted_seconds": round(abs(total - accounted), 3) + 0.0,
        "not_read": differences.count("not_read"),
        "not_in_text": differences.count("not_in_text"),
        "stale_decisions": result.stale_decisions,
    }


def _sources_of(state: State, rows: list[Row]) -> dict[str, Source]:
    names = {row.source for row in rows}
    return {digest: source for digest, source in state.sources.items() if source.name in names}


def _by_reason(parts: list[tuple[str, float]]) -> dict[str, dict[str, float]]:
    durations: dict[str, list[float]] = defaultdict(list)
    for reason, seconds in parts:
        durations[reason].append(seconds)
    ranked = sorted(durations.items(), key=lambda item: (-sum(item[1]), item[0]))
    return {reason: {"count": len(each), "seconds": round(sum(each), 3)} for reason, each in ranked}


def _as_dict(source: Source, part: Stretch) -> dict[str, Any]:
    return {"source": source.name, "start": round(part.start, 3), "end": round(part.end, 3), "reason": part.kind}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


def _clear(folder: Path, used: set[str]) -> None:
    """Files of rows that are no more: joined, split, or cut otherwise; and what a kill has left half written."""
    for path in folder.iterdir():
        if path.name not in used and place_of(path.name).endswith(".wav"):
            path.unlink()
