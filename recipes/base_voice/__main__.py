"""Makes the base voice and the vocoder that ship, step by step; each step resumes, so run it again after a kill.

    python -m recipes.many_voices many --hours 2
    python -m recipes.base_voice many work --minutes 60

1. pack the corpus of recipes/many_voices   2. train a vocoder on it   3. train the voice, rare speakers lifted
4. train the vocoder on, on the voice's own frames   5. put both into myxtts/weights; the voice speaks LANGUAGE where
none is asked for, and as in the clips of --voice where nobody is to be imitated
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from recipes.base_voice.ship import ship
from recipes.many_voices.corpus import Folder

WEIGHTS = Path(__file__).parent.parent.parent / "myxtts" / "weights"
# Square roots of how often speakers occur: 126 synthetic voices of seven clips make up four fifths of the batches, and
# the four with hundreds of clips the rest. References of 3 s. Other colours, as people's microphones and throats have.
VOICE = ["data.speaker_temperature=2", "data.reference_frames=258", "training.vary_voices=0.5",
         "training.validation_steps=1000"]  # fmt: skip


def main() -> None:
    arguments = _arguments()
    language, voice = _own_voice(arguments)  # before hours of training
    cache, minutes = arguments.work / "many.cache", ["--minutes", str(arguments.minutes)]
    arguments.work.mkdir(parents=True, exist_ok=True)
    if not cache.exists():
        _myxtts("pack", arguments.corpus, "-o", cache)
    trained = ["--preset", "cpu", "--data", cache]
    _myxtts("train", "--part", "vocoder", *trained, "--run", arguments.work / "first_vocoder", *minutes)
    settings = [word for setting in VOICE for word in ("--set", setting)]
    _myxtts("train", "--from", "scratch", *trained, "--run", arguments.work / "base", *minutes, *settings)
    ship(arguments.work / "first_vocoder", WEIGHTS / "vocoder")  # the next one starts from what ships
    frames = ["--from", arguments.work / "base"]
    _myxtts("train", "--part", "vocoder", *frames, *trained, "--run", arguments.work / "vocoder", *minutes)
    print(f"base: {ship(arguments.work / 'base', WEIGHTS / 'base', language, voice, cache) / 1e6:.1f} MB")
    print(f"vocoder: {ship(arguments.work / 'vocoder', WEIGHTS / 'vocoder') / 1e6:.1f} MB")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="made by recipes.many_voices")
    parser.add_argument("work", type=Path, help="where caches and runs go")
    parser.add_argument("--minutes", type=float, default=60, help="of each training")
    parser.add_argument("--language", default="en-us", help="spoken where none is asked for (default: en-us)")
    parser.add_argument(
        "--voice", type=Path, nargs="+", metavar="CLIP", help="its own (default: hibari's longest clip)"
    )
    return parser.parse_args()


def _own_voice(arguments: argparse.Namespace) -> tuple[str, list[Path]]:
    """The language and the clips that it speaks by when nothing else is asked for."""
    rows = Folder(arguments.corpus).rows()
    languages = sorted({row["language"] for row in rows})
    if arguments.language not in languages:
        known = ", ".join(languages) or "none"
        raise SystemExit(f"--language {arguments.language}: expected one that {arguments.corpus} speaks ({known})")
    if arguments.voice:
        if missing := [str(clip) for clip in arguments.voice if not clip.is_file()]:
            raise SystemExit(f"--voice {missing[0]} is not a file: expected a recording of some seconds")
        return arguments.language, arguments.voice
    clips = [row for row in rows if row["source"] == "hibari"]
    if not clips:
        raise SystemExit(f"{arguments.corpus} has no clip of hibari: name one of its clips with --voice")
    return arguments.language, [arguments.corpus / max(clips, key=lambda row: row["seconds"])["audio"]]


def _myxtts(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "myxtts", *map(str, words)], check=True)


if __name__ == "__main__":
    main()
