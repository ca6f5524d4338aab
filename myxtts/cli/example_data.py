"""Which data is meant where none is named: the config's, else the demo corpus, made small where there is none.

The scripts in utilities/ need no arguments; this is how they come to their data.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from myxtts.cli.shared import pack_with_bar, progress_bar

UTTERANCES = 120  # half a minute of work, and batches of several lengths

_NAMED = ("--data", "--run", "--help", "-h")


def run_on_data(words: Sequence[str], config: Path | str, demo: Path) -> int:
    """Run a verb on the data that its words or the config name, else on the demo corpus in the folder `demo`.

    Returns the exit code.
    """
    from myxtts.cli import _fail, main
    from myxtts.config.config import load
    from myxtts.errors import MyXTTSError

    words = list(words)
    if not any(word.partition("=")[0] in _NAMED for word in words):
        try:
            settings = load(config)
            if settings.data.dataset_path is None:
                words += ["--data", str(demo_cache(demo, settings))]
        except MyXTTSError as error:
            return _fail("--json" in words, 2, type(error).__name__, str(error))
    return main(words)


def demo_cache(folder: Path, config: Any) -> Path:
    """What `make demo` has left in the folder, or a small corpus of its kind, made and packed now."""
    from myxtts.cache.manifest import is_cache

    for name in ("voice.cache", "small.cache"):
        if is_cache(folder / name):
            return folder / name
    return pack_demo(folder / "small", folder / "small.cache", config, UTTERANCES)


def pack_demo(corpus: Path, cache: Path, config: Any, utterances: int) -> Path:
    """A demo corpus and its cache: what is there is kept, what is missing is made."""
    from myxtts.cache.open import corpus_at
    from myxtts.cache.settings import PackSettings
    from myxtts.corpus.demo import make_demo_corpus

    with progress_bar(utterances, "making a demo corpus", "utt") as bar:
        make_demo_corpus(corpus, utterances, progress=lambda done, total: bar.update(done - bar.n))
    pack_with_bar(corpus_at(corpus, config.data), cache, PackSettings.from_config(config.data), config)
    return cache
