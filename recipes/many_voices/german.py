"""One German voice, 'Thorsten', at about 25 times real time: the model and the spelling rules of @dittli/tts-de.

The package brings its letter-to-sound rules as data; those that look at the letters around are `_IN_CONTEXT` here. The
model knows German by these rules only, mistakes included, so eSpeak's phonemes would serve it worse.
"""

from __future__ import annotations

import json
import logging
import re
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from recipes.many_voices.corpus import Clip, Folder, Source
from recipes.many_voices.packages import Package, fetch
from recipes.many_voices.sentences import sentences

PACKAGE = Package("npm", "@dittli/tts-de", "0.6.0")
SOURCE = Source("dittli", "synthetic", "Apache-2.0", "Dittli TTS contributors; the voice is Thorsten", (str(PACKAGE),))
RATE = 44100
_NOISE, _RHYTHM_NOISE = 0.667, 0.8  # the package's; without noise it is duller (DNSMOS 3.0 for 3.3)
BLOCK = 40  # clips between two loads of the model
_WORD_OR_MARK = re.compile(r"[\w']+|[.,!?…-]")
_log = logging.getLogger("many_voices")


def make(folder: Folder, packages: Path, wanted: float, seed: int) -> None:
    """At least `wanted` seconds of speech, block after block."""
    folder.enter(SOURCE)
    texts, block = enumerate(sentences("de", seed)), 0
    while folder.seconds("dittli") < wanted:
        clips = [_clip(number, text) for number, text in islice(texts, BLOCK)]
        if any(not folder.has(clip) for clip in clips):
            teacher = Dittli(packages, seed + block)
            for clip in clips:
                samples = teacher.say(clip.text)  # also of one that is there: the noise of the next depends on it
                if not folder.has(clip):
                    folder.add(clip, samples, RATE)
        block += 1
    folder.save()
    _log.info("dittli: %.1f minutes", folder.seconds("dittli") / 60)


def _clip(number: int, text: str) -> Clip:
    return Clip(f"dittli-{number:05}", text, "dittli-thorsten", "de", "dittli")


class Dittli:
    """The teacher. Its noise is that of the seed and of how much was said since it was loaded, which takes 6 s."""

    def __init__(self, packages: Path, seed: int):
        import onnxruntime

        package = fetch(PACKAGE, packages) / "package"
        onnxruntime.set_seed(seed)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3  # it warns that it cannot fold a constant
        model = str(package / "assets/de/model.onnx")
        self._model = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._about = json.loads((package / "assets/de/metadata.json").read_text(encoding="utf-8"))
        self._rules = json.loads((package / "src/g2p_de_rules.json").read_text(encoding="utf-8"))
        self._ids = {symbol: number for number, symbol in enumerate(self._about["symbols"])}

    def say(self, text: str) -> np.ndarray:
        """Samples at 44.1 kHz."""
        ids = [self._ids[symbol] for symbol in ["_", *sounds_of(text, self._rules), "_"]]
        length = 2 * len(ids) + 1  # a blank before, between and after
        feed = {
            "x": _spread(ids),
            "x_lengths": np.array([length]),
            "sid": np.zeros(1, np.int64),
            "tone": _spread([self._about["tone_offset"]] * len(ids)),
            "language": _spread([self._about["language_id"]] * len(ids)),
            "bert": np.zeros((1, 1024, length), np.float32),
            "ja_bert": np.zeros((1, 768, length), np.float32),
            "noise_scale": np.array([_NOISE], np.float32),
            "noise_scale_w": np.array([_RHYTHM_NOISE], np.float32),
            "length_scale": np.ones(1, np.float32),
        }
        samples: np.ndarray = self._model.run(None, feed)[0]
        return samples.ravel()


def sounds_of(text: str, rules: dict[str, Any]) -> list[str]:
    """The model's symbols of a text in words and marks."""
    sounds: list[str] = []
    for token in _WORD_OR_MARK.findall(text.lower().replace("...", "…")):
        known = rules["exceptions"].get(token)
        sounds += known or ([token] if not token[0].isalpha() else _spelled(token, rules))
    return ["V" if sound == "v" else sound for sound in sounds]


def _spelled(word: str, rules: dict[str, Any]) -> list[str]:
    sounds: list[str] = []
    at = 0
    while at < len(word):
        letters, action = next(((a, b) for a, b in rules["rules"] if word.startswith(a, at)), (word[at], []))
        sounds += action if isinstance(action, list) else _in_context(action["callback"], word, at, rules)
        at += len(letters)
    return sounds


def _in_context(rule: str, word: str, at: int, rules: dict[str, Any]) -> list[str]:
    before, after = word[:at], word[at + len(rule) :]
    vowels = rules["all_vowels"]
    if rule in ("st", "sp"):
        return ["ʃ" if not before or before in rules["prefixes"] else "s", rule[1]]
    if rule == "r":
        return ["ɐ" if not after and before and before[-1] in vowels else "ʁ"]
    if rule == "s":
        voiced = after and after[0] in vowels and (not before or before[-1] in vowels)
        return ["z" if voiced else "s"]
    if rule == "v":
        return ["v" if any(part in word for part in rules["loanword_v_fragments"]) else "f"]
    if rule == "chs" and (not after or after[0] == "t"):
        return ["k", "s"]
    dark = before and before[-1] in rules["back_vowels"]
    return [("x" if dark else "ç") if before else "k"] + ["s"] * (rule == "chs")


def _spread(ids: list[int]) -> np.ndarray:
    """Blanks (0) around each, [1, 2 n + 1]."""
    spread = np.zeros((1, 2 * len(ids) + 1), np.int64)
    spread[0, 1::2] = ids
    return spread
