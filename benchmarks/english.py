"""English words that are hard to read, by eSpeak and without it:  python benchmarks/english.py [--failures] [--json]

The list (benchmarks/data/english_words.tsv) has 28 homographs in a sentence, 26 irregular words and 20 names. A word is
right if its phonemes are among those of the sentence: primary stress counts, secondary stress, length and the
shade of an unstressed vowel do not. Prints also how many of the words of the demo sentences both read alike, and what a
sentence costs. Without the extra `phonemes-en`, or without eSpeak, only the other is shown.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

from myxtts.features import espeak
from myxtts.features.english import reading, words

LIST = Path(__file__).with_name("data") / "english_words.tsv"
KINDS = ("homograph", "irregular", "name")
_SAME = str.maketrans({"ː": "", "ˌ": "", "ɾ": "t", "ᵻ": "ɪ", "ɐ": "ə", "ɹ": "r", "\u0329": ""})
_UNSTRESSED = re.compile("(?<!ˈ)[əɪʌɛɔɑæɜ](?!ɪ|ʊ)|(?<!ˈ)i(?=[^əɑɪ])")
Speak = Callable[[str], str]


def plain(ipa: str) -> str:
    """What is compared: unstressed short vowels are one, and an r-coloured vowel is a vowel and r."""
    ipa = ipa.replace("oːɹ", "ɔːɹ").replace("ɚ", "əɹ").replace("ɜː", "ɜːɹ").replace("ɹɹ", "ɹ").translate(_SAME)
    return _UNSTRESSED.sub("ə", ipa)


def read() -> list[tuple[str, str, list[str]]]:
    """(kind, sentence, ways to say the word)"""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(kind, sentence, ways) for kind, sentence, _, *ways in rows]


def judge(speak: Speak) -> tuple[dict[str, list[int]], list[str]]:
    """Kind -> [right, items]; and what was wrong."""
    table, wrong = {kind: [0, 0] for kind in KINDS}, []
    for kind, sentence, ways in read():
        ipa = speak(sentence.rstrip("."))
        right = any(f" {plain(way)} " in f" {plain(ipa)} " for way in ways)
        table[kind][0] += right
        table[kind][1] += 1
        if not right:
            wrong.append(f"{sentence}  {ipa}  expected {ways[0]}")
    return table, wrong


def by_espeak(text: str) -> str:
    return espeak.speak_all({("en-us", text)})["en-us", text]


def without_espeak(text: str) -> str:
    return reading.speak("en-us", text)


def cost_ms(speak: Speak) -> float:
    """Processor time of a sentence, second pass."""
    sentences = [sentence for kind, sentence, _ in read() if kind == "homograph"]
    for _ in range(2):
        started = time.process_time()
        for sentence in sentences:
            speak(sentence)
    return (time.process_time() - started) / len(sentences) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failures", action="store_true", help="show what is wrong")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    speakers = {"eSpeak": by_espeak} | ({words.version(): without_espeak} if words.version() else {})
    result = {}
    for name, speak in speakers.items():
        table, wrong = judge(speak)
        result[name] = table | {"ms": round(cost_ms(speak), 3)} | ({"wrong": wrong} if arguments.failures else {})
    if arguments.json:
        print(json.dumps(result, ensure_ascii=False, indent=1))
        return
    for name, row in result.items():
        scores = ", ".join(f"{kind}s {row[kind][0]} of {row[kind][1]}" for kind in KINDS)
        print(f"{name}: {scores}; {row['ms']} ms a sentence")
        print("".join(f"    {line}\n" for line in row.get("wrong", [])), end="")


if __name__ == "__main__":
    main()
