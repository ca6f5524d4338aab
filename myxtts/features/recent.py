"""What was made of the last texts: a bounded memory that forgets what was not asked for the longest."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from myxtts.errors import RowError
from myxtts.monitor import current_monitor

# 10,000 sentences of 100 symbols take 10 MB. Of one real corpus 1,327 of 12,123 rows repeat an earlier text.
MOST_TEXTS = 10_000

Text = tuple[str, str]  # language, text
Symbols = list[str] | RowError


class RecentTexts:
    """Symbols of the last texts, least recently used first to go. Safe to use from any thread.

    Counts `text.hits` and `text.misses`. A text that cannot be read is not kept: its error is made anew each time.
    """

    def __init__(self, most: int = MOST_TEXTS):
        self._most = most
        self._kept: OrderedDict[Text, tuple[str, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def look_up(self, texts: Sequence[str], language: str, make: Callable[[list[str]], list[Symbols]]) -> list[Symbols]:
        """The symbols of each text; `make` is called for those that are not kept, each text once."""
        kept = {text: self._find((language, text)) for text in texts}
        missing = [text for text, symbols in kept.items() if symbols is None]
        made = dict(zip(missing, make(missing), strict=True)) if missing else {}
        for text, new in made.items():
            if not isinstance(new, RowError):
                self._keep((language, text), tuple(new))
        monitor = current_monitor()
        for name, times in (("text.hits", len(texts) - len(missing)), ("text.misses", len(missing))):
            if times:
                monitor.count(name, times)
        return [_copy(kept[text] or made[text]) for text in texts]

    def _find(self, key: Text) -> tuple[str, ...] | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: Text, symbols: tuple[str, ...]) -> None:
        with self._lock:
            self._kept[key] = symbols
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)


def _copy(symbols: Sequence[str] | RowError) -> Symbols:
    """A list of the caller's own: one that was changed would change what is kept."""
    return symbols if isinstance(symbols, RowError) else list(symbols)
