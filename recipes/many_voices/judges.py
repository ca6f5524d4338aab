"""The voices to judge by, joined to manifests, so that each number of a base voice is one command.

JUDGES/seen.jsonl               20 voices that the base has heard, in sentences that it has not
JUDGES/unseen.jsonl             17 that it has not: 8 of Kokoro, two readers of prompts, the first 7 of letters
JUDGES/strangers.jsonl          27 that it has not: the 8 of Kokoro, and 19 people who speak words, of 16 languages
JUDGES/person-5.jsonl, -10, -30 minutes of one of the readers, to train on; each holds the one before it
JUDGES/person-held-out.jsonl    40 sentences of hers which are in none of these

`python -m recipes.base_voice.bars JUDGES WORK` prints what they say of a voice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.files import write_whole
from recipes.many_voices import kokoro, prompts, volunteers
from recipes.many_voices.corpus import Folder

READERS, LETTER_SPEAKERS = ("allison", "june"), 7
HELD_OUT_CLIPS, HELD_OUT_SECONDS = 12, 2.0
PERSON = [each for each in prompts.HELD_OUT if each.speaker == "allison"]
PERSON_MINUTES, PERSON_SENTENCES, PERSON_WORDS = (5, 10, 30), 40, 4

Rows = list[dict[str, Any]]


def make(out: Path, packages: Path) -> None:
    humans, person = Folder(out / "humans"), Folder(out / "person")
    for each in prompts.HELD_OUT:
        prompts.make_prompts(each, humans, packages, HELD_OUT_CLIPS, HELD_OUT_SECONDS)
    volunteers.make_letters(humans, packages)
    volunteers.make_words(Folder(out / "volunteers"), packages)
    kokoro.make_held_out(Folder(out / "kokoro"), packages)
    kokoro.make_seen(Folder(out / "seen"), packages)
    for each in PERSON:
        prompts.make_prompts(each, person, packages)
    write_manifests(out)


def write_manifests(out: Path) -> None:
    unseen, humans = _rows(out, "kokoro"), _rows(out, "humans")
    letters = sorted({row["speaker"] for row in humans} - set(READERS))[:LETTER_SPEAKERS]
    manifests = {
        "seen": _rows(out, "seen"),
        "unseen": unseen + [row for row in humans if row["speaker"] in (*READERS, *letters)],
        "strangers": unseen + _rows(out, "volunteers"),
    }
    for name, rows in (manifests | dict(_of_person(_rows(out, "person")))).items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        write_whole(out / f"{name}.jsonl", lines.encode())


def _rows(out: Path, name: str) -> Rows:
    return [row | {"audio": f"{name}/{row['audio']}"} for row in Folder(out / name).rows()]


def _of_person(rows: Rows) -> Iterator[tuple[str, Rows]]:
    """Her English first, so that less than half an hour is in one language."""
    rows = [rows[at] for at in np.random.default_rng(0).permutation(len(rows))]
    held_out = [row for row in rows if _is_english(row) and len(row["text"].split()) >= PERSON_WORDS]
    held_out = held_out[:PERSON_SENTENCES]
    said = {row["text"] for row in held_out}  # some are recorded twice
    rest = sorted((row for row in rows if row["text"] not in said), key=_is_english, reverse=True)
    for minutes in PERSON_MINUTES:
        yield f"person-{minutes}", list(_first(rest, minutes * 60))
    yield "person-held-out", held_out


def _is_english(row: dict[str, Any]) -> bool:
    return bool(row["language"].startswith("en"))


def _first(rows: Iterable[dict[str, Any]], seconds: float) -> Iterator[dict[str, Any]]:
    for row in rows:
        if seconds <= 0:
            return
        seconds -= row["seconds"]
        yield row
