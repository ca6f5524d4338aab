"""The settings that a search may turn: their values, which are near, which are far, and what they have to bring."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from myxtts.tuner.trials import Knobs

Moves = dict[str, list[Any]]  # to which values each knob may go

_NEXT = 1.5  # a number's next value is at least this many times as much
_DEARER = 0.004  # for each value further up a knob's list, so that of equals the cheapest is taken
_GOLDEN = 0.618  # of a list's length is a stride that soon comes near every place of it


class Space:
    """All values of all knobs. Those of the feed go to any value at once, the others step by step."""

    def __init__(self, values: Mapping[str, Sequence[Any]], given: Knobs, feed_knobs: Collection[str]):
        self.values = {knob: _with(each, given[knob]) for knob, each in values.items()}
        self._given, self._feed_knobs = given, feed_knobs

    def reachable(self, knob: str, now: Any) -> list[Any]:
        """The other values of a knob: the next up, the next down, and of the feed all others."""
        others = [value for value in self.values[knob] if value != now]
        if not is_number(now):
            return others
        near = [value for up in (True, False) if (value := _next(others, now, up)) is not None]
        return near + [value for value in reversed(others) if value not in near and knob in self._feed_knobs]

    def near(self, now: Knobs, moves: Moves) -> Iterator[Knobs]:
        """All knobs up together, once and twice; each knob by itself; two at a time."""
        close = {knob: values[:2] for knob, values in moves.items()}
        for steps in (1, 2):
            yield now | {knob: self._up(knob, now[knob], steps) for knob, values in moves.items() if values}
        for each in (close, moves):
            yield from (now | {knob: value} for knob, values in each.items() for value in values)
        for one, other in itertools.combinations(close, 2):
            yield from (now | {one: x, other: y} for x, y in itertools.product(close[one], close[other]))

    def far(self, now: Knobs, moves: Moves) -> Iterator[Knobs]:
        """Everything that can be reached, scattered: there may be a better place elsewhere."""
        known = [*itertools.product(*([now[knob], *values] for knob, values in moves.items()))]
        stride = next(step for step in itertools.count(round(_GOLDEN * len(known))) if math.gcd(step, len(known)) == 1)
        for at in range(len(known)):
            yield now | dict(zip(moves, known[at * stride % len(known)], strict=True))

    def smaller(self) -> Iterator[Knobs]:
        """Less than what was given of a knob that no feed has, the nearest first."""
        for knob, values in self.values.items():
            if knob not in self._feed_knobs:
                below = values[: values.index(self._given[knob])]
                yield from (self._given | {knob: value} for value in reversed(below))

    def shape(self, settings: Knobs) -> tuple[Any, ...]:
        """What is compiled once: everything but the feed."""
        return key_of({knob: value for knob, value in settings.items() if knob not in self._feed_knobs})

    def at_least(self, one: Knobs, other: Knobs) -> bool:
        """Does a step need as much memory or more? Certain only if no more than one knob besides the feed differs."""
        differ = [knob for knob in one if knob not in self._feed_knobs and one[knob] != other[knob]]
        return not differ or (len(differ) == 1 and _is_up(one[differ[0]], other[differ[0]]))

    def cost(self, settings: Knobs, margins: Mapping[str, float]) -> float:
        """By how much faster than the given ones the settings have to be."""
        cost = 1.0
        for knob, values in self.values.items():
            now, own, margin = settings[knob], self._given[knob], margins.get(knob, 0.0)
            cost *= (1 + margin) ** _doublings(values, now, own) if margin else (1 + _DEARER) ** values.index(now)
        return cost

    def _up(self, knob: str, now: Any, steps: int) -> Any:
        for _ in range(steps if is_number(now) else 0):
            higher = _next(self.values[knob], now, True)
            now = now if higher is None else higher
        return now


def key_of(settings: Knobs) -> tuple[Any, ...]:
    return tuple(settings[name] for name in sorted(settings))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)  # a switch too: on is more than off


def _is_up(value: Any, now: Any) -> bool:
    return is_number(value) and is_number(now) and value > now


def _with(values: Sequence[Any], own: Any) -> list[Any]:
    """The values with the given one among them, numbers in order."""
    known = [*dict.fromkeys([*values, own])]
    return sorted(known) if all(is_number(value) for value in known) else known


def _next(values: Sequence[Any], now: Any, up: bool) -> Any | None:
    """The neighbour to try, far enough away to make a difference."""
    if up:
        return min((value for value in values if value >= now * _NEXT and value > now), default=None)
    return max((value for value in values if value * _NEXT <= now and value < now), default=None)


def _doublings(values: Sequence[Any], one: Any, other: Any) -> float:
    """How often one has to be doubled to come to the other; of what cannot be doubled, how many values lie between."""
    if all(is_number(value) and value > 0 for value in values):
        return abs(math.log2(one / other))
    return abs(values.index(one) - values.index(other))
