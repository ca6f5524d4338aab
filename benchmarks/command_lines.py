"""Command lines as nobody should type them: each verb with its words replaced, its files spoilt, its settings absurd.

Until the work itself begins, which is where TensorFlow is imported, a server listens, workers are launched or hours of
speech are made: `Began` is raised there. So every check that a verb makes before is run, in milliseconds. The current
folder is the input's own and no word has a slash, `..` or `~`: nothing outside of it is written. See fuzz.py.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.abc
import importlib.machinery
import os
import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from artefacts import Run, write_model, write_run
from mutations import Rng, mutate
from small_corpora import LAYOUTS, tone

from myxtts.errors import MyXTTSError

LINES = {
    "demo-corpus": "made --utterances 3 --engine espeak --seed 1",
    "prepare": "clip.wav -o made --asr none --min-trust 0.5",
    "sentences": "it --from text.txt --minutes 1 -o made.txt",
    "check": "corpus --list made.jsonl --config config.yaml",
    "pack": "corpus -o made.cache --config config.yaml",
    "add": "second -o w.cache",
    "verify": "w.cache --fix corpus --set data.text_tokens=characters",
    "info": "w.cache",
    "bench": "--data w.cache --loaders mapped --step-ms 5,10",
    "train": "--data w.cache --run run --steps 3 --config config.yaml",
    "launch": "--processes 2 --hosts hosts.txt -- train --data w.cache",
    "say": "Hello. --model model --voice clip.wav --lexicon lexicon.tsv --speed 1.5 -o made.wav",
    "serve": "model --port 0 --voices made",
    "studio": "made --port 0",
    "text": "1,000 --language de --config config.yaml",
    "import-vocoder": "clip.wav -o made",
    "export": "model -o made",
    "evaluate": "--model model --voices voices --sentences 2",
    "doctor": "--data w.cache --step-ms 5",
    "tune": "--data w.cache --seconds 5 -o made.yaml",
    "monitor": "run --duration 1 --interval 1",
    "profile": "--data w.cache --batches 3",
    "report": "run -o made.html",
    "gpu-check": "--demo made --minutes 1",
    "config": "--config config.yaml --preset gpu_24gb",
}
FILES = {
    "config.yaml": b"data:\n  text_tokens: characters\n  batch_size: 4\ntraining:\n  steps: 5\n"
    b"  learning_rate: 1e-3\nmodel:\n  size: tiny\n",
    "text.txt": b"La mattina il sole sorge. Poi viene la sera, e tutti dormono. Chi legge ancora?\n",
    "lexicon.tsv": b"en\tSiobhan\tShivawn\n*\tkerm\t/kerm/\n",
    "hosts.txt": b"first\nsecond:2222 # a remark\n",
}
PLAUSIBLE = [
    "0", "1", "2", "-1", "0.5", "1e-3", "fa", "en-us", "all", "0,2", "null", "true", "clip.wav", "text.txt", "run",
    "config.yaml", "hosts.txt", "w.cache", "corpus", "second", "model", "folder", "missing", "base", "neural", ".",
    "made.wav", "made.html", "a=model",
]  # fmt: skip
ABSURD = [
    "", " ", "-", "--", "1e999", "nan", "inf", "-inf", "0x10", "1_0", "१२", "²", "٣", "9" * 30, "9" * 5000, "x" * 5000,
    "\x1b[2J", "\u202eabc", "\udc80", "a\nb", '"a\\0b"', "=", "==", "data.batch_size=", "data.nothing=1",
    "nothing.size=1", "data.batch_size=[1, 2]", "training.run_dir=2024-13-01", "2024-13-01", "2024-12-01", "(a+)+$",
    "(", "(?P<speaker>", "(?P<speaker>.*)", "[", "[1, a]", "{a: *b}", "&a [*a]", "!!python:object", "xx", "=model",
]  # fmt: skip
_LEADS_OUT = ("/", "..", "~", "$")
_HEAVY = ("tensorflow", "onnx", "onnxruntime", "ctranslate2", "torch")
_BEGINNINGS = (
    "myxtts.corpus.demo._make_missing",
    "myxtts.serving.server.listen",
    "myxtts.studio.server.listen",
    "myxtts.watch.watch.watch",
    "myxtts.training.launch.launch",
)


class Began(MyXTTSError):
    """All checks were passed: here the work would begin."""


class _NoHeavyImports(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self) if name in _HEAVY else None

    def exec_module(self, module: types.ModuleType) -> None:
        raise Began(module.__name__)


@contextlib.contextmanager
def until_work_begins() -> Iterator[None]:
    def began(*_: Any, **__: Any) -> None:
        raise Began("started")

    with contextlib.ExitStack() as stack:
        for place in _BEGINNINGS:
            stack.enter_context(mock.patch(place, began))
        stack.enter_context(mock.patch.object(sys, "meta_path", [_NoHeavyImports(), *sys.meta_path]))
        yield


def make_place(folder: Path, whole: Path) -> None:
    """What the lines speak of."""
    LAYOUTS["ljspeech"](folder / "corpus")
    LAYOUTS["piper"](folder / "second")
    shutil.copytree(whole, folder / "w.cache")
    write_run(folder / "run")
    write_model(folder / "model")
    tone(folder / "clip.wav", 2)
    tone(folder / "voices" / "anna" / "anna_1.wav", 3)
    (folder / "folder").mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)


def bad_line(folder: Path, rng: Rng, whole: Path, run: Run) -> str:
    """One verb, with one to three changes to what it is given."""
    intact = whole.parent / "place"
    if not intact.exists():
        make_place(intact, whole)
    shutil.rmtree(folder)
    shutil.copytree(intact, folder)
    verb = list(LINES)[int(rng.integers(len(LINES)))]
    words = LINES[verb].split()
    for _ in range(1 + int(rng.random() < 0.4) + int(rng.random() < 0.2)):
        _change(words, verb, folder, rng)
    before = Path.cwd()
    os.chdir(folder)
    try:
        with until_work_begins():
            code, result = run(verb, *words)
    finally:
        os.chdir(before)
    began = code == 2 and "error" in result and result["error"]["type"] == "Began"
    return f"line {verb}: {'began' if began else 'refused' if code == 2 else 'done'}"


def _change(words: list[str], verb: str, folder: Path, rng: Rng) -> None:
    kind = rng.random()
    values = [n for n, word in enumerate(words) if not word.startswith("--")]
    if kind < 0.3 and values:
        words[values[int(rng.integers(len(values)))]] = _value(rng)
    elif kind < 0.35 and words:
        del words[int(rng.integers(len(words)))]
    elif kind < 0.6:
        at = 0 if verb == "launch" else len(words)  # where a flag does not come between another and its value
        words[at:at] = [_one_of(_flags(verb), rng), _value(rng)][: int(rng.integers(1, 3))]
    elif kind < 0.8 and "--set" in _flags(verb):
        words += ["--set", f"{_one_of(_keys(), rng)}={_value(rng)}"]
    else:
        named = [word for word in words if (folder / word[:99]).is_file()]
        file = folder / _one_of(named or [*FILES], rng)
        content = mutate(file.read_bytes(), rng)
        for leads_out in _LEADS_OUT:  # a config names folders too
            content = content.replace(leads_out.encode(), b"_")
        file.write_bytes(content)


def _value(rng: Rng) -> str:
    return _one_of(PLAUSIBLE if rng.random() < 0.5 else ABSURD, rng)


def _one_of(values: list[str], rng: Rng) -> str:
    return values[int(rng.integers(len(values)))]


def _flags(verb: str) -> list[str]:
    from myxtts import cli

    [verbs] = [action for action in cli._parser()._actions if isinstance(action, argparse._SubParsersAction)]
    actions = verbs.choices[verb]._actions
    return [flag for action in actions for flag in action.option_strings if flag not in ("-h", "--help")]


def _keys() -> list[str]:
    from myxtts.config.config import XTTSConfig

    return [f"{section}.{key}" for section, keys in XTTSConfig().to_dict().items() for key in keys]
