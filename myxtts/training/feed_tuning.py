"""`data.auto_tune_performance` in a run: where its first steps wait for data, other settings of the feed are tried.

What is in a batch stays the same, so the run does. What was found is kept for the next one (see `remembered.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.data.pipeline import Feed
from myxtts.data.threads import MAX_THREADS
from myxtts.machine.description import describe_machine
from myxtts.machine.process import usable_cores
from myxtts.training.feed_search import KNOBS, SECONDS, Knobs, Outcome, Took, candidates, first_steps, search_feed
from myxtts.training.remembered import recall, remember

_MACHINE = ("cpu", "cpus", "memory_bytes", "gpus", "driver", "tensorflow")
_TRAINING = (
    "precision", "gradient_accumulation_steps", "enable_graph_mode", "enable_xla_compilation", "enable_eager_debug",
    "deterministic",
)  # fmt: skip


class FeedTuning:
    """Watches steps and changes `feed.data`, which its datasets are made by."""

    def __init__(self, feed: Feed, config: XTTSConfig, gpu: bool, say: Callable[[str], None]):
        self._feed, self._begun, self._say = feed, feed.data, say
        self._ideas = candidates(feed.data, min(MAX_THREADS, usable_cores()), gpu)
        self._key = key_of(config, feed)
        known = recall(self._key, feed.data, KNOBS)
        self._steps: Generator[Knobs | None, Took, Any] | None = self._search() if known is None else None
        if known:
            self._use(known)
            say(f"feed settings as found before on this machine: {_words(self._begun, known)}")
        if self._steps is not None:
            next(self._steps)

    @property
    def data(self) -> DataConfig:
        """The settings of the feed as they are now."""
        return self._feed.data

    def after_step(self, data_ms: float, compute_ms: float) -> bool:
        """Whether the feed has other settings now, so that batches are to be taken anew."""
        if self._steps is None:
            return False
        try:
            settings = self._steps.send((data_ms, compute_ms))
        except StopIteration:
            self._steps = None
            return False
        if settings is not None:
            self._use(settings)
        return settings is not None

    def _search(self) -> Generator[Knobs | None, Took, None]:
        before = yield from first_steps()
        if not before.stalled or not self._ideas:
            return
        self._say(
            f"the first steps waited {before.wait_share:.0%} of their time for data: trying other settings of the feed "
            f"on the next ones, for {SECONDS:.0f} s at most (data.auto_tune_performance)"
        )
        outcome = yield from search_feed(self._ideas, before)
        said = _describe(self._begun, outcome)
        self._say(said)
        remember(self._key, outcome.settings, said)
        yield outcome.settings

    def _use(self, settings: Knobs) -> None:
        """Nothing that was given by hand is among them."""
        self._feed.data = self._begun.filled(settings, self._begun.by_hand)


def _describe(data: DataConfig, outcome: Outcome) -> str:
    if not outcome.settings:
        return "no other setting of the feed waits less, so they stay: 'myxtts doctor' says what limits it"
    waits = f"{outcome.after:.0%} of the time is waiting now, {outcome.before:.0%} before"
    return f"kept {_words(data, outcome.settings)}: {waits}"


def _words(data: DataConfig, settings: Knobs) -> str:
    return ", ".join(f"{name} {getattr(data, name)} -> {value}" for name, value in settings.items())


def key_of(config: XTTSConfig, feed: Feed) -> dict[str, Any]:
    """All that decides which settings are best: the machine, the data, the model, how it is trained, what was given."""
    machine, data = describe_machine(), config.data.to_dict()
    return {
        "machine": {name: machine[name] for name in _MACHINE},
        "feed": feed.state(0),
        "model": config.model.to_dict(),
        "training": {name: getattr(config.training, name) for name in _TRAINING},
        "data": {name: value for name, value in data.items() if name not in ("dataset_path", *KNOBS)},
        "given": {name: data[name] for name in KNOBS if name in config.data.by_hand},
        "cores": usable_cores(),
    }
