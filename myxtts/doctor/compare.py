"""What differs between two runs: their settings, what their steps took, and what the doctor says of each."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from myxtts.doctor.history import History, explain
from myxtts.training.run_log import read_log

_UNLIKE = 0.1  # of the larger number: smaller differences of time are noise
_TIMES = ("stall", "data_ms", "compute_ms", "jitter")
_PLACES = {"data.dataset_path", "training.run_dir"}  # of course they differ


@dataclass
class Comparison:
    runs: list[str]
    verdicts: list[str]
    settings: dict[str, list[Any]] = field(default_factory=dict)  # key -> its value in each
    stages: dict[str, list[Any]] = field(default_factory=dict)
    unlike: list[str] = field(default_factory=list)  # the stages that are further apart than noise

    @property
    def alike(self) -> bool:
        return not self.settings and not self.unlike and len(set(self.verdicts)) == 1

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"alike": self.alike}

    def __str__(self) -> str:
        lines = [f"{'':<34}{self.runs[0]:>22}{self.runs[1]:>22}", _row("verdict", self.verdicts)]
        lines += [_row(name + (" *" if name in self.unlike else ""), pair) for name, pair in self.stages.items()]
        lines += [_row(key, pair) for key, pair in self.settings.items()]
        lines.append("settings are the same" if not self.settings else f"{len(self.settings)} settings differ")
        return "\n".join([*lines, f"* further apart than {_UNLIKE:.0%}"] if self.unlike else lines)


def compare(first: Path | str, second: Path | str) -> Comparison:
    """Of two run directories, finished or active."""
    runs, pasts = [Path(first), Path(second)], [explain(run) for run in (first, second)]
    starts = [_start(run) for run in runs]
    one, other = (_stages(past, start) for past, start in zip(pasts, starts, strict=True))
    stages = {name: [one[name], other[name]] for name in one}
    unlike = [name for name, pair in stages.items() if _apart(*pair)]
    names = [run.resolve().name[-20:] for run in runs]
    return Comparison(names, [past.verdict for past in pasts], _settings(*starts), stages, unlike)


def _start(run: Path) -> dict[str, Any]:
    """The last line that tells how it was started."""
    return next((line for line in reversed(list(read_log(run))) if line["kind"] == "start"), {})


def _settings(first: dict[str, Any], second: dict[str, Any]) -> dict[str, list[Any]]:
    flat = [
        {f"{section}.{key}": value for section, keys in start.get("config", {}).items() for key, value in keys.items()}
        for start in (first, second)
    ]
    keys = sorted({*flat[0], *flat[1]} - _PLACES)
    return {key: [each.get(key) for each in flat] for key in keys if flat[0].get(key) != flat[1].get(key)}


def _stages(past: History, start: dict[str, Any]) -> dict[str, Any]:
    ranks, feed = past.ranks, start.get("feed", {})
    return {"steps": past.steps} | {name: round(getattr(past, name), 4) for name in _TIMES} | {
        "late_traces": past.late_traces,
        "useful_frame_share": feed.get("useful_frame_share"),
        "devices": 1 if ranks is None else len(ranks.data_ms),
        "exchange_ms": None if ranks is None else round(ranks.exchange_ms, 3),
        "straggler": None if ranks is None else ranks.straggler,
    }  # fmt: skip


def _apart(one: Any, other: Any) -> bool:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return one is not other
    return abs(one - other) > _UNLIKE * max(abs(one), abs(other), 1e-9)


def _row(name: str, pair: Any) -> str:
    shown = ["-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)[:21] for value in pair]
    return f"{name:<34}{shown[0]:>22}{shown[1]:>22}"
