"""Corpora and caches for benchmarks, with the lengths of LJSpeech: clip(normal(6.57, 2.19), 1.1, 10.1) seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile

from myxtts.cache.format import (
    BLOBS,
    FORMAT,
    HEADER_BYTES,
    MANIFEST,
    MODES,
    REJECTED,
    TOKENS,
    array_type,
    column_file,
    index_columns,
    npy_header,
    padding_row,
    payload_files,
    row_bytes,
)
from myxtts.cache.manifest import dump_manifest
from myxtts.cache.settings import PackSettings
from myxtts.features.audio import AudioSettings
from myxtts.features.mel import HOP_SAMPLES, SAMPLE_RATE
from myxtts.features.text import TextFrontend
from myxtts.files import fingerprint, hash_file

WORDS = """amber basket candle distant evening forest garden harbour island journey kitchen ladder morning narrow ocean
paper quiet river silver table under valley winter yellow autumn bridge castle dragon engine feather guitar hollow"""


def lengths_seconds(utterances: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(6.57, 2.19, utterances), 1.1, 10.1)


def sentence(rng: np.random.Generator, seconds: float) -> str:
    """About 15 characters a second, as people speak."""
    words = rng.choice(WORDS.split(), max(2, int(seconds * 2.3)))
    return (" ".join(words)).capitalize() + "."


def write_corpus(folder: Path, utterances: int, seed: int = 0) -> float:
    """An LJSpeech folder of 16-bit wav files of coloured, modulated noise. Returns its seconds of audio."""
    rng = np.random.default_rng(seed)
    source = _speech_like(rng, 120)
    (folder / "wavs").mkdir(parents=True, exist_ok=True)
    lines, seconds = [], lengths_seconds(utterances, seed)
    for n, length in enumerate(seconds):
        samples = int(length * SAMPLE_RATE)
        start = int(rng.integers(0, len(source) - samples))
        soundfile.write(folder / "wavs" / f"utt{n:06d}.wav", source[start : start + samples], SAMPLE_RATE)
        text = sentence(rng, length)
        lines.append(f"utt{n:06d}|{text}|{text}\n")
    (folder / "metadata.csv").write_text("".join(lines))
    return float(seconds.sum())


def _speech_like(rng: np.random.Generator, seconds: int) -> np.ndarray:
    noise = rng.standard_normal(seconds * SAMPLE_RATE).astype(np.float32)
    coloured = np.convolve(noise, np.hanning(12), mode="same")
    syllables = np.repeat(0.2 + 0.8 * rng.random(seconds * 8), SAMPLE_RATE // 8 + 1)[: len(noise)]
    return (coloured * syllables * 2500).astype(np.int16)


def write_index_only(cache: Path, utterances: int, seed: int = 0) -> None:
    """A cache whose index is real and whose audio and mel are holes in sparse files: for what costs by the index."""
    cache.mkdir(parents=True)
    frames = np.ceil(lengths_seconds(utterances, seed) * SAMPLE_RATE / HOP_SAMPLES).astype(np.int64)
    tokens = frames // 7
    ids = [f"utt{n:08d}".encode() for n in range(utterances)]
    texts = [
        b"A sentence of about the usual length, number %08d, as it would be read aloud." % n for n in range(utterances)
    ]
    columns = {
        "first_row": 1 + np.cumsum(frames) - frames,
        "n_frames": frames,
        "n_samples": frames * HOP_SAMPLES,
        "first_token": np.cumsum(tokens) - tokens,
        "n_tokens": tokens,
        "speaker": np.arange(utterances) % 10,
        "language": np.zeros(utterances),
        "xxh3_audio": np.zeros(utterances),
        "xxh3_mel": np.zeros(utterances),
        "xxh3_tokens": np.zeros(utterances),
        "id_end": np.cumsum([len(value) for value in ids]),
        "text_end": np.cumsum([len(value) for value in texts]),
        "id_bytes": np.frombuffer(b"".join(ids), np.uint8),
        "text_bytes": np.frombuffer(b"".join(texts), np.uint8),
    }
    lengths = {}
    for column, dtype in {**index_columns(MODES["precompute"]), **BLOBS}.items():
        values = columns[column].astype(dtype)
        (cache / column_file(column)).write_bytes(npy_header(dtype, values.shape) + values.tobytes())
        lengths[column_file(column)] = len(values)
    for name in payload_files(MODES["precompute"]):
        lengths[name] = int(tokens.sum()) if name == TOKENS else 1 + int(frames.sum())
        write_sparse(cache / name, lengths[name])
    seal_index_only(cache, lengths, utterances)


def write_sparse(path: Path, rows: int) -> None:
    dtype, shape = array_type(path.name)
    with open(path, "wb") as file:
        file.write(npy_header(dtype, (rows, *shape)))
        file.write(padding_row(path.name).tobytes())
        file.truncate(HEADER_BYTES + rows * row_bytes(dtype, shape))


_READ_AS = {"layout": "ljspeech", "speaker": "speaker", "language": "en-us"}


def seal_index_only(cache: Path, lengths: dict[str, int], utterances: int) -> None:
    settings = PackSettings(AudioSettings(), TextFrontend(kind="characters")).groups()
    (cache / REJECTED).touch()
    body = {
        "format": FORMAT,
        "mode": "precompute",
        "fingerprints": {name: fingerprint(value) for name, value in settings.items()},
        "checksums": {
            name: hash_file(cache / name)
            for name in [*lengths, REJECTED]
            if name not in payload_files(MODES["precompute"])
        },
        "id": f"index-only-{utterances}",
        "settings": settings,
        "corpora": [{"corpus": _READ_AS, "name": "synthetic", "digest": "", "rows": utterances}],
        "lengths": lengths,
        "utterances": utterances,
        "rejected": {},
        "speakers": [f"speaker{n}" for n in range(10)],
        "languages": ["en-us"],
        "token_table": ["<pad>", "<bos>", "<eos>", "<blank>", "<unk>"],
    }
    (cache / MANIFEST).write_bytes(dump_manifest(body))
