"""Common Voice: `validated.tsv` or `train.tsv` (path, sentence, client_id, locale) and the folder `clips/`."""

from __future__ import annotations

from pathlib import Path

from myxtts.corpus.layout import AUDIO_SUFFIXES, look
from myxtts.corpus.table import Table, column_names
from myxtts.errors import RowError


class CommonVoice(Table):
    name = "common_voice"
    about = "validated.tsv or train.tsv with the columns path and sentence, audio in clips/"
    file_names = ("validated.tsv", "train.tsv", "dev.tsv", "test.tsv", "other.tsv")
    audio_folder = "clips"

    @classmethod
    def is_table(cls, path: Path) -> bool:
        if path.suffix != ".tsv" or not path.is_file() or not (path.parent / cls.audio_folder).is_dir():
            return False
        return {"path", "sentence"} <= set(column_names(path))

    def _find_audio(self, audio: str, name: str) -> Path | RowError:
        """Lists of the first releases leave '.mp3' out."""
        path = super()._find_audio(audio, name)
        if isinstance(path, RowError) and path.reason == "missing_audio" and not audio.endswith(AUDIO_SUFFIXES):
            full = self.folder / self.audio_folder / f"{audio}.mp3"
            return full if look(full) is None else path
        return path
