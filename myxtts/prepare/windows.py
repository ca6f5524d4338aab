"""What is known of a recording every 32 ms: enough to cut it, and 16 bytes, so that ten hours are 18 MB."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.files import write_whole
from myxtts.prepare.activity import WINDOW_SECONDS

_COLUMNS = ("speech", "level_db", "music", "clipped")


@dataclass(frozen=True)
class Windows:
    """One value per window: how likely speech is, how loud, how steady its tones are, how many samples are cut off."""

    speech: NDArray[np.float32]
    level_db: NDArray[np.float32]
    music: NDArray[np.float32]
    clipped: NDArray[np.float32]
    seconds: float  # of the recording: the last window may be longer than it

    def __len__(self) -> int:
        return len(self.speech)

    def save(self, path: Path) -> None:
        buffer = io.BytesIO()
        table = np.stack([getattr(self, name) for name in _COLUMNS], axis=1).astype(np.float32)
        np.save(buffer, np.concatenate([np.full((1, len(_COLUMNS)), self.seconds), table]), allow_pickle=False)
        write_whole(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> Windows:
        table: NDArray[Any] = np.load(path, allow_pickle=False)
        speech, level_db, music, clipped = np.ascontiguousarray(table[1:].T, dtype=np.float32)
        return cls(speech, level_db, music, clipped, float(table[0, 0]))


def window_at(seconds: float) -> int:
    return round(seconds / WINDOW_SECONDS)
