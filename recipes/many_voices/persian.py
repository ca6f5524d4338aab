"""Persian, of which no permissively licensed voice can be had by package name: eSpeak NG says it in four voices.

It sounds like a machine, and is a small share: the base voice learns from it how Persian words go, and who speaks from
the others. The program is GPL-3.0; what it says is not covered by that.
"""

from __future__ import annotations

from importlib import metadata
from itertools import islice

from myxtts.corpus.demo_sentences import Row
from myxtts.corpus.demo_voices import SAMPLE_RATE, EspeakVoice
from recipes.many_voices.corpus import Clip, Folder, Source
from recipes.many_voices.sentences import sentences
from recipes.many_voices.speaking import make_clips

VARIANTS = ("m3", "f2", "m7", "f4")
_MOST = 100_000


def make(folder: Folder, wanted: float, seed: int) -> None:
    """At least `wanted` seconds of speech, the four voices by turns."""
    package = f"pip: espeakng-loader {metadata.version('espeakng-loader')}"
    attribution = "spoken by eSpeak NG; the sentences were written for MyXTTS"
    folder.enter(Source("persian", "synthetic", "none: a program's output", attribution, (package,)))
    texts = enumerate(islice(sentences("fa", seed), _MOST))
    with EspeakVoice(seed) as voice:
        clips = (_clip(number, text) for number, text in texts)
        make_clips(folder, clips, lambda clip: voice.say(_row(clip)), SAMPLE_RATE, wanted)


def _clip(number: int, text: str) -> Clip:
    variant = VARIANTS[number % len(VARIANTS)]
    return Clip(f"persian-{number:05}", text, f"espeak-{variant}", "fa", "persian")


def _row(clip: Clip) -> Row:
    return Row(int(clip.id[-5:]), clip.id, clip.text, clip.text, clip.speaker, clip.language)
