"""Progress bars on standard error: for the verbs, and for `LJSpeechDataset` when it packs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def progress_bar(total: int, verb: str, unit: str) -> Any:
    """A progress bar with rate and ETA; one line every ten seconds where standard error is not a terminal."""
    from tqdm import tqdm

    interval = 0.1 if sys.stderr.isatty() else 10.0
    return tqdm(total=total, desc=verb, unit=unit, unit_scale=unit == "B", mininterval=interval, file=sys.stderr,
                dynamic_ncols=True, leave=False, delay=0 if sys.stderr.isatty() else 2)  # fmt: skip


@contextmanager
def packing_bar(corpus: Any) -> Iterator[Any]:
    """A progress bar for packing; yields the function that moves it."""
    with progress_bar(corpus.count(), "packing", "utt") as bar:

        def show(state: Any) -> None:
            bar.set_postfix_str(f"{state.audio_seconds / 3600:.2f} h, {state.rejected} rejected", refresh=False)
            bar.update(state.rows_read - bar.n)

        yield show
