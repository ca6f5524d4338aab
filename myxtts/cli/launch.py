"""`myxtts launch` starts a run's workers on this machine, or says what to type on each of several."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, UsageError, add_verb, as_text, positive
from myxtts.terminal import printable


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "launch", run, "train with several processes, started again where one is lost",
        "  myxtts launch --processes 2 -- train --data voice.cache --run runs/anna\n"
        "  myxtts launch --processes 4 --restarts 10 -- train --data voice.cache --run runs/anna\n"
        "  myxtts launch --hosts hosts.txt -- train --data voice.cache --run /shared/anna")  # fmt: skip
    parser.add_argument("--processes", metavar="N", type=positive, default=1, help="workers on a machine (default 1)")
    parser.add_argument("--hosts", metavar="FILE", type=Path,
                        help="machines, HOST or HOST:PORT on each line: say what to type there")  # fmt: skip
    parser.add_argument("--restarts", metavar="K", type=int, default=3, help="start again so often (default 3)")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- train ...", help="what each worker runs")


def run(arguments: argparse.Namespace) -> Result:
    words = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if words[:1] != ["train"]:
        raise UsageError("nothing to launch: give the command after --, as in 'myxtts launch --processes 2 -- train'")
    from myxtts.training.launch import lines_for, read_hosts

    if arguments.hosts is None:
        return _start(arguments, words)
    hosts = read_hosts(as_text(arguments.hosts.read_bytes(), str(arguments.hosts)))
    if not hosts:
        raise UsageError(f"{arguments.hosts} names no machine: write one on each line")
    lines = lines_for(hosts, arguments.processes, f"myxtts {shlex.join(words)}")
    shown = "\n".join(f"on {host}:\n  {line}" for host, line in lines)
    return 0, {"workers": [{"host": host, "command": line} for host, line in lines]}, shown


def _start(arguments: argparse.Namespace, words: list[str]) -> Result:
    from myxtts.training.launch import launch, own_command

    if arguments.restarts < 0:
        raise UsageError(f"--restarts {arguments.restarts}: expected 0 or more")
    asked = [*words, "--json"] if "--json" not in words else words
    done = launch(own_command(asked), arguments.processes, arguments.restarts, _tell, _tell)
    last = done.attempts[-1]
    summary = last.printed[0]
    codes = [attempt.codes for attempt in done.attempts]
    result = {"workers": arguments.processes, "attempts": codes, "result": summary or None}
    ends = f"{len(done.attempts) - 1} restarts; exit codes {', '.join(map(str, last.codes))}"
    done_text = f"{summary['run']}: step {summary['step']}, {summary['why']}; {ends}" if "run" in summary else ""
    return done.code, result, done_text or f"not done: {last.why or 'a worker was killed'}; {ends}"


def _tell(line: str) -> None:
    print(printable(line), file=sys.stderr, flush=True)
