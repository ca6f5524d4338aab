"""A voice as a judge of what is said: the frames that it expects of a text, to compare with those of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.errors import RowError
from myxtts.evaluation.words import without_spaces
from myxtts.features.audio import AudioSettings, load_clip
from myxtts.features.lexicon import Lexicon
from myxtts.features.mel import N_MELS, log_mel
from myxtts.features.text import BOS, EOS, TextFrontend, TokenTable
from myxtts.inference.longform import split_text
from myxtts.inference.reference import read_references
from myxtts.inference.script import Script as Languages
from myxtts.inference.synthesizer import Synthesizer
from myxtts.models.layers import inside_of
from myxtts.models.voice import Voice
from myxtts.prepare.placement import Expected, Frames, without_pauses
from myxtts.prepare.script import Script

_REFERENCES = 12  # clips of the recording, by which the model is told who speaks
_BATCH = 16  # sentences
_SPACE = " "


class Aligner:
    """A run, a checkpoint or `base`, for one language and, by some of their clips, for one speaker."""

    def __init__(self, model: Path | str, language: str, clips: Sequence[Path]):
        speaker = Synthesizer.load(model)
        description = speaker.description
        # As the encoder hears it: what is expected of a text is compared with the recording itself, colour and all.
        self._model, self._voice = speaker.model, speaker.encode(read_references(_spread(clips), description))
        self._mean, self._spread = speaker.model.mel_mean.numpy(), speaker.model.mel_std.numpy()
        self._position = Languages(description).language(language)
        self._spoken = description.languages[self._position]
        lexicon = Lexicon.of(description.tokens.get("lexicon"))
        self._frontend = TextFrontend.from_settings(description.tokens, lexicon)
        self._table = TokenTable(description.token_table)
        self._known = frozenset(description.learnt or description.token_table)
        self._language, self.space = language, "" if without_spaces(language) else _SPACE
        self._audio = AudioSettings.of(description.audio, min_seconds=0.0)

    def frames(self, clip: Path) -> Frames:
        """A clip as `expect` expects one, without its pauses: [frames, mels]."""
        frames: Frames = (log_mel(load_clip(clip, self._audio)) - self._mean) / self._spread
        return without_pauses(frames.astype(np.float32))

    def expect(self, text: str) -> tuple[Expected, list[str]]:
        """How a text should sound, and its words as they are written."""
        sentences = [_words(piece.text, self._language) for piece in split_text(text, self._spoken)]
        sentences = [words for words in sentences if words]
        spelled = [self._spell(words) for words in sentences]
        tokens = [self._encode([symbol for word in one for symbol in word]) for one in spelled]
        lengths = [len(word) for one in spelled for word in one]
        ends = [n == len(words) - 1 for words in sentences for n in range(len(words))]
        is_sound = np.array([_is_sound(symbol) for one in spelled for word in one for symbol in word])
        expected = Expected(np.concatenate(self._expect(tokens)), np.cumsum(lengths), np.array(ends), is_sound)
        return expected, [word for words in sentences for word in words]

    def _spell(self, words: list[str]) -> list[list[str]]:
        """The symbols of each word of a sentence, with the marks and the space after it: as they are in the sentence,
        or of each word alone, where the sentence's have other spaces ('of the' may be one word)."""
        whole = self._symbols([_SPACE.join(words)])[0]
        spaces = [n + 1 for n, symbol in enumerate(whole) if symbol == _SPACE]
        if len(spaces) + 1 == len(words):
            return [whole[first:last] for first, last in pairwise([0, *spaces, len(whole)])]
        last, spelled = len(words) - 1, []
        for n, word in enumerate(self._symbols(words)):
            inside = [symbol for symbol in word if not (symbol == BOS and n > 0) and not (symbol == EOS and n < last)]
            spelled.append([*inside, _SPACE] if n < last else inside or [_SPACE])
        return spelled

    def _symbols(self, texts: list[str]) -> list[list[str]]:
        """What the model has learnt; nothing of a text that cannot be read."""
        spelled = self._frontend.symbols(texts, self._spoken)
        return [[] if isinstance(one, RowError) else [each for each in one if each in self._known] for one in spelled]

    def _expect(self, tokens: list[Any]) -> list[Frames]:
        frames: list[Frames] = []
        for start in range(0, len(tokens), _BATCH):
            batch = tokens[start : start + _BATCH]
            lengths = np.array([len(one) for one in batch], np.int32)
            padded = np.zeros((len(batch), lengths.max()), np.int32)
            for row, one in zip(padded, batch, strict=True):
                row[: len(one)] = one
            parts = (self._voice.vector, self._voice.tokens)
            voice = Voice(*(tf.repeat(part, len(batch), axis=0) for part in parts))
            language = np.full(len(batch), self._position, np.int32)
            mu = self._model.text_encoder(padded, inside_of(lengths, lengths.max()), language, voice)[1].numpy()
            frames += [one[:length] for one, length in zip(mu, lengths, strict=True)]
        return frames or [np.zeros((0, N_MELS), np.float32)]

    def _encode(self, symbols: list[str]) -> Any:
        return self._table.encode(symbols, grow=False)


def _is_sound(symbol: str) -> bool:
    return symbol not in (BOS, EOS) and any(map(str.isalpha, symbol))


def _words(text: str, language: str) -> list[str]:
    """As they are written, marks that stand alone with the word before them."""
    script = Script.of(text, language)
    starts = [0, *sorted(set(script.owners))[1:]]
    parts = pairwise([*starts, len(script.words)])
    return [script.space.join(script.words[first:last]) for first, last in parts] if script.owners else []


def _spread(clips: Sequence[Path]) -> list[Path]:
    chosen = np.unique(np.linspace(0, len(clips) - 1, _REFERENCES).round().astype(int))
    return [clips[n] for n in chosen]
