"""One English voice at about 90 times real time: hibari-tts, distilled from Kokoro's 'heart'."""

from __future__ import annotations

import logging
from importlib import metadata
from itertools import islice

from myxtts.corpus.demo_sentences import Row
from myxtts.corpus.demo_voices import SAMPLE_RATE, HibariVoice
from recipes.many_voices.corpus import Clip, Folder, Source
from recipes.many_voices.sentences import sentences

_log = logging.getLogger("many_voices")
_NO_NUMBER = 1000


def make(folder: Folder, wanted: float, seed: int) -> None:
    """At least `wanted` seconds of speech."""
    version = metadata.version("hibari-tts")
    attribution = "'heart' of hibari-tts by M. Williams, distilled from Kokoro-82M by hexgrad"
    folder.enter(Source("hibari", "synthetic", "Apache-2.0", attribution, (f"pip: hibari-tts {version}",)))
    with HibariVoice(seed) as voice:
        # A seed of its own: what Kokoro says is said by nobody else first.
        for number, text in enumerate(islice(sentences("en-us", seed + _NO_NUMBER), 100_000)):
            clip = Clip(f"hibari-{number:05}", text, "hibari-heart", "en-us", "hibari")
            if folder.has(clip):
                continue
            if folder.seconds("hibari") >= wanted:
                break
            folder.add(clip, voice.say(Row(number, clip.id, text, text, clip.speaker, clip.language)), SAMPLE_RATE)
    folder.save()
    _log.info("hibari: %.1f minutes", folder.seconds("hibari") / 60)
