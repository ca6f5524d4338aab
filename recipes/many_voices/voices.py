"""Who speaks: Kokoro's voices, of which eight are held out, and voices sampled between the others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

# Chosen over languages and genders among those without a twin: 'ef_dora' and 'pf_dora' are one voice (cosine 0.93), so
# are 'alex' and 'santa' in Spanish and Portuguese, and the Japanese women are near each other (0.87). The nearest
# other voice of these eight is at 0.26 to 0.60.
HELD_OUT = ("af_aoede", "af_sarah", "am_michael", "am_puck", "bf_isabella", "bm_lewis", "if_sara", "jm_kumo")
LANGUAGE_OF = {
    "a": "en-us", "b": "en-gb", "e": "es", "f": "fr-fr", "h": "hi", "i": "it", "p": "pt-br", "j": "ja", "z": "cmn",
}  # fmt: skip
# One voice in Portuguese and in Spanish is one speaker to whoever learns. Resemblyzer has alex and santa at 0.91, the
# next two of 11 seen ones at 0.79; dora it has not heard, but by their tables (0.92) she is as near as these (0.94).
SAME = {"pf_dora": "ef_dora", "pm_alex": "em_alex", "pm_santa": "em_santa"}
SPREAD = 1.2
TOO_NEAR = 0.8  # cosine of two voices around the mean
_TYPICAL_ROW = 60  # the style of a sentence of 60 symbols stands for the voice when two are compared


def own_language(voice: str) -> str:
    return LANGUAGE_OF[voice[0]]


def speaker_of(voice: str) -> str:
    return f"kokoro-{SAME.get(voice, voice)}"


def is_sampled(speaker: str) -> bool:
    return speaker.startswith("kokoro-mix")


def seen(voices: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Those that may be learnt from."""
    return {name: table for name, table in voices.items() if name not in HELD_OUT}


def twenty_of(speakers: Sequence[str]) -> list[str]:
    """Kokoro's own voices among these, no two of one speaker, in a fixed, mixed order."""
    names = sorted(name.removeprefix("kokoro-") for name in speakers if _is_own(name))
    return [str(name) for name in np.random.default_rng(0).permutation(names)[:20]]


def _is_own(speaker: str) -> bool:
    return bool(re.fullmatch(r"kokoro-[a-z]{2}_[a-z]+", speaker)) and speaker.removeprefix("kokoro-") not in SAME


def sample_voices(voices: dict[str, np.ndarray], count: int, seed: int) -> dict[str, np.ndarray]:
    """`count` new voices between the seen ones, by turns around the mean and among three, none near another."""
    known = seen(voices)
    tables = np.stack(list(known.values()))
    mean = tables.mean(0)
    offsets = tables - mean
    taken = [_direction(table - mean) for table in voices.values()]  # nor near one that is held out
    sampled: dict[str, np.ndarray] = {}
    for weights in _weights(len(known), seed):
        if len(sampled) == count:
            break
        offset = np.tensordot(weights.astype(np.float32), offsets, 1)
        direction = _direction(offset)
        if max(float(direction @ other) for other in taken) < TOO_NEAR:
            taken.append(direction)
            sampled[f"mix{len(sampled):03}"] = mean + offset
    return sampled


def _weights(known: int, seed: int) -> Iterator[np.ndarray]:
    """How much of each voice's distance from the mean: a normal sample of all, then a mixture of three."""
    random = np.random.default_rng([seed, 1])
    while True:
        yield SPREAD * random.standard_normal(known) / np.sqrt(known)
        three = np.zeros(known)
        three[random.choice(known, 3, replace=False)] = random.dirichlet(np.ones(3))
        yield three


def _direction(offset: np.ndarray) -> np.ndarray:
    style = offset[_TYPICAL_ROW]
    return style / np.linalg.norm(style)
