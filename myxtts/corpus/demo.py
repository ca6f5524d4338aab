"""A corpus out of nothing but pip packages: synthetic speech, the same bytes for the same (engine, seed) every time.

    FOLDER/plan.json       engine, seed, versions, number and hash of the rows: written first, it makes the folder ours
    FOLDER/README.txt      says that the speech is synthetic, and whose voice it is
    FOLDER/wavs/ID.wav     22,050 Hz, mono, 16 bit; written beside, synced, renamed: a file that is there is complete
    FOLDER/metadata.csv    id|text|normalised text|speaker|language; written last

The rows of a small corpus are the first rows of a larger one. A run that was stopped is continued by running it again.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import wave
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from myxtts.corpus.demo_sentences import Row, plan_rows
from myxtts.corpus.demo_voices import ENGINES, SAMPLE_RATE, Voice
from myxtts.errors import CorpusError
from myxtts.files import place_of, write_whole

PLAN_FORMAT = 1
MAX_PEAK = 0.97

Progress = Callable[[int, int], None]
_log = logging.getLogger(__name__)


def make_demo_corpus(
    folder: Path, utterances: int = 1000, engine: str = "hibari", seed: int = 0, progress: Progress | None = None
) -> dict[str, Any]:
    """Write the first `utterances` rows of the corpus of (engine, seed), or what is still missing of them."""
    folder = Path(folder)
    rows = plan_rows(engine, seed, utterances)
    plan = _check_folder(folder, engine, seed, rows)
    missing = [row for row in rows if seconds_of(_wav_path(folder, row)) is None]
    if missing:
        _make_missing(folder, plan, missing, len(rows), progress or (lambda done, total: None))
    _write_labels(folder, plan)
    _write(folder / "metadata.csv", _table(rows))
    return {
        "folder": str(folder),
        "engine": engine,
        "utterances": len(rows),
        "seconds": round(sum(seconds_of(_wav_path(folder, row)) or 0.0 for row in rows), 3),
        "speakers": sorted({row.speaker for row in rows}),
        "languages": sorted({row.language for row in rows}),
        "synthetic": True,
    }


# --- the folder -------------------------------------------------------------------------------------------------------


def _check_folder(folder: Path, engine: str, seed: int, rows: Sequence[Row]) -> dict[str, Any]:
    """The plan to write to the folder; an error if the folder holds anything that is not a beginning of it."""
    plan = {
        "format": PLAN_FORMAT,
        "made by": "myxtts.corpus.demo",
        "synthetic": True,
        "engine": engine,
        "seed": seed,
        "utterances": len(rows),
        "rows_sha256": _hash(rows),
    }
    existing = _find_plan(folder)
    if existing is not None:
        _check_plan(folder, existing, plan, rows)
        _check_metadata(folder / "metadata.csv", rows)
        plan["versions"] = existing.get("versions")
    return plan


def _find_plan(folder: Path) -> dict[str, Any] | None:
    if not folder.exists():
        return None
    if not folder.is_dir():
        raise CorpusError(f"{folder} is a file, expected a folder: choose another folder for the demo corpus")
    names = sorted(item.name for item in folder.iterdir() if place_of(item.name) == item.name)
    if "plan.json" in names:
        return _read_plan(folder / "plan.json")
    if names:
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        raise CorpusError(
            f"{folder} holds {len(names)} things that are not a demo corpus ({shown}): nothing was changed; "
            "choose a folder that is new or empty"
        )
    return None


def _read_plan(path: Path) -> dict[str, Any]:
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:  # neither JSON nor UTF-8
        plan = None
    if not isinstance(plan, dict) or plan.get("made by") != "myxtts.corpus.demo":
        raise CorpusError(f"{path} is not the plan of a demo corpus: nothing was changed; choose another folder")
    return plan


def _check_plan(folder: Path, plan: dict[str, Any], wanted: dict[str, Any], rows: Sequence[Row]) -> None:
    for key in ("format", "engine", "seed"):
        if plan.get(key) != wanted[key]:
            raise CorpusError(
                f"{folder} holds a demo corpus with {key} {plan.get(key)}, {key} {wanted[key]} was asked for: "
                f"nothing was changed; choose another folder, or ask for {key} {plan.get(key)}"
            )
    count = plan.get("utterances")
    if not isinstance(count, int) or count > len(rows):
        raise CorpusError(
            f"{folder} holds a demo corpus of {count} utterances, {len(rows)} were asked for: nothing was changed; "
            f"choose another folder, or ask for {count} or more"
        )
    if plan.get("rows_sha256") != _hash(rows[:count]):
        raise CorpusError(
            f"{folder} holds a demo corpus with the sentences of another version of MyXTTS: nothing was changed; "
            "choose another folder"
        )


def _check_metadata(path: Path, rows: Sequence[Row]) -> None:
    if path.exists() and not _table(rows).startswith(path.read_bytes()):
        raise CorpusError(f"{path} was changed after it was made: nothing was changed; move it away, or keep using it")


def _hash(rows: Sequence[Row]) -> str:
    return hashlib.sha256(_table(rows)).hexdigest()


def _table(rows: Sequence[Row]) -> bytes:
    return "".join(row.line() for row in rows).encode()


def _write_labels(folder: Path, plan: dict[str, Any]) -> None:
    _write(folder / "plan.json", (json.dumps(plan, indent=1) + "\n").encode())
    if not (folder / "README.txt").exists():  # one that was edited stays
        _write(folder / "README.txt", README.format(about=ENGINES[plan["engine"]].about).encode())


def _wav_path(folder: Path, row: Row) -> Path:
    return folder / "wavs" / f"{row.id}.wav"


def _write(path: Path, content: bytes) -> None:
    """The whole content or nothing; a file that already has it is left alone."""
    if path.exists() and path.read_bytes() == content:
        return
    write_whole(path, content)


# --- speech -----------------------------------------------------------------------------------------------------------


def _make_missing(folder: Path, plan: dict[str, Any], missing: Sequence[Row], total: int, progress: Progress) -> None:
    engine = ENGINES[plan["engine"]]
    versions = _versions(engine)
    if plan.setdefault("versions", versions) != versions:
        raise CorpusError(
            f"{folder} was made with {plan['versions']}, found {versions}: the rest would sound different; "
            "choose another folder, or install those versions"
        )
    with engine(plan["seed"]) as voice:
        (folder / "wavs").mkdir(parents=True, exist_ok=True)
        _write_labels(folder, plan)
        _say_all(folder, voice, missing, total, progress)


def _say_all(folder: Path, voice: Voice, missing: Sequence[Row], total: int, progress: Progress) -> None:
    def make(row: Row) -> None:
        _write(_wav_path(folder, row), encode_wav(voice.say(row)))

    done = total - len(missing)
    _log.info("%d of %d utterances are there, making %d", done, total, len(missing))
    executor = ThreadPoolExecutor(voice.threads)
    try:
        progress(done, total)
        for _ in executor.map(make, missing):
            done += 1
            progress(done, total)
    finally:  # on an error or Ctrl-C, the utterances that have not begun are left for the next run
        executor.shutdown(wait=True, cancel_futures=True)


def encode_wav(samples: np.ndarray) -> bytes:
    """A 16-bit wav file of float samples; louder ones than MAX_PEAK are turned down, never clipped."""
    peak = float(np.max(np.abs(samples), initial=0.0))
    pcm = np.round(samples * (32767.0 * min(1.0, MAX_PEAK / max(peak, 1e-9)))).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(SAMPLE_RATE)
        writer.writeframes(pcm.tobytes())
    return file.getvalue()


def seconds_of(path: Path) -> float | None:
    """The length of a complete wav of ours, None for anything else."""
    try:
        with wave.open(str(path), "rb") as reader:
            shape = (reader.getframerate(), reader.getnchannels(), reader.getsampwidth())
            frames = reader.getnframes()
    except (FileNotFoundError, EOFError, wave.Error):
        return None
    whole = shape == (SAMPLE_RATE, 1, 2) and frames > 0 and path.stat().st_size == 44 + 2 * frames
    return frames / SAMPLE_RATE if whole else None


def _versions(engine: type[Voice]) -> dict[str, str]:
    try:
        return {package: metadata.version(package) for package in engine.packages}
    except metadata.PackageNotFoundError:
        raise engine.missing() from None


README = """Demo corpus of MyXTTS: SYNTHETIC SPEECH, no human voice was recorded.

{about}
sentences    written for MyXTTS or made by its sentence grammars (myxtts/corpus/sentences); nothing was copied
layout       metadata.csv: id|text|normalised text|speaker|language, no header, UTF-8
             wavs/ID.wav: 22,050 Hz, mono, 16 bit
made by      myxtts.corpus.demo.make_demo_corpus with the engine, seed and versions that plan.json names

Use it to try MyXTTS, to measure and to test. A model that was trained on it imitates the synthetic voice above:
say so wherever you publish one.
"""
