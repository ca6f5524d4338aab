"""Whatever is in the files, a verb ends with a listed rejection or a clear error: mutated inputs through the verbs.

    python benchmarks/fuzz.py --minutes 20 [--inputs 10000] [--first 0] [--seed 0] [--json]
    python benchmarks/fuzz.py --artefacts caches|logs|models|runs --inputs 2000

An input is a small corpus with mutated metadata or a mutated audio file, a packed cache with a mutated file, or a verb
(any) with absurd words, settings and files: command_lines.py. A child process runs one after the other; one that dies
or is silent for 10 s is counted and replaced. Any input can be looked at again: `--only N --keep DIR`. With
`--artefacts` an input is what a stranger may send: artefacts.py. Sixty inputs or twenty artefacts a second and core.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from artefacts import KINDS, one_artefact
from command_lines import bad_line
from mutations import mutate
from small_corpora import GOOD, LAYOUTS, SOUNDS, tone

HANG_SECONDS = 10.0
CHARACTERS = ["--set", "data.text_tokens=characters"]


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
    if words[0] == "gpu-check" and "checks" in result:  # its own list says what is wrong
        return code, result
    if code not in (0, 1, 2) or (code == 2) != isinstance(result.get("error"), dict):
        raise Finding(f"{words[0]} ended with {code} and {list(result)[:5]}")
    if code == 2 and result["error"]["type"] in ("InternalError", "MemoryError"):
        raise Finding(f"{words[0]}: {_bug_report(result['error']['message'])}")
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
            return one_artefact(artefacts, rng, folder, whole, run)
        except Finding:
            raise
        except Exception as error:
            raise Finding(traceback.format_exc(limit=-6)) from error
    kind = rng.random()
    if kind < 0.3:
        return bad_metadata(folder, rng)
    if kind < 0.55:
        return bad_audio(folder, rng)
    return bad_cache(folder, rng, whole) if kind < 0.7 else bad_line(folder, rng, whole, run)


# ---- the child and its parent ---------------------------------------------------------------------------------------


def make_whole(room: Path) -> Path:
    """An intact cache and its corpus, and another corpus that could be added to it."""
    whole = room / "whole" / "w.cache"
    if not whole.exists():
        LAYOUTS["ljspeech"](room / "whole" / "corpus")
        LAYOUTS["piper"](room / "whole" / "second")
        run("pack", room / "whole" / "corpus", "-o", whole, *CHARACTERS)
    return whole


@contextlib.contextmanager
def nothing_repeated() -> Iterator[None]:
    """What each call does again and no input can change: half of the time of a call was for these two."""
    from myxtts import cli
    from myxtts.corpus import detect

    parser, points = functools.cache(cli._parser), functools.cache(detect._entry_points)
    with mock.patch.object(cli, "_parser", parser), mock.patch.object(detect, "_entry_points", points):
        yield


def child(numbers: range, seed: int, room: Path, artefacts: str | None) -> None:
    """Runs inputs; before and after each a line on stdout says so."""
    whole = make_whole(room)
    for number in numbers:
        print(json.dumps({"starts": number}), flush=True)
        folder, began = room / f"input{number}", time.process_time()
        try:
            outcome = {"is": one_input(number, seed, folder, whole, artefacts)}
        except Finding as finding:
            outcome = {"finding": str(finding)}
        shutil.rmtree(folder, ignore_errors=True)
        if time.process_time() - began > HANG_SECONDS:
            outcome = {"finding": f"it took {time.process_time() - began:.0f} s of CPU: {outcome}"}
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
        command += ["--seed", str(self.seed), "--room", str(self.room), *self._of]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, text=True, **pipes)
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
        self.findings.append({"input": number, "finding": what})

    def _note(self, said: dict[str, Any]) -> None:
        if "finding" in said:
            self._find(said["ends"], said["finding"])
        else:
            self.kinds[said["is"]] += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, metavar="N", help="go on from this input of the seed")
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
        with nothing_repeated():
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
    edges = np.linspace(arguments.first, arguments.inputs, cores + 1).astype(int)
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
            print(f"\ninput {finding['input']}: {finding['finding']}")
        print(f"\n{sum(kinds.values()) + len(findings)} inputs, {len(findings)} findings (bar 0)")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
