"""What several tests of this room prepare."""

import pytest
from recordings import Speech

from myxtts.corpus.demo import make_demo_corpus
from myxtts.corpus.read import open_corpus
from myxtts.features.audio import read_audio, to_float


@pytest.fixture(scope="session")
def speech(tmp_path_factory) -> Speech:
    folder = tmp_path_factory.mktemp("said") / "demo"
    make_demo_corpus(folder, 5, "hibari", 0)
    rows = list(open_corpus(folder).rows())
    return Speech([to_float(read_audio(row.audio)[0]) for row in rows], [row.text for row in rows])
