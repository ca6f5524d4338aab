"""From a long recording to a corpus: how many words end in the right row, what it costs, and whether a kill hurts.

    python benchmarks/prepare.py                              # 60 minutes of the demo corpus' voice
    python benchmarks/prepare.py --clips CORPUS --speaker NAME --minutes 20
    python benchmarks/prepare.py --keep FOLDER                # what was heard once is not heard again
    python benchmarks/prepare.py --minutes 10 --aligner base  # also by a voice instead of a recogniser
    python benchmarks/prepare.py --kills 20 --minutes 3       # kill -9 at 20 moments
    python benchmarks/prepare.py --hours 10                   # memory and speed of slicing alone

The recording is made of known clips: pauses of 0.3 to 1.5 s, 5 % loud noise, music before every ten minutes. It is
prepared three times: without a text; with its text; with one that lacks 5 % of the sentences and has 5 % never read.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from long_recording import Known, build, clips_of

from myxtts.corpus.demo import make_demo_corpus
from myxtts.corpus.demo_sentences import sentences
from myxtts.errors import PrepareError
from myxtts.evaluation.words import spoken_words
from myxtts.prepare.alignment import NOWHERE, align, likeness
from myxtts.prepare.prepare import Order, prepare

SHARE = 0.05  # of the sentences: missing from the text, and never read
WRONG = "The committee postponed its annual decision about the harbour lights. Nobody knew why. "
NEAR = 0.25  # seconds by which a clip's edge may be missed: clips begin and end with some silence


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=Path, help="a corpus of short clips (default: the demo corpus, made now)")
    parser.add_argument("--speaker", help="only this one's clips")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--kills", type=int, default=0, help="only this: kill -9 at so many moments")
    parser.add_argument("--hours", type=float, default=0.0, help="only this: slicing of so long a recording")
    parser.add_argument("--aligner", metavar="RUN", help="find the words of the texts by this voice, too")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="work here: what was heard once is not heard again")
    arguments = parser.parse_args()
    with _workplace(arguments.keep) as folder:
        clips = list(clips_of(arguments.clips or _demo(folder, arguments.minutes), arguments.speaker))
        if arguments.hours:
            measure_memory(clips, folder, arguments.hours)
        elif arguments.kills:
            kill_and_resume(clips, folder, arguments.minutes, arguments.kills)
        else:
            measure_words(clips, folder, arguments.minutes, arguments.aligner)


@contextmanager
def _workplace(kept: Path | None) -> Iterator[Path]:
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="prepare-") as name:
            yield Path(name)
    else:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept


def _demo(folder: Path, minutes: float) -> Path:
    make_demo_corpus(folder / "demo", max(round(minutes * 13), 20), "hibari", 0)
    return folder / "demo"


# ---- words ----------------------------------------------------------------------------------------------------------


def measure_words(clips: list[Any], folder: Path, minutes: float, aligner: str | None) -> None:
    known = build(clips, folder / "long.wav", minutes * 60)
    said = [one for one in known if one.kind == "speech"]
    _print_truth(known)
    for name, asr in (("sliced", "none"), ("heard", None)):
        wall, cpu = _timed(folder, name, asr=asr)
        speed = f"{known[-1].end / wall:.1f}x real time on {os.cpu_count()} cores"
        print(f"{name}: {speed}, {known[-1].end / cpu:.1f}x of CPU time")
    judge("without a text", folder, "heard", known, said)
    (folder / "whole.txt").write_text("\n".join(one.text for one in said), encoding="utf-8")
    lacking, never = other_text(said, folder / "other.txt")
    in_text = [one for one in said if one not in lacking]
    for by in (None, aligner) if aligner else (None,):
        how = f", by the voice {by}" if by else ""
        judge(f"with its text{how}", folder, _again(folder, "whole", by), known, said)
        other = _again(folder, "other", by)
        judge(f"with another text{how}", folder, other, known, in_text)
        judge_lists(folder / other, lacking, never)
        judge_places(folder / other, lacking)
    if aligner:
        refuse_wrong_texts(folder, said, aligner)


def refuse_wrong_texts(folder: Path, said: list[Known], aligner: str) -> None:
    """Two sentences nine times, and the right sentences in another order: no row must come of them."""
    order = random.Random(1).sample(said, len(said))
    texts = {"two": WRONG * 9, "shuffled": "\n".join(one.text for one in order)}
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        try:
            _again(folder, name, aligner)
        except PrepareError as error:
            print(f"refused: {error}")


def _again(folder: Path, text: str, aligner: str | None) -> str:
    """The same recording with a text: what the recogniser heard is known, a voice starts from the slices alone."""
    name = f"{text}-aligned" if aligner else text
    shutil.rmtree(folder / name, ignore_errors=True)
    shutil.copytree(folder / ("sliced" if aligner else "heard"), folder / name)
    _timed(folder, name, text=folder / f"{text}.txt", aligner=aligner)
    return name


def _print_truth(known: list[Known]) -> None:
    seconds = {
        kind: sum(one.end - one.start for one in known if one.kind == kind) for kind in ("speech", "noise", "music")
    }
    kinds = ", ".join(f"{value:.0f} s {kind}" for kind, value in seconds.items())
    print(f"{known[-1].end / 60:.1f} min: {sum(one.kind == 'speech' for one in known)} clips, {kinds}")


def _timed(folder: Path, name: str, **order: Any) -> tuple[float, float]:
    """Seconds, and seconds of CPU: on a busy machine only these say something."""
    begin, cpu = time.perf_counter(), time.process_time()
    summary = prepare(Order([folder / "long.wav"], folder / name, **order))
    took = time.perf_counter() - begin, time.process_time() - cpu
    kinds = {kind: summary[kind] for kind in ("rows", "aside", "left_out", "unaccounted_seconds")}
    print(f"  {name}: {took[0]:.1f} s; {kinds}")
    return took


def judge(what: str, folder: Path, name: str, known: list[Known], said: list[Known]) -> None:
    """Of all words that were said (and are in the text): how many are in the row whose sound has them."""
    rows, heard = _lines(folder / name / "manifest.jsonl"), _heard(folder)
    right = clean = 0
    total = sum(len(spoken_words(one.text)) for one in said)
    for row in rows:
        own = [one for one in said if _meet(row, one)]
        words, true = spoken_words(row["text"]), [word for one in own for word in spoken_words(one.text)]
        if _is_inside(row, own):  # a pause inside a clip: nobody knows its words but the recogniser
            true = spoken_words(heard.get((row["start"], row["end"]), row["heard"]))
        right += sum(place != NOWHERE for place in align(words, true))
        clean += bool(words and true and _same(words[0], true[0]) and _same(words[-1], true[-1]))
    inside = sum(_is_inside(row, [one for one in known if one.kind == "speech"]) for row in rows)
    print(f"{what}: {right / total:.2%} of {total} words in the right row; {clean / max(len(rows), 1):.2%} of "
          f"{len(rows)} rows with none of another at their ends; {inside} rows begin or end inside a clip")  # fmt: skip


def _heard(folder: Path) -> dict[tuple[float, float], str]:
    """What the recogniser heard in each slice: a voice says only what is in the text."""
    names = ("manifest.jsonl", "aside.jsonl")
    return {(row["start"], row["end"]): row["heard"] for name in names for row in _lines(folder / "heard" / name)
            if "heard" in row}  # fmt: skip


def _is_inside(row: dict[str, Any], own: list[Known]) -> bool:
    return any(one.start + NEAR < edge < one.end - NEAR for one in own for edge in (row["start"], row["end"]))


def _same(one: str, other: str) -> bool:
    return likeness(one, other) > 0.5


def other_text(said: list[Known], path: Path) -> tuple[list[Known], list[str]]:
    """Writes a text without 5 % of the sentences and with as many that nobody read."""
    draw = random.Random(1)
    count = max(round(SHARE * len(said)), 1)
    lacking = draw.sample(said, count)
    known = {one.text for one in said}
    never = [
        one.text for one, _ in zip(sentences("en-us", 99), range(5 * count), strict=False) if one.text not in known
    ]
    text = [one.text for one in said if one not in lacking]
    for sentence in never[:count]:
        text.insert(draw.randrange(len(text) + 1), sentence)
    path.write_text("\n".join(text), encoding="utf-8")
    return lacking, never[:count]


def judge_lists(corpus: Path, lacking: list[Known], never: list[str]) -> None:
    """By words: of those to be listed, how many are; of those that are listed, how many should be."""
    differences = _lines(corpus / "differences.jsonl")
    for kind, truth in (("not_in_text", [one.text for one in lacking]), ("not_read", never)):
        words = [spoken_words(text) for text in truth]
        listed = [spoken_words(each["text"]) for each in differences if each["kind"] == kind]
        wanted, belongs = (_covered(*pair) for pair in ((words, listed), (listed, words)))
        print(
            f"  {kind}: {wanted:.2%} of the words that belong there are listed, {belongs:.2%} of what is listed belongs"
        )


def judge_places(corpus: Path, lacking: list[Known]) -> None:
    """What is not in the text, by where it is: a recogniser that mishears it has found it all the same."""
    rows = {row["id"]: row for name in ("manifest", "aside") for row in _lines(corpus / f"{name}.jsonl")}
    named = {each["row"] for each in _lines(corpus / "differences.jsonl") if each["kind"] == "not_in_text"}
    listed = [rows[name] for name in named | {row["id"] for row in rows.values() if row.get("reason") == "not_in_text"}]
    right = [row for row in listed if any(_meet(row, one) for one in lacking)]
    there = [one for one in lacking if any(_meet(row, one) for row in listed)]
    print(f"  not_in_text, by place: {len(there)} of {len(lacking)} sentences are listed, "
          f"{len(right)} of {len(listed)} that are listed belong")  # fmt: skip


def _meet(row: dict[str, Any], one: Known) -> bool:
    return bool(one.start < row["end"] - NEAR and one.end > row["start"] + NEAR)


def _covered(passages: list[list[str]], others: list[list[str]]) -> float:
    """The share of the words of passages that are in others, of which one may be a part of another or hold several."""
    covered = 0
    for own in passages:
        counts = [(sum(place != NOWHERE for place in align(other, own)), len(other)) for other in others]
        covered += min(sum(count for count, size in counts if count >= 0.7 * min(size, len(own))), len(own))
    return covered / max(sum(map(len, passages)), 1)


# ---- memory, kills --------------------------------------------------------------------------------------------------


def measure_memory(clips: list[Any], folder: Path, hours: float) -> None:
    needed = [*clips] * max(round(hours * 3600 / (4.0 * len(clips))), 1)
    known = build(needed, folder / "long.wav", hours * 3600)
    _print_truth(known)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, used = _timed(folder, "corpus", asr="none")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"slicing {hours:g} h: {known[-1].end / wall:.0f}x real time ({known[-1].end / used:.0f}x of CPU time), "
          f"{peak / 1024:.0f} MB at most, {before / 1024:.0f} MB before it")  # fmt: skip


def kill_and_resume(clips: list[Any], folder: Path, minutes: float, kills: int) -> None:
    known = build(clips, folder / "long.wav", minutes * 60)
    (folder / "text.txt").write_text("\n".join(one.text for one in known if one.text), encoding="utf-8")
    begin = time.perf_counter()
    _run(folder, "whole")
    took = time.perf_counter() - begin
    survived = 0
    for n in range(kills):
        running = subprocess.Popen(_command(folder, "killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(took * (n + 1) / (kills + 1) if n % 2 else took * random.Random(n).uniform(0.2, 1.0))
        survived += running.poll() is not None
        running.send_signal(signal.SIGKILL)
        running.wait()
        if n % 5 == 4:  # so that the beginning is met again, too
            _compare(folder)
            shutil.rmtree(folder / "killed", ignore_errors=True)
    _compare(folder)
    print(f"{kills} kills ({survived} came too late): the same corpus each time")


def _compare(folder: Path) -> None:
    _run(folder, "killed")
    one, other = (_contents(folder / name) for name in ("whole", "killed"))
    assert one == other, sorted(set(one) ^ set(other)) or [name for name in one if one[name] != other[name]]


def _contents(corpus: Path) -> dict[str, bytes]:
    """All but the journal, whose lines are in the order of the answers."""
    files = (path for path in corpus.rglob("*") if path.is_file() and path.name != "journal.jsonl")
    return {str(path.relative_to(corpus)): path.read_bytes() for path in files}


def _command(folder: Path, name: str) -> list[str]:
    return [sys.executable, "-m", "myxtts", "prepare", str(folder / "long.wav"), "-o", str(folder / name),
            "--text", str(folder / "text.txt"), "--speaker", "anna"]  # fmt: skip


def _run(folder: Path, name: str) -> None:
    subprocess.run(_command(folder, name), check=True, stdout=subprocess.DEVNULL)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
