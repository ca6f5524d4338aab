import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest


@pytest.fixture(scope="session")
def packed_voice(corpus_folder, tmp_path_factory):
    """The forty clips, packed with characters. Nobody may write to it."""
    from corpora import feed_config

    from myxtts.cache.pack import PackSettings, pack
    from myxtts.corpus.read import open_corpus

    cache = tmp_path_factory.mktemp("packed") / "voice.cache"
    pack(open_corpus(corpus_folder), cache, PackSettings.from_config(feed_config().data))
    return cache
