"""What is left out of a corpus: OUT/left_out.txt, each line the id of a clip or the name of a speaker.

A hand may add to it. The recipe takes nothing from it, so that who was left out once stays out, run after run.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from myxtts.files import write_whole

COPY = "shifted-"  # and a clip's id: that clip at another speed
WAYS = ("-slower", "-faster")  # behind a speaker's name, likewise


class LeftOut:
    def __init__(self, folder: Path):
        self._path = folder / "left_out.txt"
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        self._names = {line.strip() for line in text.splitlines() if line.strip()}

    def has(self, id: str, speaker: str) -> bool:
        """Copies at another speed go with their clip, and with its speaker; or alone, by their own name."""
        speakers = {speaker, *(speaker.removesuffix(way) for way in WAYS)}
        return not self._names.isdisjoint({id, id.removeprefix(COPY), *speakers})

    def add(self, names: Iterable[str]) -> None:
        if new := set(names) - self._names:
            self._names |= new
            write_whole(self._path, "".join(f"{name}\n" for name in sorted(self._names)).encode())
