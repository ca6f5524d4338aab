"""A packed corpus for the feed: 60 utterances of two speakers, in characters, with mel."""

import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest
from corpora import write_corpus

from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.corpus.read import open_corpus
from myxtts.features.audio import AudioSettings
from myxtts.features.text import TextFrontend


@pytest.fixture(scope="session")
def feed_corpus(tmp_path_factory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("feed") / "voice", 60, (0.4, 3.0))


@pytest.fixture(scope="session")
def cache(feed_corpus, tmp_path_factory) -> Cache:
    folder = tmp_path_factory.mktemp("feed-cache") / "voice.cache"
    pack(open_corpus(feed_corpus), folder, PackSettings(AudioSettings(), TextFrontend(kind="characters")))
    return Cache(folder)
