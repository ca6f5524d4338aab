"""A short measured search over settings: what is fastest, what was tried, and why it was kept or not.

    found = search({"workers": [1, 2, 4], "prefetch": [0, 2, 8]}, {"workers": 1, "prefetch": 0}, measure, seconds=30)
    print(found, found.settings, found.gain)

`measure(settings)` says how many utterances per second a loop has (see `throughput.py`). One knob is turned after the
other. What looks better must be better again in turns with what it would replace, by more than the noise, and in the
end in turns with what was given: so nothing slower than that is returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from myxtts.performance.trials import TURNS, Knobs, Row, Search, TooLarge, Trial

NOISE = 0.03  # the least that counts as better; more where the given settings themselves vary more
_MOST_NOISE = 0.15
_NOTHING_TO_WIN = 0.02  # of a loop that waits less than this share, no feed can make a faster one
_NEXT = 1.5  # a number's next value is at least this many times as much
_ROUNDS = 3
_RIVALS = 3
_CLEAR = 0.25  # a gain beyond this and beyond the noise
_UNSURE = "seemed better, no time left to make sure"
_SPARE = 1.2  # a trial may take this much longer than the one it is judged by


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
    """The fastest settings that a few coordinate-wise trials find in `seconds`, everything included.

    `space` lists the values of each knob, cheap ones first. `feed_knobs` can only shorten the waiting, and every value
    of them is tried; the others may need compiling, and are climbed as long as that helps. `starts` are whole
    combinations worth a trial. `margins` says what a knob must bring at least; `admit` why something is not to be tried
    at all; `work` how much more a step has to do than with the given settings.
    """
    limits = _Limits(seconds, clock, margins or {}, admit, work)
    return _Climber(space, dict(given), measure, feed_knobs, limits, progress).run(starts)


@dataclass
class _Limits:
    seconds: float
    clock: Callable[[], float]
    margins: Mapping[str, float]
    admit: Callable[[Knobs, Row], str | None]
    work: Callable[[Knobs], float]

    def __post_init__(self) -> None:
        self.began = self.clock()

    def elapsed(self) -> float:
        return self.clock() - self.began


class _Climber:
    def __init__(
        self,
        space: Mapping[str, Sequence[Any]],
        given: Knobs,
        measure: Callable[[Knobs], Trial],
        feed_knobs: Collection[str],
        limits: _Limits,
        progress: Callable[[str], None],
    ):
        self._space = {knob: _with(values, given[knob]) for knob, values in space.items()}
        self._measure, self._feed_knobs, self._limits, self._progress = measure, feed_knobs, limits, progress
        self._rows: dict[tuple[Any, ...], Row] = {}
        self._notes: list[str] = []
        self._given = self._best = self._row(given)
        self._compared_last: tuple[Row, Row] | None = None
        self._lost: dict[str, set[Any]] = {
            knob: set() for knob in space
        }  # values so slow that they get no second round

    def run(self, starts: Sequence[Mapping[str, Any]]) -> Search:
        self._given.why = "given"
        if self._take(self._given) and self._fits(self._given.seconds[0]):
            self._take(self._given)  # says how much equal settings vary, and what a trial costs once all is compiled
        for start in starts:
            row = self._try(self._given.settings | dict(start))
            self._challenge(row, "starting point for this machine: ")
        for _ in range(_ROUNDS):
            brought = [self._improve(knob) for knob in self._space]
            if not any(brought) and not self._play_off():
                break
        self._confirm()
        rows = list(self._rows.values())
        return Search(self._given, self._best, rows, list(dict.fromkeys(self._notes)), self._limits.elapsed())

    # ---- one knob ---------------------------------------------------------------------------------------------------

    def _improve(self, knob: str) -> bool:
        """Turn one knob; True if that brought something."""
        if knob not in self._feed_knobs:
            return self._climb(knob)
        if not self._best.rates:  # nothing fits yet, and no feed makes a step smaller
            return False
        waits = self._best.wait_share
        if waits is not None and waits < _NOTHING_TO_WIN:
            self._notes.append(f"{knob}: nothing to win, the loop waits {waits:.1%} of its time for data")
            return False
        others = [value for value in self._space[knob] if value not in (self._best.settings[knob], *self._lost[knob])]
        tried = []
        for value in others:
            if (row := self._try(self._best.settings | {knob: value})) is not None:
                tried.append(row)
                if row.wait_share is not None and row.wait_share < _NOTHING_TO_WIN:
                    break  # a dearer value cannot be faster than a loop that does not wait
        fastest = max((row.rate for row in tried), default=0.0)
        rival = max(fastest, self._best.rate)
        self._lost[knob] |= {row.settings[knob] for row in tried if row.rate < rival * (1 - _CLEAR)}
        # Among equals the first, which is the cheapest.
        first = next((row for row in tried if row.rate >= fastest * (1 - NOISE / 2)), None)
        for row in tried:
            if row is not first and not row.why:
                row.why = self._compared(row, f"{first.settings[knob]} is better" if first else "")
        return self._challenge(first)

    def _climb(self, knob: str) -> bool:
        """Up as long as it helps, else down as long as it helps; while nothing fits, down to what does."""
        if not self._best.rates:
            smaller = _all_below(self._space[knob], self._best.settings[knob])
            return any(self._challenge(self._try(self._best.settings | {knob: value})) for value in smaller)
        for up in (True, False):
            moved = False
            while (value := _next(self._space[knob], self._best.settings[knob], up)) is not None:
                if not self._challenge(self._try(self._best.settings | {knob: value})):
                    break
                moved = True
            if moved:
                return True
        return False

    # ---- measuring --------------------------------------------------------------------------------------------------

    def _try(self, settings: Knobs) -> Row | None:
        """The settings' row with its first measurement; None where there is none to be had."""
        row = self._row(settings)
        if row is self._best or row.why:  # measured before, or there was a reason not to
            return None
        reason = self._limits.admit(settings, self._best)
        if reason is not None:
            row.why = f"not tried: {reason}"
        elif not self._fits(self._price(settings)):
            row.why = "not tried: no time left"
        elif self._take(row):
            return row
        return None

    def _take(self, row: Row) -> bool:
        """One more measurement; False if the settings do not fit into memory."""
        self._progress(", ".join(f"{name} {value}" for name, value in row.settings.items()))
        began = self._limits.clock()
        try:
            trial = self._measure(row.settings)
        except TooLarge as error:
            row.why, row.rates = f"does not fit: {error}", []
            return False
        finally:
            row.seconds.append(self._limits.clock() - began)
        row.rates.append(trial.rate)
        row.wait_share, row.memory_bytes = trial.wait_share, trial.memory_bytes
        return True

    def _row(self, settings: Knobs) -> Row:
        key = tuple(settings[name] for name in sorted(settings))
        return self._rows.setdefault(key, Row(settings))

    # ---- comparing --------------------------------------------------------------------------------------------------

    def _challenge(self, row: Row | None, note: str = "") -> bool:
        """Is it better than the best so far? If it seems so, both are measured again, in turns."""
        if row is None:
            return False
        margin = self._margin(row)
        if row.rate <= self._best.rate * (1 + margin / 2):
            row.why = note + self._compared(row)
            return False
        clear = self._repeats(row)
        if self._best.rates and clear is None and not self._take_turns(self._best, row):
            row.why = row.why or f"{note}{_UNSURE}"
            return False
        gain = clear if clear is not None else row.newest / self._best.newest - 1 if self._best.newest else 1.0
        if gain <= margin:
            row.why = f"{note}not better in turns with the best ({gain:+.0%}, needed {margin:.0%})"
            return False
        if self._best is not self._given:
            self._best.why += "; then replaced"
        row.why = note + (f"kept: {gain:+.0%}" if self._best.rates else "kept: it fits")
        self._best = row
        return True

    def _repeats(self, row: Row) -> float | None:
        """The gain of what is so much better that it need not take turns but only be so once more; else None."""
        needed = self._best.rate * (1 + max(_CLEAR, 3 * self._noise()))
        if not self._best.rates or row.rate < needed or not self._fits(_repeat(row), row) or not self._take(row):
            return None
        return min(row.rates[-2:]) / self._best.rate - 1 if min(row.rates[-2:]) >= needed else None

    def _compared(self, row: Row, rival: str = "") -> str:
        if not self._best.rate:
            return "not needed"
        difference = row.rate / self._best.rate - 1
        if difference > NOISE and rival:
            return f"{rival} ({difference:+.0%})"
        return f"slower ({difference:+.0%})" if difference < -NOISE else f"no better ({difference:+.0%})"

    def _margin(self, row: Row) -> float:
        """What counts as better: more than the noise, and what the changed knobs have to bring."""
        return max(self._noise(), self._own_margin(row))

    def _own_margin(self, row: Row) -> float:
        changed = [name for name, value in row.settings.items() if value != self._best.settings[name]]
        return max((self._limits.margins.get(name, 0.0) for name in changed), default=0.0)

    def _noise(self) -> float:
        """By how much equal settings differ from one measurement to the next."""
        spreads = [(max(row.rates) - min(row.rates)) / 2 / row.rate for row in (self._given, self._best) if row.rates]
        return max(NOISE, min(max(spreads, default=0.0), _MOST_NOISE))

    def _play_off(self) -> bool:
        """On a noisy machine the runners-up may have lost by bad luck: they get turns of their own while time lasts."""
        noise, before = self._noise(), self._best
        rivals = [row for row in self._rows.values() if row is not self._best and row is not self._given and row.rates]
        close = sorted((row for row in rivals if row.rate > self._best.rate * (1 - noise)), key=lambda row: -row.rate)
        for row in close[:_RIVALS] if noise > NOISE else ():
            if not self._take_turns(self._best, row):
                break
            gain, needed = row.newest / self._best.newest - 1, max(NOISE, self._own_margin(row))
            row.why = f"play-off: {gain:+.0%}"
            if gain > needed:
                self._best.why += "; then replaced"
                self._best = row
        return self._best is not before

    def _take_turns(self, one: Row, other: Row) -> bool:
        """Both again, alternating, so that somebody else's load falls on both; False without the time or memory."""
        if not self._fits(TURNS * (_repeat(one) + _repeat(other)), None if one is self._given else other):
            return False
        self._compared_last = (one, other)
        return all(self._take(row) for _ in range(TURNS) for row in (one, other))

    def _confirm(self) -> None:
        """The last word: what was found against what was given, unless that was the last comparison anyway."""
        self._best = self._favourite()
        best, given = self._best, self._given
        if best is given or not given.rates or self._compared_last == (given, best):
            return
        if not all(self._take(row) for _ in range(TURNS) for row in (given, best)) or best.newest <= given.newest:
            best.why += "; in the end not faster than what was given"
            self._best = given

    def _favourite(self) -> Row:
        """The best; or what seemed far better with no time to make sure, if there is time for the last word."""
        unsure = [row for row in self._rows.values() if row.why.endswith(_UNSURE)]
        row = max(unsure, key=lambda row: row.rate, default=self._best)
        seconds = TURNS * (_repeat(self._given) + _repeat(row))
        if row.rate <= self._best.rate * (1 + 2 * self._noise()) or self._over(seconds):
            return self._best
        row.why = "kept: it seemed better, and was faster than what was given"
        return row

    # ---- time -------------------------------------------------------------------------------------------------------

    def _fits(self, seconds: float, best: Row | None = None) -> bool:
        """Is there time for it, and after it for the last comparison?"""
        last = self._best if best is None else best
        after = 0.0 if last is self._given else TURNS * (_repeat(self._given) + _repeat(last))
        return not self._over(seconds + after)

    def _over(self, seconds: float) -> bool:
        return self._limits.elapsed() + _SPARE * seconds > self._limits.seconds

    def _price(self, settings: Knobs) -> float:
        """What a first trial may take: other shapes are compiled, and a larger batch takes longer."""
        compile_seconds = self._given.seconds[0] - _repeat(self._given)
        changed = {name for name, value in settings.items() if value != self._best.settings[name]}
        own = _repeat(self._given) * self._limits.work(settings)
        return own if changed <= set(self._feed_knobs) else own + compile_seconds


def _repeat(row: Row) -> float:
    """Seconds of a measurement when everything is compiled."""
    return min(row.seconds, default=0.0)


def _with(values: Sequence[Any], own: Any) -> list[Any]:
    """The values with the given one among them, numbers in order."""
    known = [*values] if own in values else [*values, own]
    return sorted(known) if all(_is_number(value) for value in known) else known


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _next(values: Sequence[Any], now: Any, up: bool) -> Any | None:
    """The neighbour to try: of numbers one that is far enough away to make a difference."""
    if not _is_number(now):
        at = values.index(now) + (1 if up else -1)
        return values[at] if 0 <= at < len(values) else None
    if up:
        return min((value for value in values if value >= now * _NEXT and value > now), default=None)
    return max((value for value in values if value * _NEXT <= now and value < now), default=None)


def _all_below(values: Sequence[Any], now: Any) -> list[Any]:
    """The cheaper values, the nearest first."""
    return [*reversed(values[: values.index(now)])]
