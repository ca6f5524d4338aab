"""Fixtures that every room's tests may use."""

from pathlib import Path

import pytest
from corpora import write_corpus


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory) -> Path:
    """40 utterances; read it, copy it, never change it."""
    return write_corpus(tmp_path_factory.mktemp("corpus") / "voice", 40)
