"""Where to cut: every second of a recording becomes part of a slice of 1 to 15 s or is left out for a reason.

Cuts are made in pauses only. Of all ways to cut a passage the one is taken whose cuts lie in the longest pauses and
whose slices have the best lengths (a dynamic programme over the pauses), so a sentence stays whole where it can.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from myxtts.corpus.check import CLIPPED_SHARE
from myxtts.features.music import HELD
from myxtts.prepare.activity import WINDOW_SECONDS
from myxtts.prepare.windows import Windows

SHORTEST, LONGEST = 1.0, 15.0  # seconds of a slice
MARGIN = 0.2  # seconds of pause that a slice keeps at each end
SLICE = "slice"
REASONS = {
    "pause": "nobody speaks, for less than 2 s",
    "silence": "nobody speaks, for 2 s or more",
    "noise": "loud, but no speech",
    "music": "music, alone or behind a voice",
    "clipped": "recorded too loud: the peaks are cut off",
    "noisy": "the noise behind the voice is too loud",
    "too_short": "less than 1 s of speech between two long pauses",
    "no_pause": "more than 15 s of speech without a pause to cut in",
}

_BEGIN, _GO_ON = 0.5, 0.35  # of the detector's probability: the values that Silero's own examples use
_LEAST_PAUSE = (
    4  # windows, 128 ms: the closure of a plosive inside a word is shorter, and does not silence the detector
)
_LEAST_NEW_PAUSE = 6  # windows, for a cut that no length asks for
_LEAST_SPEECH = 4  # windows; less is a click or a cough
_LONGEST_PAUSE = 1.2  # seconds inside a slice
_MUSIC_ALONE = 0.5  # where nobody speaks, less is held than behind a voice
_LEAST_SNR_DB = 10.0
_AS_QUIET_DB = 3.0
_LOUD_DB = -45.0
_BELOW_SPEECH_DB = 25.0
_SILENCE_SECONDS = 2.0


@dataclass(frozen=True)
class Stretch:
    """A part of a recording. `kind` is SLICE or one of REASONS."""

    start: float
    end: float
    kind: str
    level_db: float = -100.0
    snr_db: float = 0.0
    spoken_seconds: float = 0.0  # of a slice: without its pauses

    @property
    def seconds(self) -> float:
        return self.end - self.start


def cut(windows: Windows, also_at: Collection[float] = ()) -> list[Stretch]:
    """All of the recording, in order, without gap or overlap; cut in the pauses `also_at` in any case."""
    groups = _groups(_regions(windows), sorted(also_at))
    return _fill([_judge(stretch, windows) for group in groups for stretch in _slices(group, windows)], windows)


def inner_pauses(stretch: Stretch, windows: Windows) -> list[float]:
    """The middles of the pauses in which a slice could be cut in two."""
    low, high = stretch.start + SHORTEST, stretch.end - SHORTEST
    gaps = [(one[1], other[0]) for one, other in pairwise(_regions(windows))]
    middles = [(end + start) / 2 * WINDOW_SECONDS for end, start in gaps if start - end >= _LEAST_NEW_PAUSE]
    return [round(middle, 3) for middle in middles if low <= middle <= high]


Region = tuple[int, int]  # first window with speech, and the one after the last


def _regions(windows: Windows) -> list[Region]:
    """Where somebody speaks; what is shorter than a pause between two of them is part of them."""
    regions: list[Region] = []
    for start, end in _runs(windows.speech >= _GO_ON):
        if windows.speech[start:end].max() < _BEGIN:
            continue
        if regions and start - regions[-1][1] < _LEAST_PAUSE:
            start = regions.pop()[0]
        regions.append((start, end))
    return [region for region in regions if region[1] - region[0] >= _LEAST_SPEECH]


def _groups(regions: list[Region], walls: list[float]) -> list[list[Region]]:
    """Regions with no pause between them that is too long for the inside of a slice, or has a wall in it."""
    groups: list[list[Region]] = []
    for region in regions:
        before = groups[-1][-1][1] * WINDOW_SECONDS if groups else 0.0
        begin = region[0] * WINDOW_SECONDS
        is_cut = bisect.bisect(walls, before) < bisect.bisect(walls, begin)
        if groups and begin - before <= _LONGEST_PAUSE and not is_cut:
            groups[-1].append(region)
        else:
            groups.append([region])
    return groups


def _slices(group: list[Region], windows: Windows) -> list[Stretch]:
    """The cheapest way to cut a group. best[n]: the cost of its first n regions, and where their last slice begins."""
    best = [(0.0, 0)]
    for end in range(1, len(group) + 1):
        choices = []
        for begin in range(end - 1, -1, -1):
            cost = _length_cost((group[end - 1][1] - group[begin][0]) * WINDOW_SECONDS)
            if math.isinf(cost) and begin < end - 1:
                break
            cost = min(cost, 50.0) + _inside_cost(group[begin:end])
            choices.append((best[begin][0] + cost + (_cut_cost(group, begin) if begin else 0.0), begin))
        best.append(min(choices))
    cuts, end = [], len(group)
    while end:
        begin = best[end][1]
        cuts.append(_with_margins(group[begin][0], group[end - 1][1], windows))
        end = begin
    return cuts[::-1]


def _length_cost(seconds: float) -> float:
    """2.5 to 10 s cost nothing: shorter rows teach little, longer ones are slow to align."""
    if seconds > LONGEST - 2 * MARGIN:
        return math.inf
    if seconds < SHORTEST:
        return 8.0
    return max(0.8 * (2.5 - seconds), 0.2 * (seconds - 10.0), 0.0)


def _cut_cost(group: list[Region], at: int) -> float:
    """Of a cut in the pause before a region: none from 0.5 s, 2 at 0.2 s, 6 at 0.1 s."""
    pause = _pause(group, at)
    return max(0.5 - pause, 0.0) / 0.15 + max(0.2 - pause, 0.0) * 40.0


def _inside_cost(regions: list[Region]) -> float:
    return sum(2.0 * max(_pause(regions, at) - 0.5, 0.0) for at in range(1, len(regions)))


def _pause(group: list[Region], at: int) -> float:
    return (group[at][0] - group[at - 1][1]) * WINDOW_SECONDS


def _with_margins(first: int, last: int, windows: Windows) -> Stretch:
    """From the quietest place of the pause before to that of the pause after, where these are near; else a margin."""
    start = first - _to_quietest(windows.speech[:first][::-1], windows.level_db[:first][::-1])
    end = last + _to_quietest(windows.speech[last:], windows.level_db[last:], 1)
    return Stretch(start * WINDOW_SECONDS, min(end * WINDOW_SECONDS, windows.seconds), SLICE)


def _to_quietest(speech: NDArray[np.float32], level_db: NDArray[np.float32], with_it: int = 0) -> int:
    """How many windows of a pause to keep: a margin; of a short one up to where it is quietest, which one side has."""
    reach = round(MARGIN / WINDOW_SECONDS)
    near = speech[: 2 * reach] >= _GO_ON
    free = int(near.argmax()) if near.any() else len(near)
    if free >= 2 * reach:
        return reach
    if not free or not near.any():
        return min(free, reach)
    quiet = np.flatnonzero(level_db[:free] <= level_db[:free].min() + _AS_QUIET_DB)
    return min(int(np.median(quiet)) + with_it, reach)


def _judge(stretch: Stretch, windows: Windows) -> Stretch:
    """The slice with its level, or the reason to leave it out."""
    part = slice(round(stretch.start / WINDOW_SECONDS), round(stretch.end / WINDOW_SECONDS))
    level = windows.level_db[part]
    voiced = level[windows.speech[part] >= _BEGIN]
    loud = _mean_db(voiced)
    snr = loud - float(uniform_filter1d(level, 3).min())
    kind = SLICE
    if stretch.seconds > LONGEST:
        kind = "no_pause"
    elif stretch.seconds < SHORTEST:
        kind = "too_short"
    elif windows.clipped[part].sum() > CLIPPED_SHARE * stretch.seconds * 16000:
        kind = "clipped"
    elif float(np.median(windows.music[part])) >= HELD:
        kind = "music"
    elif snr < _LEAST_SNR_DB:
        kind = "noisy"
    spoken = len(voiced) * WINDOW_SECONDS
    return replace(stretch, kind=kind, level_db=round(loud, 1), snr_db=round(snr, 1), spoken_seconds=spoken)


def _mean_db(levels: NDArray[np.float32]) -> float:
    return 10.0 * math.log10(float(np.mean(10.0 ** (levels / 10.0)))) if len(levels) else -100.0


def _fill(spoken: list[Stretch], windows: Windows) -> list[Stretch]:
    """The stretches between: silence, noise and music by their names."""
    stretches, at = [], 0.0
    speech_db = _mean_db(windows.level_db[windows.speech >= _BEGIN])
    loud = uniform_filter1d(windows.level_db, 9) > max(_LOUD_DB, speech_db - _BELOW_SPEECH_DB)
    for stretch in [*spoken, Stretch(windows.seconds, windows.seconds, SLICE)]:
        if stretch.start > at:
            stretches += _name(at, stretch.start, loud, windows)
        if stretch.seconds > 0:
            stretches.append(stretch)
        at = stretch.end
    return stretches


def _name(start: float, end: float, loud: NDArray[np.bool_], windows: Windows) -> list[Stretch]:
    first, last = round(start / WINDOW_SECONDS), min(round(end / WINDOW_SECONDS), len(windows))
    edges = [first, *(np.flatnonzero(np.diff(loud[first:last])) + first + 1).tolist(), last]
    stretches: list[Stretch] = []
    for begin, stop in zip(edges, edges[1:], strict=False):
        kind = _kind(slice(begin, stop), loud, windows)
        if stretches and (stretches[-1].kind == kind or (stop - begin) * WINDOW_SECONDS < 0.25):
            stretches[-1] = replace(stretches[-1], end=stop * WINDOW_SECONDS)
        else:
            stretches.append(Stretch(begin * WINDOW_SECONDS, stop * WINDOW_SECONDS, kind))
    if not stretches:
        return [Stretch(start, end, "pause")]
    stretches[0], stretches[-1] = replace(stretches[0], start=start), replace(stretches[-1], end=end)
    return [replace(one, kind=_silence(one.seconds)) if one.kind == "pause" else one for one in stretches]


def _kind(part: slice, loud: NDArray[np.bool_], windows: Windows) -> str:
    if part.start == part.stop or not loud[part.start]:
        return "pause"
    return "music" if float(np.median(windows.music[part])) >= _MUSIC_ALONE else "noise"


def _silence(seconds: float) -> str:
    return "silence" if seconds >= _SILENCE_SECONDS else "pause"


def _runs(flags: NDArray[np.bool_]) -> list[Region]:
    """(first, after the last) of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return [(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True)]
