"""A reader for a corpus of your own: here a folder per speaker, with a text file beside every recording.

    anna/0001.wav  anna/0001.lab  reza/0001.wav  reza/0001.lab  ...

    python examples/custom_corpus.py FOLDER voice.cache

Put the class into a package of yours and name it there; then `myxtts check FOLDER`, `pack`, `train`, `verify` know it:

    [project.entry-points."myxtts.layouts"]
    labs = "my_package:Labs"
"""

import sys
from pathlib import Path

from myxtts.cache.pack import pack
from myxtts.cache.settings import PackSettings
from myxtts.config.config import DataConfig
from myxtts.corpus.layout import Layout, look, read_text
from myxtts.corpus.read import Corpus


class Labs(Layout):
    name = "labs"
    about = "a folder per speaker, NAME.lab beside every NAME.wav"

    @classmethod
    def recognise(cls, path):
        """The file by which a folder is of this layout, or None: how `--layout auto` finds it."""
        return next(path.glob("*/*.lab"), None) if path.is_dir() else None

    def rows(self):
        """Every row once, in a fixed order. What is wrong with a row becomes its reason; nothing is left out."""
        for row, lab in enumerate(sorted(self.folder.glob("*/*.lab")), start=1):
            audio, speaker = lab.with_suffix(".wav"), lab.parent.name
            yield self.utterance(row, f"{speaker}/{lab.stem}", look(audio) or audio, read_text(lab), speaker)


def main(folder: str, cache: str) -> None:
    corpus = Corpus(Labs(Path(folder), speaker="speaker", language="en-us"))
    manifest = pack(corpus, Path(cache), PackSettings.from_config(DataConfig()))
    speakers = ", ".join(manifest["speakers"])
    print(f"{cache}: {manifest['utterances']} utterances of {speakers}; rejected: {manifest['rejected']}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
