"""Piper: `metadata.csv` with `wav|speaker|text` or `wav|text`, no header; audio in `wav/`, `wavs/` or beside it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

from myxtts.corpus.layout import AUDIO_SUFFIXES
from myxtts.corpus.lines import read_lines
from myxtts.corpus.ljspeech import Piped, piped_file
from myxtts.errors import CorpusError

_ROWS_TO_SEE = 1000
_FEW_ROWS = 20


class Piper(Piped):
    name = "piper"
    about = "metadata.csv with lines wav|speaker|text or wav|text, audio in wav/ or wavs/"
    places = ("wav", "wavs", "")
    expected = "'wav|speaker|text' or 'wav|text'"

    @classmethod
    def recognise(cls, path: Path) -> Path | None:
        """LJSpeech looks the same but for the meaning of its second cell: speakers come again and again, texts do not.

        Where a few rows do not show which it is, this is an error, because either guess loses the speakers.
        """
        file = piped_file(path)
        if file is None:
            return None
        rows = [line.split("|") for line in itertools.islice(read_lines(file), _ROWS_TO_SEE) if line.strip()]
        if _most(len(cells) == 2 for cells in rows):
            return file if _is_single_speaker(file.parent, rows) else None
        triples = [[cell.strip() for cell in cells] for cells in rows if len(cells) == 3 and all(map(str.strip, cells))]
        if len(triples) < len(rows) / 2 or _most(second == third for _, second, third in triples):
            return None
        names = [second for _, second, _ in triples]
        if len(names) >= 4 and len(set(names)) <= len(names) / 2:
            return file
        plain = any(" " in second or second == third for _, second, third in triples)
        if plain or not names or len(names) >= _FEW_ROWS:
            return None
        raise CorpusError(
            f"{file} has {len(names)} rows of three cells, too few to tell 'id|text|normalised text' (LJSpeech) from "
            "'wav|speaker|text' (Piper): say --layout ljspeech or --layout piper"
        )

    def meaning(self, cells: list[str]) -> tuple[str, str, str]:
        return (cells[0], "", "") if len(cells) == 1 else (cells[1], cells[0], "")


def _is_single_speaker(folder: Path, rows: list[list[str]]) -> bool:
    """`wav|text` as Piper writes it: names with their suffix, or a folder wav/. Else it is LJSpeech."""
    named = _most(cells[0].strip().endswith(AUDIO_SUFFIXES) for cells in rows)
    return named or ((folder / "wav").is_dir() and not (folder / "wavs").is_dir())


def _most(votes: Iterable[bool]) -> bool:
    """More than half of them: a bad row here and there does not make it another layout."""
    votes = list(votes)
    return sum(votes) > len(votes) / 2
