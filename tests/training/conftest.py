"""A packed corpus for training: to read, and to damage."""

import os
import shutil
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest
from small_data import pack_voice, small_config

from myxtts.cache.reader import Cache
from myxtts.data.pipeline import Feed


@pytest.fixture(scope="session")
def voice_cache(tmp_path_factory) -> Path:
    """40 utterances; read it, never change it."""
    return pack_voice(tmp_path_factory.mktemp("voice"), 40)


@pytest.fixture
def own_cache(voice_cache, tmp_path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(voice_cache, tmp_path / "own.cache"))


@pytest.fixture(scope="session")
def feed(voice_cache) -> Feed:
    return Feed(Cache(voice_cache), small_config())
