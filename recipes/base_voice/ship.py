"""Puts a run's best checkpoint into a folder as it ships: half precision, without what only training needs.

    python -m recipes.base_voice.ship RUN FOLDER [--language en-us] [--voice CLIP.wav ...] [--data CACHE]

A language that is named comes first, so that it is spoken where none is asked for; clips become the model's own voice.
With the data that was trained on, the model knows how far from its own voice it has learnt others. Whoever asks to be
named is named in its model.json.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np

from myxtts.cache.open import open_cache
from myxtts.errors import SpeechError
from myxtts.features.mel import log_mel
from myxtts.inference.reference import make_reference, read_references, voice_frames
from myxtts.inference.synthesizer import Synthesizer
from myxtts.models import weights
from myxtts.models.description import ModelDescription, find_checkpoint, load_description, weights_file
from myxtts.models.format import VOICE, WEIGHTS
from myxtts.models.voice import distance

# Of the speakers of the data, how many are within the reach. With fewer, voices that are known are taken for one
# another, with more, words are lost (docs/log.md, 2026-11-18, later). models/voice.py has a share of it for
# each part of the model.
REACH_PERCENT = 80
OWN = "the base voice of MyXTTS (Apache-2.0)"
# Sources of recipes/many_voices whose licence asks for a name, by the first word of their speakers.
NAMED = {
    "carlo": "recordings of Carlo Flora, carloflora.com, translated by Silvia Petrin (CC-BY 3.0), changed",
    "ivrvoice": "recordings of ivrvoice.ru, provided by Maxim Topal (CC-BY 3.0), changed",
}


def ship(
    run: Path, folder: Path, language: str | None = None, voice: list[Path] | None = None, data: Path | None = None
) -> int:
    """Bytes written."""
    checkpoint = find_checkpoint(run)
    folder.mkdir(parents=True, exist_ok=True)
    description, tensors = load_description(checkpoint), weights.load(weights_file(checkpoint))
    if isinstance(description, ModelDescription):
        if language:
            _put_first(description, tensors, language)
        description.attribution = list(dict.fromkeys([*description.attribution, *to_name(description.speakers)]))
        own = read_references(voice, description) if voice else None
        kept = weights.load(checkpoint / VOICE) if own is None else {
            "reference": own.crops.astype(np.float16), "lengths": own.lengths
        }  # fmt: skip
        weights.save(folder / VOICE, kept)
    description.save(folder)
    weights.save(folder / WEIGHTS, weights.halved(tensors))
    if data is not None:
        note_reach(folder, data)
    return sum(path.stat().st_size for path in folder.iterdir())


def to_name(speakers: list[str]) -> list[str]:
    """What the licences of what was heard ask for; the model itself is one of it."""
    heard = {re.split("[-_]", name)[0] for name in speakers}
    return [OWN, *(text for name, text in NAMED.items() if name in heard)]


def note_reach(folder: Path, data: Path) -> None:
    """How far from the own voice most speakers of the data are, each heard by its longest clip."""
    synthesizer, cache = Synthesizer.load(folder), open_cache(data)
    description, own = synthesizer.description, synthesizer.hear()
    speakers, frames = np.asarray(cache.columns["speaker"]), np.asarray(cache.columns["n_frames"])
    longest = [max(np.flatnonzero(speakers == at), key=lambda row: frames[row]) for at in np.unique(speakers)]
    heard = [make_reference([voice_frames(log_mel(cache.samples(int(row))))], description.reference_frames)
             for row in longest]  # fmt: skip
    far = [distance(synthesizer.hear_within_colours(each), own, description.follows_pitch) for each in heard]
    description.voice_reach = round(float(np.percentile(far, REACH_PERCENT)), 2)
    description.save(folder)


def _put_first(description: ModelDescription, tensors: dict[str, np.ndarray], language: str) -> None:
    if language not in description.languages:
        raise SpeechError(f"the model has not learnt '{language}': choose from {', '.join(description.languages)}")
    (name,) = (name for name in tensors if name.endswith("text_encoder/languages"))
    order = sorted(range(len(description.languages)), key=lambda at: description.languages[at] != language)
    description.languages, description.main_language = [description.languages[at] for at in order], language
    tensors[name] = tensors[name][order]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--language")
    parser.add_argument("--voice", type=Path, nargs="+")
    parser.add_argument("--data", type=Path)
    print(f"{ship(**vars(parser.parse_args())) / 1e6:.1f} MB")
