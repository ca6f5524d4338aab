"""Makes the base voice and the vocoder that ship, step by step; each step resumes, so run it again after a kill.

    python -m recipes.many_voices many --hours 2
    python -m recipes.base_voice many work --minutes 60

1. pack the corpus of recipes/many_voices   2. train a vocoder on it   3. train the voice, rare speakers lifted
4. train the vocoder on, on the voice's own frames   5. put both into myxtts/weights
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from recipes.base_voice.ship import ship

WEIGHTS = Path(__file__).parent.parent.parent / "myxtts" / "weights"
# Square roots of how often speakers occur: 126 synthetic voices of seven clips make up four fifths of the batches, and
# the four with hundreds of clips the rest. References of 3 s. Other colours, as people's microphones and throats have.
VOICE = ["data.speaker_temperature=2", "data.reference_frames=258", "training.vary_voices=0.5",
         "training.validation_steps=1000"]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="made by recipes.many_voices")
    parser.add_argument("work", type=Path, help="where caches and runs go")
    parser.add_argument("--minutes", type=float, default=60, help="of each training")
    arguments = parser.parse_args()
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
    for name in ("base", "vocoder"):
        written = ship(arguments.work / name, WEIGHTS / name, data=cache if name == "base" else None)
        print(f"{name}: {written / 1e6:.1f} MB")


def _myxtts(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "myxtts", *map(str, words)], check=True)


if __name__ == "__main__":
    main()
