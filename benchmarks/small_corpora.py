"""Small corpora of every layout, to be spoilt: five tones of half a second each, with their sentences. See fuzz.py."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile

GOOD = 5
SENTENCE = "number {} of the good sentences, with a comma"


def tone(path: Path, n: int, format: str = "WAV", subtype: str | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_tone(n, format, subtype))


@functools.cache
def _tone(n: int, format: str, subtype: str | None) -> bytes:
    seconds = np.arange(int(24000 * (0.5 + 0.1 * n))) / 24000
    noise = np.random.default_rng(n).standard_normal(len(seconds))
    audio = 0.3 * np.sin(2 * np.pi * (150 + 20 * n) * seconds) + 0.01 * noise
    file = io.BytesIO()
    soundfile.write(file, audio.astype(np.float32), 24000, format=format, subtype=subtype)
    return file.getvalue()


def _lines(name: str, line: str, header: str = "", audio: str = "wavs") -> Callable[[Path], Path]:
    """A writer of a corpus with one line of metadata per utterance; returns the file to mutate."""

    def write(folder: Path) -> Path:
        for n in range(GOOD):
            tone(folder / audio / f"good{n}.wav", n)
        lines = [line.format(n=n, text=SENTENCE.format(n)) for n in range(GOOD)]
        (folder / name).write_text(header + "".join(f"{one}\n" for one in lines), encoding="utf-8")
        return folder / name

    return write


def _texts(text: str, audio: str) -> Callable[[Path], Path]:
    """A writer of a corpus with one file of text per utterance; the last is the one to mutate."""

    def write(folder: Path) -> Path:
        for n in range(GOOD):
            tone(folder / audio.format(n=n), n, Path(audio).suffix[1:].upper())
            words = folder / text.format(n=n)
            words.parent.mkdir(parents=True, exist_ok=True)
            words.write_text(SENTENCE.format(n), encoding="utf-8")
        return words

    return write


def _kaldi(folder: Path) -> Path:
    _lines("text", "good{n} {text}")(folder)
    (folder / "wav.scp").write_text("".join(f"good{n} {folder}/wavs/good{n}.wav\n" for n in range(GOOD)))
    (folder / "utt2spk").write_text("".join(f"good{n} anna\n" for n in range(GOOD)))
    return folder / "text"


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "ljspeech": _lines("metadata.csv", "good{n}|{text}"),
    "manifest.csv": _lines("manifest.csv", 'wavs/good{n}.wav,"{text}",anna,good{n}', "audio,text,speaker,id\n"),
    "manifest.tsv": _lines("manifest.tsv", "wavs/good{n}.wav\t{text}\tgood{n}", "audio\ttext\tid\n"),
    "manifest.jsonl": _lines("manifest.jsonl", '{{"audio": "wavs/good{n}.wav", "text": "{text}", "id": "good{n}"}}'),
    "common_voice": _lines("validated.tsv", "c\tgood{n}.wav\t{text}", "client_id\tpath\tsentence\n", "clips"),
    "huggingface": _lines("metadata.csv", 'good{n}.wav,"{text}"', "file_name,text\n", "."),
    "piper": _lines("metadata.csv", "good{n}|anna|{text}"),
    "kaldi": _kaldi,
    "coqui": _lines("metadata.csv", "wavs/good{n}.wav|{text}|anna|calm", "audio_file|text|speaker_name|emotion_name\n"),
    "vctk": _texts("txt/p225/good{n}.txt", "wav48_silence_trimmed/p225/good{n}_mic1.flac"),
    "libritts": _texts("dev-clean/84/121/84_121_{n}.normalized.txt", "dev-clean/84/121/84_121_{n}.wav"),
}
SOUNDS = {
    "wav16": ("WAV", "PCM_16"), "wav24": ("WAV", "PCM_24"), "float": ("WAV", "FLOAT"), "flac": ("FLAC", "PCM_16"),
    "vorbis": ("OGG", "VORBIS"), "opus": ("OGG", "OPUS"), "mp3": ("MP3", "MPEG_LAYER_III"),
}  # fmt: skip
