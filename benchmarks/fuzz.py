"""Whatever is in the files, a verb ends with a listed rejection or a clear error: mutated inputs through the verbs.

    python benchmarks/fuzz.py --minutes 20 [--inputs 10000] [--seed 0] [--json]
    python benchmarks/fuzz.py --artefacts caches|logs|models|runs --inputs 2000

An input is a small corpus with mutated metadata or a mutated audio file, or a packed cache with a mutated file. A child
process runs the verbs on one after the other; one that dies or is silent for 10 s is counted and replaced. Any input
can be looked at again: `--only N --keep DIR`. With `--artefacts` an input is what a stranger may send: artefacts.py.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from artefacts import KINDS, one_artefact

GOOD = 5
HANG_SECONDS = 10.0
CHARACTERS = ["--set", "data.text_tokens=characters"]
SENTENCE = "number {} of the good sentences, with a comma"


# ---- corpora to mutate ----------------------------------------------------------------------------------------------


def tone(path: Path, n: int, format: str = "WAV", subtype: str | None = None) -> None:
    time_s = np.arange(int(24000 * (0.5 + 0.1 * n))) / 24000
    audio = 0.3 * np.sin(2 * np.pi * (150 + 20 * n) * time_s) + 0.01 * np.random.default_rng(n).standard_normal(
        len(time_s)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, audio.astype(np.float32), 24000, format=format, subtype=subtype)


def _lines(name: str, line: str, header: str = "", audio: str = "wavs") -> Callable[[Path], Path]:
    """A writer of a corpus with one line of metadata per utterance; returns the file to mutate."""

    def write(folder: Path) -> Path:
        for n in range(GOOD):
            tone(folder / audio / f"good{n}.wav", n)
        lines = [line.format(n=n, text=SENTENCE.format(n)) for n in range(GOOD)]
        (folder / name).write_text(header + "".join(f"{one}\n" for one in lines), encoding="utf-8")
        return folder / name

    return write


def _texts(text: str, audio: str) -> Callable[[Path], Path]:
    """A writer of a corpus with one file of text per utterance; the last is the one to mutate."""

    def write(folder: Path) -> Path:
        for n in range(GOOD):
            tone(folder / audio.format(n=n), n, Path(audio).suffix[1:].upper())
            words = folder / text.format(n=n)
            words.parent.mkdir(parents=True, exist_ok=True)
            words.write_text(SENTENCE.format(n), encoding="utf-8")
        return words

    return write


def _kaldi(folder: Path) -> Path:
    _lines("text", "good{n} {text}")(folder)
    (folder / "wav.scp").write_text("".join(f"good{n} {folder}/wavs/good{n}.wav\n" for n in range(GOOD)))
    (folder / "utt2spk").write_text("".join(f"good{n} anna\n" for n in range(GOOD)))
    return folder / "text"


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "ljspeech": _lines("metadata.csv", "good{n}|{text}"),
    "manifest.csv": _lines("manifest.csv", 'wavs/good{n}.wav,"{text}",anna,good{n}', "audio,text,speaker,id\n"),
    "manifest.tsv": _lines("manifest.tsv", "wavs/good{n}.wav\t{text}\tgood{n}", "audio\ttext\tid\n"),
    "manifest.jsonl": _lines("manifest.jsonl", '{{"audio": "wavs/good{n}.wav", "text": "{text}", "id": "good{n}"}}'),
    "common_voice": _lines("validated.tsv", "c\tgood{n}.wav\t{text}", "client_id\tpath\tsentence\n", "clips"),
    "huggingface": _lines("metadata.csv", 'good{n}.wav,"{text}"', "file_name,text\n", "."),
    "piper": _lines("metadata.csv", "good{n}|anna|{text}"),
    "kaldi": _kaldi,
    "coqui": _lines("metadata.csv", "wavs/good{n}.wav|{text}|anna|calm", "audio_file|text|speaker_name|emotion_name\n"),
    "vctk": _texts("txt/p225/good{n}.txt", "wav48_silence_trimmed/p225/good{n}_mic1.flac"),
    "libritts": _texts("dev-clean/84/121/84_121_{n}.normalized.txt", "dev-clean/84/121/84_121_{n}.wav"),
}
SOUNDS = {
    "wav16": ("WAV", "PCM_16"), "wav24": ("WAV", "PCM_24"), "float": ("WAV", "FLOAT"), "flac": ("FLAC", "PCM_16"),
    "vorbis": ("OGG", "VORBIS"), "opus": ("OGG", "OPUS"), "mp3": ("MP3", "MPEG_LAYER_III"),
}  # fmt: skip


# ---- mutations ------------------------------------------------------------------------------------------------------

NASTY = [
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"|", b"\t", b",", b"\r", b"\n", b"\r\n", b"../", b"/etc/passwd", b"{",
    b"}", b"[[[[", b"\xe2\x80\xae", b"\xed\xa0\x80", b"1e999", b"-1", b"nan", b"\\", b"%s", b"a" * 3000,
    b"\xdb\x8c", b"\x1b[2J",
]  # fmt: skip


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """One to four random edits: flipped, removed, repeated and inserted bytes, cut and emptied files."""
    made = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(0, len(made) + 1))
        kind = int(rng.integers(0, 9))
        if kind == 0 and made:
            made[at % len(made)] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            del made[at : at + int(rng.integers(1, 40))]
        elif kind == 2:
            made[at:at] = made[at : at + int(rng.integers(1, 40))]
        elif kind in (3, 4):
            made[at:at] = NASTY[int(rng.integers(0, len(NASTY)))]
        elif kind == 5:
            made[at : at + 8] = rng.bytes(8)
        elif kind == 6 and rng.random() < 0.3:
            del made[at:]
        elif kind == 7 and rng.random() < 0.1:
            made.clear()
        elif kind == 8:  # in a header, where it hurts
            place = int(rng.integers(0, min(len(made), 64) + 1))
            made[place : place + 4] = int(rng.integers(0, 2**32)).to_bytes(4, "little")
    return bytes(made)


# ---- one input ------------------------------------------------------------------------------------------------------


class Finding(Exception):
    """Something that must not happen."""


def run(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    """A verb with --json, in this process. Anything but an exit code and one JSON object is a finding."""
    from myxtts.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    words = [str(word) for word in arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([*words, "--json"])
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            raise Finding(f"{' '.join(words[:1])}: {traceback.format_exc(limit=-6)}") from error
    said, errors = (_text(stream) for stream in (out, err))
    if "Traceback" in errors:
        raise Finding(f"{words[0]} printed a traceback: {errors[-800:]}")
    result = json.loads(said)
    if code == 2 and result["error"]["type"] in ("InternalError", "MemoryError"):
        raise Finding(f"{words[0]}: {_bug_report(result['error']['message'])}")
    if code not in (0, 1, 2) or (code == 2) != ("error" in result):
        raise Finding(f"{words[0]} ended with {code} and {list(result)[:5]}")
    return code, result


def _bug_report(message: str) -> str:
    """The traceback that the message names; its file is not left behind."""
    path = Path(message.rpartition(" ")[2])
    if not path.is_file():
        return message
    text = path.read_text()
    path.unlink()
    return text[-1200:]


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]


def packed_ids(cache: Path) -> set[str]:
    from myxtts.cache.reader import Cache

    opened = Cache(cache)
    return {opened.utterance_id(n) for n in range(len(opened))}


def bad_metadata(folder: Path, rng: np.random.Generator) -> str:
    """Lines that were not touched are packed, unless the whole file was refused or another row took their id."""
    layout = list(LAYOUTS)[int(rng.integers(0, len(LAYOUTS)))]
    file = LAYOUTS[layout](folder)
    before = file.read_bytes()
    file.write_bytes(mutate(before, rng))
    run("check", folder, "--list", folder / "list.jsonl", *CHARACTERS)
    code, _ = run("pack", folder, "-o", folder / "x.cache", *CHARACTERS)
    if layout in ("vctk", "libritts") and (code or len(packed_ids(folder / "x.cache")) < GOOD - 1):
        raise Finding(f"{layout}: a row whose text was not touched is lost (pack ended with {code})")
    if code == 0 and layout == "ljspeech":
        _no_row_is_lost(folder, set(before.split(b"\n")) & set(file.read_bytes().split(b"\n")))
    return f"metadata {layout}: {'packed' if code == 0 else 'refused'}"


def _no_row_is_lost(folder: Path, untouched: set[bytes]) -> None:
    packed = packed_ids(folder / "x.cache")
    listed = [json.loads(line) for line in (folder / "x.cache" / "rejected.jsonl").read_text().splitlines()]
    for line in untouched - {b""}:
        name = line.split(b"|")[0].decode()
        if name not in packed and not any(row["id"] == name for row in listed):
            raise Finding(f"the row {name} is neither packed nor listed")


def bad_audio(folder: Path, rng: np.random.Generator) -> str:
    """The good files are packed, the mutated one is packed or listed."""
    LAYOUTS["ljspeech"](folder)
    kind = list(SOUNDS)[int(rng.integers(0, len(SOUNDS)))]
    victim = folder / "wavs" / "good2.wav"
    tone(victim, 2, *SOUNDS[kind])
    victim.write_bytes(mutate(victim.read_bytes(), rng))
    run("check", folder, "--list", folder / "list.jsonl", *CHARACTERS)
    code, result = run("pack", folder, "-o", folder / "x.cache", *CHARACTERS)
    if code != 0:
        raise Finding(f"a bad {kind} file stopped pack: {result['error']['message'][:300]}")
    packed, rejected = packed_ids(folder / "x.cache"), sum(result["rejected"].values())
    good = {f"good{n}" for n in range(GOOD) if n != 2}
    if not good <= packed or len(packed) + rejected != GOOD:
        raise Finding(f"a bad {kind} file: packed {sorted(packed)}, rejected {result['rejected']}")
    return f"audio {kind}: {'rejected' if rejected else 'packed'}"


def bad_cache(folder: Path, rng: np.random.Generator, whole: Path) -> str:
    """A changed file is found, and mended from the corpus to the very bytes that were there."""
    cache = folder / "x.cache"
    shutil.copytree(whole, cache)
    names = sorted(path.name for path in cache.iterdir())
    victim = cache / names[int(rng.integers(0, len(names)))]
    before = victim.read_bytes()
    victim.write_bytes(mutate(before, rng))
    changed = victim.read_bytes() != before
    run("info", cache)
    code, _ = run("verify", cache)
    if changed and code == 0:
        raise Finding(f"verify did not see that {victim.name} was changed")
    run("verify", cache, "--fix", whole.parent / "corpus", *CHARACTERS)
    for path in whole.iterdir():
        if not (cache / path.name).is_file() or (cache / path.name).read_bytes() != path.read_bytes():
            raise Finding(f"{victim.name} was changed, {path.name} is not as it was after verify --fix")
    return f"cache: {'mended' if changed else 'unchanged'}"


def one_input(number: int, seed: int, folder: Path, whole: Path, artefacts: str | None) -> str:
    rng = np.random.default_rng([seed, number])
    folder.mkdir(parents=True, exist_ok=True)
    if artefacts:
        try:
            return one_artefact(artefacts, rng, folder, whole, run, mutate)
        except Finding:
            raise
        except Exception as error:
            raise Finding(traceback.format_exc(limit=-6)) from error
    kind = rng.random()
    if kind < 0.45:
        return bad_metadata(folder, rng)
    return bad_audio(folder, rng) if kind < 0.8 else bad_cache(folder, rng, whole)


# ---- the child and its parent ---------------------------------------------------------------------------------------


def make_whole(room: Path) -> Path:
    """An intact cache and its corpus, and another corpus that could be added to it."""
    whole = room / "whole" / "w.cache"
    if not whole.exists():
        LAYOUTS["ljspeech"](room / "whole" / "corpus")
        LAYOUTS["piper"](room / "whole" / "second")
        run("pack", room / "whole" / "corpus", "-o", whole, *CHARACTERS)
    return whole


def child(numbers: range, seed: int, room: Path, artefacts: str | None) -> None:
    """Runs inputs; before and after each a line on stdout says so."""
    whole = make_whole(room)
    for number in numbers:
        print(json.dumps({"starts": number}), flush=True)
        folder, began = room / f"input{number}", time.process_time()
        try:
            outcome = {"is": one_input(number, seed, folder, whole, artefacts)}
        except Finding as finding:
            outcome = {"found": str(finding)}
        shutil.rmtree(folder, ignore_errors=True)
        if time.process_time() - began > HANG_SECONDS:
            outcome = {"found": f"it took {time.process_time() - began:.0f} s of CPU: {outcome}"}
        print(json.dumps({"ends": number, **outcome}), flush=True)


class Parent:
    """Runs children over a range of inputs; a child that dies or hangs is a finding and is replaced."""

    def __init__(self, numbers: range, seed: int, room: Path, ends_at: float, artefacts: str | None):
        self.left, self.seed, self.room, self.ends_at = numbers, seed, room, ends_at
        self._of = ["--artefacts", artefacts] if artefacts else []
        self.silence = HANG_SECONDS
        self.kinds: Counter[str] = Counter()
        self.findings: list[dict[str, Any]] = []

    def run(self) -> None:
        while self.left and time.monotonic() < self.ends_at:
            self._one_child()

    def _one_child(self) -> None:
        command = [sys.executable, __file__, "--child", str(self.left.start), str(self.left.stop)]
        process = subprocess.Popen([*command, "--seed", str(self.seed), "--room", str(self.room), *self._of],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        at, watch = None, threading.Timer(self.silence + 20, process.kill)
        watch.start()
        errors: list[str] = []
        reader = threading.Thread(target=lambda: errors.extend(process.stderr or []), daemon=True)
        reader.start()
        for line in process.stdout or []:
            said = json.loads(line)
            watch.cancel()
            if "ends" in said:
                at = None
                self.left = range(said["ends"] + 1, self.left.stop)
                self._note(said)
            at = said.get("starts", at)
            if time.monotonic() > self.ends_at:
                process.kill()
                at = None
                break
            watch = threading.Timer(self.silence, process.kill)
            watch.start()
        watch.cancel()
        code = process.wait()
        reader.join(5)
        if at is not None:
            self._find(at, f"hung or died (exit {code}): {''.join(errors)[-500:]}")
            self.left = range(at + 1, self.left.stop)
        elif code not in (0, -9):
            raise SystemExit(f"the child could not run: {''.join(errors)[-2000:]}")

    def _find(self, number: int, what: str) -> None:
        print(f"\ninput {number}: {what}", file=sys.stderr)
        self.findings.append({"input": number, "found": what})

    def _note(self, said: dict[str, Any]) -> None:
        if "found" in said:
            self._find(said["ends"], said["found"])
        else:
            self.kinds[said["is"]] += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="N", help="run one input and show what happens")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="with --only: leave its files here")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--artefacts", choices=KINDS, help="what a stranger may send")
    parser.add_argument(
        "--silence", type=float, default=HANG_SECONDS, help="seconds on the clock; more on a busy machine"
    )
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--room", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(range(*arguments.child), arguments.seed, arguments.room, arguments.artefacts)
        return 0
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        if arguments.only is not None:
            place = arguments.keep or Path(folder) / "input"
            print(one_input(arguments.only, arguments.seed, place, make_whole(Path(folder)), arguments.artefacts))
            return 0
        return fuzz(arguments, Path(folder))


def fuzz(arguments: argparse.Namespace, folder: Path) -> int:
    cores = arguments.processes
    started = time.monotonic()
    edges = np.linspace(0, arguments.inputs, cores + 1).astype(int)
    ends_at = started + 60 * arguments.minutes
    parents = [
        Parent(range(int(first), int(end)), arguments.seed, folder / f"room{first}", ends_at, arguments.artefacts)
        for first, end in zip(edges[:-1], edges[1:], strict=True)
    ]
    for parent in parents:
        parent.silence = arguments.silence
    threads = [threading.Thread(target=parent.run) for parent in parents]
    for thread in threads:
        thread.start()
    every = 1 if sys.stderr.isatty() else 30
    while any(thread.is_alive() for thread in threads):
        time.sleep(1)
        if (time.monotonic() - started) % every > 1:
            continue
        done = sum(sum(parent.kinds.values()) + len(parent.findings) for parent in parents)
        rate = done / (time.monotonic() - started)
        total = sum(len(parent.findings) for parent in parents)
        print(f"\r{done} inputs, {total} findings, {rate:.1f}/s", end="\n" if every > 1 else "", file=sys.stderr)
    kinds = sum((parent.kinds for parent in parents), Counter[str]())
    findings = [finding for parent in parents for finding in parent.findings]
    print(file=sys.stderr)
    if arguments.json:
        print(
            json.dumps({"inputs": sum(kinds.values()) + len(findings), "kinds": kinds, "findings": findings}, indent=1)
        )
    else:
        for kind, count in sorted(kinds.items()):
            print(f"{kind:<40}{count:>7}")
        for finding in findings:
            print(f"\ninput {finding['input']}: {finding['found']}")
        print(f"\n{sum(kinds.values()) + len(findings)} inputs, {len(findings)} findings (bar 0)")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
