"""How many written things are read right: the lists of tests/features/normalise, one table.

    python benchmarks/texts.py [--language de] [--failures] [--without] [--json] [--pack 400]

Each line of a list is a text as people type it and what is said, sometimes in more than one way. Punctuation, case and
Arabic vowel signs do not count. `tuned` are the lists the rules were written with, `fresh` those that were written when
the rules were frozen (docs/log.md has their first score). `--without` scores eSpeak alone.
`--pack N` packs N utterances with and without it, one text in ten with a date and a price in it.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

from measure import interleave
from synthetic import write_corpus

from myxtts.cache.pack import pack
from myxtts.cache.settings import PackSettings
from myxtts.config.config import DataConfig
from myxtts.corpus.read import open_corpus
from myxtts.features.letters import clean
from myxtts.features.normalise import normalise
from myxtts.features.text import TextFrontend

LISTS = Path(__file__).parent.parent / "tests" / "features" / "normalise"
CODES = {"en": "en-us", "fr": "fr-fr", "zh": "cmn"}
BARS = {"tuned": 0.95, "fresh": 0.80}
_SIGNS = re.compile("[\u064b-\u0652\u0640\u200c]")


def words(text: str) -> list[str]:
    text = _SIGNS.sub("", unicodedata.normalize("NFC", clean(text))).casefold()
    if re.search("[\u4e00-\u9fff]", text):
        return re.findall("[\u4e00-\u9fff]|[^\\W\u4e00-\u9fff]+", text)
    return re.findall(r"\w+", text)


def read(kind: str, language: str) -> list[tuple[str, list[str]]]:
    lines = (LISTS / kind / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
    items = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(written, said) for written, *said in items]


def judge(kind: str, language: str) -> tuple[int, list[tuple[str, str, str]]]:
    """How many items there are, and those that are wrong: written, found, expected."""
    code, wrong = CODES.get(language, language), []
    items = read(kind, language)
    for written, said in items:
        normalised = normalise(clean(written), code)
        if words(normalised) not in [words(way) for way in said]:
            wrong.append((written, normalised, said[0]))
    return len(items), wrong


def judge_voice(kind: str, language: str) -> tuple[int, list[tuple[str, str, str]]]:
    """The same of eSpeak alone: whether it makes of a text the sounds that it makes of one of its readings."""
    voice, code, wrong = TextFrontend(normalise=False, bos=False, eos=False), CODES.get(language, language), []
    items = read(kind, language)
    for written, said in items:
        reading, *ways = [
            "".join(symbol for symbol in symbols if symbol[0].isalnum() and symbol not in "ˈˌ")
            for symbols in voice.symbols([written, *said], code)
        ]
        if reading not in ways:
            wrong.append((written, reading, ways[0]))
    return len(items), wrong


def cost_us(language: str) -> float:
    """Best of many, processor time: what a text of the lists costs."""
    texts = [
        clean(written)
        for kind in BARS
        if (LISTS / kind / f"{language}.tsv").exists()
        for written, _ in read(kind, language)
    ]
    code, best = CODES.get(language, language), float("inf")
    for _ in range(20):
        started = time.process_time()
        for text in texts:
            normalise(text, code)
        best = min(best, time.process_time() - started)
    return best / len(texts) * 1e6


def pack_ratio(utterances: int, repeats: int = 5) -> dict[str, float]:
    """How fast packing is with the normaliser, as a share of how fast it is without: by the clock, and by CPU time."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        corpus, cache = Path(place) / "corpus", Path(place) / "voice.cache"
        write_corpus(corpus, utterances)
        lines = (corpus / "metadata.csv").read_text().splitlines()
        lines = [f"{line} On May 3, 1998 it cost $5.50." if n % 10 == 0 else line for n, line in enumerate(lines)]
        (corpus / "metadata.csv").write_text("".join(f"{line}\n" for line in lines))

        def packing(on: bool) -> None:
            shutil.rmtree(cache, ignore_errors=True)
            pack(open_corpus(corpus), cache, PackSettings.from_config(DataConfig(normalise_text=on)))

        timings = interleave({"with": lambda: packing(True), "without": lambda: packing(False)}, repeats)
    ours, without = timings["with"], timings["without"]
    return {"wall": without.best / ours.best, "cpu": without.best_cpu / ours.best_cpu}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", help="one of them only")
    parser.add_argument("--failures", action="store_true", help="show what is wrong")
    parser.add_argument("--without", action="store_true", help="what eSpeak makes of the texts as they are")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pack", type=int, metavar="N", help="the packing rate with N utterances (bar 0.95), alone")
    arguments = parser.parse_args()
    if arguments.pack:
        print(json.dumps({name: round(value, 3) for name, value in pack_ratio(arguments.pack).items()}))
        return 0
    table = {}
    for language in [arguments.language] if arguments.language else sorted(p.stem for p in (LISTS / "tuned").iterdir()):
        row = {}
        for kind in BARS:
            if (LISTS / kind / f"{language}.tsv").exists():
                count, wrong = (judge_voice if arguments.without else judge)(kind, language)
                row[kind] = {"right": count - len(wrong), "items": count}
                if arguments.failures:
                    for written, normalised, said in wrong:
                        print(
                            f"{language} {kind}: {written}\n    found    {normalised}\n    expected {said}",
                            file=sys.stderr,
                        )
        table[language] = row | {"us": round(cost_us(language))}
    if arguments.json:
        print(json.dumps(table, indent=1))
        return 0
    print(f"{'':<4}" + "".join(f"{kind:>18}" for kind in BARS) + f"{'us a text':>12}")
    for language, row in table.items():
        cells = [
            f"{row[k]['right']} of {row[k]['items']}, {row[k]['right'] / row[k]['items']:.0%}" if k in row else ""
            for k in BARS
        ]
        print(f"{language:<4}" + "".join(f"{cell:>18}" for cell in cells) + f"{row['us']:>12}")
    low = [
        f"{lang} {k}"
        for lang, row in table.items()
        for k in BARS
        if k in row and row[k]["right"] < BARS[k] * row[k]["items"]
    ]
    print(f"below the bars ({', '.join(f'{k} {v:.0%}' for k, v in BARS.items())}): {', '.join(low) or 'none'}")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
