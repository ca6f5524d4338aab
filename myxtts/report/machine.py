"""What the machine did meanwhile: cores, memory, disk and GPUs as small pictures over the minutes of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from myxtts.report.charts import Curve, curves
from myxtts.report.markup import Markup, tag
from myxtts.report.page import card, table
from myxtts.report.wording import NBSP, count, number, plain, size

Traces = dict[str, list[tuple[float, float]]]
_KINDS = ("", "second", "third", "fourth")
_PERCENT = f"{NBSP}%"
# title, columns with their names, factor, unit, end of the axis
_PICTURES: tuple[tuple[str, dict[str, str], float, str, float | None], ...] = (
    ("CPU", {"cpu_percent": "all cores", "own_cpu_share_percent": "this process"}, 1.0, _PERCENT, 100.0),
    ("Memory", {"own_memory_bytes": "this process", "available_bytes": "available"}, 1e-9, f"{NBSP}GB", None),
    ("Disk", {"disk_read_bytes_per_s": "read", "disk_write_bytes_per_s": "written"}, 1e-6, f"{NBSP}MB/s", None),
    ("Pages fetched from the disk", {"major_faults_per_s": "page faults"}, 1.0, f"{NBSP}/s", None),
)
_GPU_PICTURES: tuple[tuple[str, str, float, str, float | None], ...] = (
    ("GPU utilisation", "utilisation_percent", 1.0, _PERCENT, 100.0),
    ("GPU SM activity", "sm_activity_percent", 1.0, _PERCENT, 100.0),
    ("GPU memory", "memory_used_bytes", 1e-9, f"{NBSP}GB", None),
    ("GPU power", "power_watts", 1.0, f"{NBSP}W", None),
    ("PCIe to the GPU", "pcie_in_bytes_per_s", 1e-9, f"{NBSP}GB/s", None),
)


def machine_card(traces: Traces, description: dict[str, Any], began: float) -> Markup:
    """Says so where there is nothing to draw."""
    pictures = [picture for picture in _pictures(traces, began) if picture]
    note = _description(description)
    if not pictures:
        return card(
            "The machine",
            tag("p", "No samples of the machine: it was not watched, or for less than a second."),
            note=note or None,
        )
    return card("The machine", tag("div", *pictures, class_="grid"), _numbers(traces), note=note or None)


def _pictures(traces: Traces, began: float) -> list[Markup]:
    gpus = sorted({name.partition(".")[0] for name in traces if name.startswith("gpu")})
    wanted = (
        [
            (title, {f"{gpu}.{column}": gpu for gpu in gpus}, factor, unit, top)
            for title, column, factor, unit, top in _GPU_PICTURES
        ]
        if gpus
        else []
    )
    return [_picture(traces, began, *each) for each in (*wanted, *_PICTURES)]


def _picture(
    traces: Traces, began: float, title: str, columns: dict[str, str], factor: float, unit: str, top: float | None
) -> Markup:
    lines, (seconds, name_of_time) = (
        [],
        _unit_of_time(max((pairs[-1][0] for pairs in traces.values() if pairs), default=0.0) - began),
    )
    for (column, name), kind in zip(columns.items(), _KINDS * len(columns), strict=False):
        pairs = traces.get(column, [])
        if any(value for _, value in pairs) or (pairs and top):
            at = [(at - began) / seconds for at, _ in pairs]
            lines.append(Curve(name, at, [value * factor for _, value in pairs], kind))
    return curves(
        f"{title},{unit}",
        lines,
        high=top,
        x_name="after",
        x_written=_said(f"{NBSP}{name_of_time}", plain),
        said=_said(unit),
    )


def _said(unit: str, written: Callable[[float], str] = number) -> Callable[[float], str]:
    return lambda value: f"{written(value)}{unit}"


def _unit_of_time(seconds: float) -> tuple[float, str]:
    """What an axis of so many seconds counts in."""
    return (3600.0, "h") if seconds >= 7200 else (60.0, "min") if seconds >= 120 else (1.0, "s")


def _numbers(traces: Traces) -> Markup:
    rows = []
    for name, pairs in sorted(traces.items()):
        values = [value for _, value in pairs]
        if any(values):
            written = size if "bytes" in name else number
            rows.append(
                (name.replace("_", " "), written(min(values)), written(sum(values) / len(values)), written(max(values)))
            )
    shown = table(["reading", "lowest", "mean", "highest"], rows)
    return tag("details", tag("summary", f"All {count(len(rows))} readings"), shown)


def _description(machine: dict[str, Any]) -> str:
    if not machine:
        return ""
    parts = [
        machine.get("cpu") or "unknown processor",
        f"{plain(machine['cpus'])} cores" if machine.get("cpus") else None,
        f"{size(machine['memory_bytes'])} of memory" if machine.get("memory_bytes") else None,
        f"GPU: {machine.get('gpu')}",
        f"TensorFlow {machine.get('tensorflow')}",
    ]
    return ", ".join(part for part in parts if part)
