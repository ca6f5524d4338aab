"""Human speech: the telephone prompts of Asterisk, Debian's packages, G.722 at 16 kHz with their texts.

Italian and Russian are CC-BY 3.0 and may be learnt from. English, Spanish and French are CC-BY-SA 3.0: to judge by.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recipes.many_voices.corpus import Clip, Folder, Source
from recipes.many_voices.packages import Package, fetch

RATE = 16000
LONGEST_SECONDS = 20.0
SECONDS_PER_LETTER = (0.04, 0.22)  # outside of it the text is not what is said: names of letters, sounds, acronyms
_VERSION = "1.6.1-1"
# Letters, protocols and silence; a '?' that was a letter with an accent; stage directions.
_NOT_SPEECH = re.compile(r"^(silence|letters|phonetic)/|^spy-|beep|tone\b|^vm-duration")
_NOT_TEXT = re.compile(r"[\[\](){}<>%*#_=]|\w\?\s*[\wà-ÿ]|\s\?|\d{3}")


@dataclass(frozen=True)
class Prompts:
    code: str
    language: str
    speaker: str
    licence: str
    attribution: str

    def source(self) -> Source:
        packages = tuple(str(package) for package in self.packages())
        return Source(f"asterisk-{self.code}", "human", self.licence, self.attribution, packages)

    def packages(self) -> tuple[Package, Package]:
        """The texts, the sounds."""
        name = f"asterisk-core-sounds-{self.code}"
        return Package("apt", name, _VERSION), Package("apt", f"{name}-g722", _VERSION)


LEARNT = (
    Prompts("it", "it", "carlo", "CC-BY-3.0", "Carlo Flora (carloflora.com), translated by Silvia Petrin"),
    Prompts("ru", "ru", "ivrvoice-ru", "CC-BY-3.0", "provided by Maxim Topal (ivrvoice.ru)"),
)
HELD_OUT = (
    Prompts("en", "en-us", "allison", "CC-BY-SA-3.0", "Allison Smith (theivrvoice.com)"),
    Prompts("es", "es-419", "allison", "CC-BY-SA-3.0", "Allison Smith (theivrvoice.com)"),
    Prompts("fr", "fr-fr", "june", "CC-BY-SA-3.0", "June Wallack (junewallack.com)"),
)


def make_prompts(prompts: Prompts, folder: Folder, packages: Path, most: int | None = None, least: float = 0.0) -> None:
    """Every prompt of a speaker, or the first `most` of at least `least` seconds in a fixed, mixed order."""
    texts, sounds = (fetch(package, packages) for package in prompts.packages())
    folder.enter(prompts.source())
    made = 0
    for clip, path in _clips(prompts, texts, sounds, mixed=most is not None):
        if most is not None and made == most:
            break
        if folder.has(clip):
            made += 1
        elif is_said(clip.text, samples := decode(path), least):
            made += folder.add(clip, samples, RATE)
    folder.save()


def is_said(text: str, samples: np.ndarray, least: float = 0.0) -> bool:
    """Whether the sound is about as long as the text."""
    seconds = len(samples) / RATE
    letters = sum(character.isalpha() for character in text) + 4 * sum(map(str.isdigit, text))
    low, high = SECONDS_PER_LETTER
    return max(least, low * letters) <= seconds <= min(LONGEST_SECONDS, 0.6 + high * letters)


def read_texts(path: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each prompt that is speech."""
    for line in gzip.decompress(path.read_bytes()).decode("utf-8-sig").splitlines():
        name, colon, text = line.partition(":")
        text = " ".join(text.replace("…", "...").strip(" .:").split())
        if colon and text and not (line.startswith(";") or _NOT_SPEECH.search(name) or _NOT_TEXT.search(text)):
            yield name.strip(), text[0].upper() + text[1:] + ("" if text[-1] in "!?" else ".")


def decode(path: Path) -> np.ndarray:
    import av  # pip install --no-deps av

    with av.open(str(path), format="g722") as file:
        frames = [frame.to_ndarray().ravel() for frame in file.decode(audio=0)]
    return np.concatenate(frames) / np.float32(32768)


def _clips(prompts: Prompts, texts: Path, sounds: Path, mixed: bool) -> Iterator[tuple[Clip, Path]]:
    files = {path.with_suffix("").as_posix(): path for path in sounds.rglob("*.g722")}
    (list_file,) = texts.rglob(f"core-sounds-{prompts.code}.txt.gz")
    rows = list(dict(read_texts(list_file)).items())
    if mixed:
        rows = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    for name, text in rows:
        path = next((file for stem, file in files.items() if stem.endswith(f"/{name}")), None)
        if path is not None:
            id = f"asterisk-{prompts.code}-{name.replace('/', '-')}"
            yield Clip(id, text, prompts.speaker, prompts.language, f"asterisk-{prompts.code}"), path
