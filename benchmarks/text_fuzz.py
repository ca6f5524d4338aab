"""Random texts of all scripts: none crashes the reader, and no symbol disappears without being named.

    python benchmarks/text_fuzz.py [--texts 100000] [--seed 0] [--json]

A text is letters, figures, marks, symbols and pictures of any script in any order, read in a random language, as
phonemes or as characters. A symbol, figure or sign counts as kept if it is named (`left_out`, or the reason why the
text is refused), or if the same text without it gives other symbols. Children read the texts: eSpeak, if it crashed,
would take the process with it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import unicodedata

import numpy as np

from myxtts.errors import RowError
from myxtts.features.letters import clean, is_silent
from myxtts.features.normalise import LANGUAGES
from myxtts.features.phonemes import languages
from myxtts.features.text import TextFrontend

TEXTS_PER_CHILD = 2000
BITS = [
    *"0123456789" * 3, *" .,:;/-—+%$€£¥°'\"()=*×^#@&~<>|\\_ " * 2, "12:30", "3/4", "1,000.5", "2024-05-03",
    "۱۴۰۳/۰۵/۱۲", "5 km", "25 %", "5 €", "Dr.", "z. B.", "и т. д.", "XIV", "a@b.com", "www.a.com", "3. Mai", " 5 мая ",
    "ساعت ", "年", "第", "個", "½", "№",
]  # fmt: skip


def alphabet() -> list[str]:
    """Letters of every script that a voice may have, and every symbol, figure and sign below the pictures."""
    kinds = ("L", "M", "N", "S", "P")
    blocks = [*range(0x21, 0x3100), *range(0x4E00, 0x9FFF, 97), *range(0xAC00, 0xD7A3, 211), *range(0x1F300, 0x1F700)]
    return [chr(code) for code in blocks if unicodedata.category(chr(code))[0] in kinds]


def make_text(rng: np.random.Generator, letters: list[str]) -> str:
    parts = []
    for _ in range(rng.integers(1, 9)):
        start = rng.integers(len(letters))
        neighbours = letters[start : start + 40]  # of one script
        word = "".join(rng.choice(neighbours, rng.integers(1, 6)))
        parts.append(word if rng.random() < 0.4 else str(rng.choice(BITS)))
        parts.append(" " * (rng.random() < 0.5))
    return "".join(parts)


def dropped(text: str, language: str, frontend: TextFrontend) -> str:
    """The symbols, figures and signs that left no trace."""
    [reading] = frontend.read([text], language)
    if isinstance(reading.symbols, RowError):
        return ""  # refused, with a reason
    cleaned = clean(text)
    marks = [char for char in dict.fromkeys(cleaned) if not char.isalpha() and not is_silent(char)]
    if any(char not in cleaned for char in reading.left_out):
        return ""  # a number became words that this voice does not know, and they are named
    marks = [char for char in marks if char not in reading.left_out]
    equal = [
        char
        for char, symbols in zip(marks, frontend.symbols([_without(cleaned, c) for c in marks], language), strict=True)
        if symbols == reading.symbols
    ]
    # '*' is named in '5*×6' and read as 'times' in '5* 6'.
    others = frontend.read([_without(cleaned, char) for char in equal], language) if equal else []
    return "".join(c for c, other in zip(equal, others, strict=True) if other.left_out == reading.left_out)


def _without(text: str, char: str) -> str:
    """A sign is part of its word, a symbol or a figure is a word of its own."""
    return text.replace(char, "" if unicodedata.category(char)[0] == "M" else " ")


def child(first: int, last: int, seed: int) -> None:
    letters, codes = alphabet(), [*LANGUAGES] * 4 + sorted(languages())
    kinds = {kind: TextFrontend(kind) for kind in ("phonemes", "characters")}
    for number in range(first, last):
        rng = np.random.default_rng([seed, number])
        text, language = make_text(rng, letters), str(rng.choice(codes))
        kind = "phonemes" if rng.random() < 0.8 else "characters"
        print(json.dumps({"starts": [number, language, kind, text]}), flush=True)
        if lost := dropped(text, language, kinds[kind]):
            print(json.dumps({"lost": [number, language, kind, text, lost]}), flush=True)


def run_child(first: int, last: int, seed: int) -> list[str]:
    command = [sys.executable, __file__, "--child", str(first), str(last), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    findings = [f"dropped: {line['lost']}" for line in lines if "lost" in line]
    if done.returncode:
        started = [line["starts"] for line in lines if "starts" in line]
        findings.append(
            f"crashed ({done.returncode}) in {started[-1] if started else 'the start'}: {done.stderr[-500:]}"
        )
        if started:
            findings += run_child(started[-1][0] + 1, last, seed) if started[-1][0] + 1 < last else []
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child, arguments.seed)
        return 0
    started, findings = time.monotonic(), []
    for first in range(0, arguments.texts, TEXTS_PER_CHILD):
        new = run_child(first, min(first + TEXTS_PER_CHILD, arguments.texts), arguments.seed)
        findings += new
        print("".join(f"\n{finding}\n" for finding in new), end="", file=sys.stderr)
        print(f"\r{first + TEXTS_PER_CHILD} texts, {len(findings)} findings", end="", file=sys.stderr)
    result = {"texts": arguments.texts, "seconds": round(time.monotonic() - started), "findings": findings}
    print(json.dumps(result, ensure_ascii=False, indent=1) if arguments.json else "\n".join(["", *findings]))
    print(f"{arguments.texts} texts, {len(findings)} findings (bar 0)", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONIOENCODING", "utf-8")
    sys.exit(main())
