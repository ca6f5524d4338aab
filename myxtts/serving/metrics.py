"""Counters, gauges and histograms in the text format that Prometheus reads."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable

_FIRST_AUDIO_SECONDS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_REAL_TIME_FACTORS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


class Histogram:
    def __init__(self, bounds: tuple[float, ...]):
        self._bounds, self._counts, self._sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str) -> list[str]:
        total, lines = 0, []
        for bound, count in zip([*map(str, self._bounds), "+Inf"], self._counts, strict=True):
            total += count
            lines.append(f'{name}_bucket{{le="{bound}"}} {total}')
        return [*lines, f"{name}_sum {self._sum:.6f}", f"{name}_count {total}"]


class Metrics:
    """Written to by the event loop and the worker's thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._first_audio, self._real_time = Histogram(_FIRST_AUDIO_SECONDS), Histogram(_REAL_TIME_FACTORS)
        self._spoken_seconds = 0.0
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}

    @property
    def requests(self) -> int:
        return self._requests.total()

    @property
    def spoken_seconds(self) -> float:
        return self._spoken_seconds

    def count(self, route: str, status: int) -> None:
        with self._lock:
            self._requests[route, status] += 1

    def first_audio(self, seconds: float) -> None:
        with self._lock:
            self._first_audio.add(seconds)

    def spoken(self, sound_seconds: float, worked_seconds: float) -> None:
        with self._lock:
            self._spoken_seconds += sound_seconds
            self._real_time.add(worked_seconds / sound_seconds)

    def text(self) -> str:
        with self._lock:
            requests = [
                f'myxtts_requests_total{{route="{route}",status="{status}"}} {count}'
                for (route, status), count in sorted(self._requests.items())
            ]
            first = self._first_audio.lines("myxtts_first_audio_seconds")
            real = self._real_time.lines("myxtts_real_time_factor")
            spoken = [f"myxtts_spoken_seconds_total {self._spoken_seconds:.3f}"]
        lines = _described("myxtts_requests_total", "counter", "answers by route and status", requests)
        lines += _described("myxtts_first_audio_seconds", "histogram", "from the request to its first sound", first)
        lines += _described("myxtts_real_time_factor", "histogram", "seconds of work for a second of sound", real)
        lines += _described("myxtts_spoken_seconds_total", "counter", "seconds of sound made", spoken)
        for name, (meaning, value) in self.gauges.items():
            lines += _described(name, "gauge", meaning, [f"{name} {value():g}"])
        return "\n".join(lines) + "\n"


def _described(name: str, kind: str, meaning: str, lines: list[str]) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", *lines]
