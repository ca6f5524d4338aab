"""A short measured search over settings: what is fastest, what was tried, and why it was kept or not.

    result = search({"workers": [1, 2, 4], "prefetch": [0, 2, 8]}, {"workers": 1, "prefetch": 0}, measure, seconds=30)
    print(result, result.settings, result.gain)

`measure(settings)` says how many utterances per second a loop has (see `throughput.py`). One measurement is short and
says little, so whatever leads is measured again until it is sure, and only then is searched around: all knobs up
together, one knob, two knobs (a larger batch may only pay with more made ahead), and then elsewhere (see `knobs.py`).
In the end the leader and what was given take turns: so nothing slower than that is returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from myxtts.tuner.knobs import Moves, Space, key_of
from myxtts.tuner.trials import TURNS, Knobs, Row, Search, TooLarge, Trial

NOISE = 0.03  # what something else than the given settings has to bring at least
_SURE = 4  # measurements, of which the middle one counts: one that was lucky or disturbed is outvoted
_RIVAL = 0.1  # what was slower by less than this is measured until it is sure ...
_DISTURBED = 0.5  # ... and by less than this, if it was measured only once, a second time
_NOTHING_TO_WIN = 0.02  # of a loop that waits less than this share, no feed can make a faster one
_SPARE = 1.2  # a trial may take this much longer than the one it is judged by ...
_RESERVE = 1.6  # ... and the last word, without which all was in vain, is left more than that


def search(
    space: Mapping[str, Sequence[Any]],
    given: Mapping[str, Any],
    measure: Callable[[Knobs], Trial],
    seconds: float = 30.0,
    *,
    feed_knobs: Collection[str] = (),
    starts: Sequence[Mapping[str, Any]] = (),
    margins: Mapping[str, float] | None = None,
    admit: Callable[[Knobs, Row], str | None] = lambda settings, best: None,
    work: Callable[[Knobs], float] = lambda settings: 1.0,
    progress: Callable[[str], None] = lambda what: None,
    clock: Callable[[], float] = time.monotonic,
) -> Search:
    """The fastest settings that are found in `seconds`, everything included.

    `space` lists the values of each knob, cheap ones first. `feed_knobs` can only shorten the waiting, and go to any
    value at once; the others may need compiling or not fit into memory, and go step by step. `starts` are whole
    combinations worth a trial. `margins` says what twice (or half) as much of a knob must bring at least; `admit` why
    something is not to be tried at all; `work` how much more a step has to do than with the given settings.
    """
    space = {knob: [*values, *(start[knob] for start in starts if knob in start)] for knob, values in space.items()}
    limits = _Limits(seconds, clock, margins or {}, admit, work, feed_knobs)
    return _Race(Space(space, dict(given), feed_knobs), Row(dict(given), "given"), measure, limits, progress).run(
        starts
    )


@dataclass
class _Limits:
    seconds: float
    clock: Callable[[], float]
    margins: Mapping[str, float]
    admit: Callable[[Knobs, Row], str | None]
    work: Callable[[Knobs], float]
    feed_knobs: Collection[str]

    def __post_init__(self) -> None:
        self.began = self.clock()

    def elapsed(self) -> float:
        return self.clock() - self.began


class _Race:
    def __init__(
        self,
        space: Space,
        given: Row,
        measure: Callable[[Knobs], Trial],
        limits: _Limits,
        progress: Callable[[str], None],
    ):
        self._space, self._given, self._measure, self._limits = space, given, measure, limits
        self._progress = progress
        self._rows = {key_of(given.settings): given}
        self._compiled: set[tuple[Any, ...]] = set()
        self._idle: dict[str, str] = {}  # knobs of which there is nothing to win

    def run(self, starts: Sequence[Mapping[str, Any]]) -> Search:
        if self._take(self._given) and not self._over(self._given.seconds[0]):
            self._take(self._given)  # says what a trial costs once all is compiled
        for start in starts:
            if (row := self._untried([self._given.settings | dict(start)])) is not None:
                row.note = "starting point for this machine: "
                self._take(row)
        smaller = self._space.smaller()
        while not self._leader().rates and (row := self._untried(smaller)) is not None:
            self._take(row)
        while (row := self._next()) is not None:
            self._take(row)
        best = self._last_word()
        for row in self._rows.values():
            row.why = row.note + (row.why or self._compared(row, best))
        return Search(self._given, best, [*self._rows.values()], [*self._idle.values()], self._limits.elapsed())

    # ---- what to measure next ---------------------------------------------------------------------------------------

    def _next(self) -> Row | None:
        """The leader until it is sure; then what is near it; then its rivals until they are sure; then what is far."""
        leader = self._leader()
        if not leader.rate:
            return None
        if leader is not self._given and len(leader.rates) < _SURE:
            return leader if self._fits(self._repeat(leader)) else None
        now, moves = leader.settings, self._moves(leader)
        return (
            self._untried(self._space.near(now, moves))
            or self._rival(leader)
            or self._untried(self._space.far(now, moves))
        )

    def _rival(self, leader: Row) -> Row | None:
        def close(row: Row) -> bool:
            lost_by = 1 - self._score(row) / self._score(leader)
            return 0 < len(row.rates) < _SURE and lost_by < (_DISTURBED if len(row.rates) == 1 else _RIVAL)

        others = [row for row in self._rows.values() if row is not self._given and close(row)]
        return max((row for row in others if self._fits(self._repeat(row))), key=self._score, default=None)

    def _moves(self, leader: Row) -> Moves:
        """To which values each knob may go from here, the nearest first."""
        waits, moves = leader.wait_share, {}
        for knob in self._space.values:
            if waits is not None and waits < _NOTHING_TO_WIN and knob in self._limits.feed_knobs:
                why = f"{knob}: nothing to win, the loop waits {waits:.1%} of its time for data"
                self._idle.setdefault(knob, why)
                continue
            self._idle.pop(knob, None)
            if self._over(0.0):  # asking `admit` about a plan of a million utterances takes a second
                break
            values = self._space.reachable(knob, leader.settings[knob])
            moves[knob] = [value for value in values if not self._refused(leader, {knob: value})]
        return moves

    def _untried(self, candidates: Iterable[Knobs]) -> Row | None:
        """The first that is new, allowed, and not too long."""
        leader = self._leader()
        for settings in candidates:
            new = key_of(settings) not in self._rows
            if new and self._fits(*self._price(settings)) and not self._refused(leader, settings):
                return self._rows.setdefault(key_of(settings), Row(settings))
        return None

    def _refused(self, leader: Row, change: Knobs) -> bool:
        """Is there a reason not to measure it? What `admit` has against a single knob is told in the table."""
        settings = leader.settings | change
        if (known := self._rows.get(key_of(settings))) is not None:
            return known.why.startswith("not tried")
        if any(row.too_large and self._space.at_least(settings, row.settings) for row in self._rows.values()):
            return True
        reason = self._limits.admit(settings, leader)
        if reason is not None and len(change) == 1:
            self._rows[key_of(settings)] = Row(settings, f"not tried: {reason}")
        return reason is not None

    # ---- measuring and comparing ------------------------------------------------------------------------------------

    def _take(self, row: Row) -> bool:
        """One more measurement; False if the settings do not fit into memory."""
        self._progress(", ".join(f"{name} {value}" for name, value in row.settings.items()))
        began = self._limits.clock()
        try:
            trial = self._measure(row.settings)
        except TooLarge as error:
            row.why, row.rates, row.too_large = f"does not fit: {error}", [], True
            return False
        finally:
            row.seconds.append(self._limits.clock() - began)
            self._compiled.add(self._space.shape(row.settings))
        row.rates.append(trial.rate)
        row.wait_share, row.memory_bytes = trial.wait_share, trial.memory_bytes
        return True

    def _leader(self) -> Row:
        running = (row for row in self._rows.values() if row.rates and not row.beaten)
        return max(running, key=self._score, default=self._given)

    def _score(self, row: Row) -> float:
        """The rate, less what the settings have to bring."""
        head_start = 1 + NOISE if row is self._given else 1.0
        return row.rate * head_start / self._space.cost(row.settings, self._limits.margins)

    def _last_word(self) -> Row:
        """What was found against what was given, in turns, so that somebody else's load falls on both."""
        given = self._given
        while (best := self._leader()) is not given and given.rates:
            if self._over(TURNS * (self._repeat(given) + self._repeat(best))):
                best.why = "seemed faster, no time left to make sure"
                return given
            if all(self._take(row) for _ in range(TURNS) for row in (given, best)) and best.newest > given.newest:
                return best
            best.why, best.beaten = best.why or "in the end not faster than what was given", True
        return best

    def _compared(self, row: Row, best: Row) -> str:
        if row is best:
            return f"kept: {row.newest / self._given.newest - 1:+.0%}" if self._given.rates else "kept: it fits"
        difference = row.rate / best.rate - 1 if best.rate else 0.0
        if difference > NOISE:
            led = self._score(row) > self._score(best)  # the best was slower in the last turns than before
            return f"{'as good before the last turns' if led else 'not by what it has to bring'} ({difference:+.0%})"
        return f"slower ({difference:+.0%})" if difference < -NOISE else f"no better ({difference:+.0%})"

    # ---- time -------------------------------------------------------------------------------------------------------

    def _fits(self, seconds: float, again: float | None = None) -> bool:
        """Is there time for it, and after it for the last word? There it takes `again` seconds, if that is less."""
        leader = self._leader()
        spare, reserve = (1.0, 1.0) if leader is self._given else (_SPARE, _RESERVE)  # nothing found, nothing to lose
        longest = max(self._repeat(leader), seconds if again is None else again)
        return not self._over(spare * seconds + reserve * TURNS * (self._repeat(self._given) + longest))

    def _over(self, seconds: float) -> bool:
        return self._limits.elapsed() + seconds > self._limits.seconds

    def _repeat(self, row: Row) -> float:
        """Seconds of a measurement when everything is compiled."""
        if len(row.seconds) > 1 or row is self._given:
            return median_low(row.seconds)
        return min([*row.seconds, self._repeat(self._given) * self._limits.work(row.settings)])

    def _price(self, settings: Knobs) -> tuple[float, float]:
        """What a first trial may take, where other shapes are compiled, and the next. A larger batch takes longer."""
        once = self._repeat(self._given)
        compiling = 0.0 if self._space.shape(settings) in self._compiled else self._given.seconds[0] - once
        again = once * self._limits.work(settings)
        return again + max(compiling, 0.0), again
