"""One English voice at about 90 times real time: hibari-tts, distilled from Kokoro's 'heart'."""

from __future__ import annotations

from importlib import metadata
from itertools import islice

from myxtts.corpus.demo_sentences import Row
from myxtts.corpus.demo_voices import SAMPLE_RATE, HibariVoice
from recipes.many_voices.corpus import Clip, Folder, Source
from recipes.many_voices.sentences import sentences
from recipes.many_voices.speaking import make_clips

_OTHER_TEXTS, _MOST = 1000, 100_000


def make(folder: Folder, wanted: float, seed: int) -> None:
    """At least `wanted` seconds of speech."""
    version = metadata.version("hibari-tts")
    attribution = "'heart' of hibari-tts by M. Williams, distilled from Kokoro-82M by hexgrad"
    folder.enter(Source("hibari", "synthetic", "Apache-2.0", attribution, (f"pip: hibari-tts {version}",)))
    # A seed of its own, so that it does not say what Kokoro says.
    texts = enumerate(islice(sentences("en-us", seed + _OTHER_TEXTS), _MOST))
    clips = (Clip(f"hibari-{number:05}", text, "hibari-heart", "en-us", "hibari") for number, text in texts)
    with HibariVoice(seed) as voice:
        make_clips(folder, clips, lambda clip: voice.say(_row(clip)), SAMPLE_RATE, wanted)


def _row(clip: Clip) -> Row:
    return Row(int(clip.id[-5:]), clip.id, clip.text, clip.text, clip.speaker, clip.language)
