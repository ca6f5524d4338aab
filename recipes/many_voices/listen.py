"""The corpus is listened to before it is learnt from: who is not understood, or is another one's double, is left out.

OUT/heard.jsonl, voices.jsonl    what the judges heard, a line for each clip; added at once, so a killed run goes on
OUT/heard.json                   the summary, with a reason for everybody who was left out (OUT/left_out.txt)

Only what machines said is judged: a recogniser may be wrong about a person.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from myxtts.evaluation.recogniser import recogniser_for
from myxtts.files import write_whole
from recipes.many_voices import shifted
from recipes.many_voices.alike import Encoder, hear_voices, spread, too_near
from recipes.many_voices.corpus import Folder
from recipes.many_voices.kept import Kept
from recipes.many_voices.understood import Ears, by_language, hear_texts, not_understood, unknown_languages


def resemblyzer() -> Encoder:
    from myxtts.evaluation.speaker import SpeakerEncoder  # takes 1.7 s to import

    return SpeakerEncoder()


def make(folder: Folder, ears: Ears = recogniser_for, encoder: Callable[[], Encoder] = resemblyzer) -> dict[str, Any]:
    """Leave out what is to be left out, and say it: the summary, printed and written."""
    texts, voices = Kept(folder.folder / "heard.jsonl"), Kept(folder.folder / "voices.jsonl")
    spoken = {line["name"] for line in folder.ledger() if line["kind"] == "synthetic"} - {shifted.NAME}
    rows = [row for row in folder.rows() if row["source"] in spoken]
    unheard = hear_texts(folder.folder, rows, texts, ears)
    kokoro = [row for row in rows if row["source"] == "kokoro"]
    if why := hear_voices(folder.folder, kokoro, voices, encoder):
        unheard["voices"] = why
    return _settle(folder, texts, voices, unheard)


def _settle(folder: Folder, texts: Kept, voices: Kept, unheard: dict[str, str]) -> dict[str, Any]:
    path = folder.folder / "heard.json"
    before = json.loads(path.read_text(encoding="utf-8"))["left_out"] if path.exists() else {}
    listed = {row["speaker"] for row in folder.rows()}  # without those that a hand has left out
    out, stay = not_understood(texts), [line for line in voices if line["speaker"] in listed]
    doubles, twins = too_near(stay, out)
    folder.leave_out(out | doubles)
    summary = {
        "wrong_by_language": by_language(texts),
        "unknown_to_the_recogniser": unknown_languages(texts),
        "not_heard": unheard,
        "sampled_voices": spread(stay, out | doubles),
        "seen_voices_too_near": twins,
        "left_out": before | out | doubles,
    }
    write_whole(path, (json.dumps(summary, indent=1, ensure_ascii=False) + "\n").encode())
    _tell(summary)
    return summary


def _tell(summary: dict[str, Any]) -> None:
    for language, heard in summary["wrong_by_language"].items():
        print("{0}: {clips} clips are heard, {wrong:.3f} of their characters wrongly".format(language, **heard))
    for language, wrong in summary["unknown_to_the_recogniser"].items():
        print(f"{language}: half of the clips have {wrong:.2f} and more: not known to the recogniser, all are kept")
    for name, why in summary["not_heard"].items():
        print(f"{name}: not heard, all are kept: {why}")
    for name, near in summary["sampled_voices"].items():
        print("sampled voices, {0}: {50 %} ({5 %} to {95 %})".format(name, **near))
    for names, near in summary["seen_voices_too_near"].items():
        print(f"{names}: {near}, too near: give them one name in voices.py")
    print(f"left out: {len(summary['left_out'])} voices and clips, see left_out.txt and heard.json")
