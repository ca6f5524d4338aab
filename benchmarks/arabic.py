"""Arabic as it is read:  python benchmarks/arabic.py

Fifteen sentences of ours, fully vowelled by hand. Their signs are taken away; what becomes of the rest is compared
with what eSpeak makes of the vowelled text, the last word of a sentence in the form that it has at a pause.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from unittest import mock

from myxtts.features import arabic
from myxtts.features.letters import clean, fold
from myxtts.features.phonemes import phonemise

SENTENCES = Path(__file__).with_name("data") / "arabic_sentences.txt"
_SIGNS = re.compile("[\u064b-\u0652]")


def main() -> None:
    truth = [fold(clean(line), "ar") for line in SENTENCES.read_text(encoding="utf-8").splitlines()]
    with mock.patch.object(arabic, "version", return_value=None):
        print(f"eSpeak alone: {score(truth)}")
    print(f"vowels by libtashkeel, {arabic.PACKAGE} {arabic.version()}: {score(truth)}")
    started = time.process_time()
    for text in truth:
        arabic.vowel([_SIGNS.sub("", text)])
    print(f"{(time.process_time() - started) / len(truth) * 1000:.1f} ms a sentence for the vowels (processor time)")


def score(truth: list[str]) -> str:
    read = [" ".join([*text.split()[:-1], arabic.pausal_form(text.split()[-1][:-1]) + text[-1]]) for text in truth]
    said, heard = phonemise(read, "ar"), phonemise([_SIGNS.sub("", text) for text in truth], "ar")
    words = [
        pair for one, other in zip(said, heard, strict=True) for pair in zip(one.split(), other.split(), strict=True)
    ]
    right = sum(one == other for one, other in zip(said, heard, strict=True))
    return f"{right} of {len(truth)} sentences right, {sum(a == b for a, b in words)} of {len(words)} words"


if __name__ == "__main__":
    main()
