"""What a monitor recorded, judged: a verdict on the last steps, the evidence, and what to do about it. Pure.

It takes `Monitor.summary()`, of this process or as a run's log keeps it, and gives what `get_bottleneck_analysis` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from myxtts.doctor.causes import CAUSES, DATA, HEALTHY, UNKNOWN, VERDICTS
from myxtts.monitor import FEWEST_STEPS
from myxtts.monitor.statistics import hit_shares
from myxtts.thresholds import (
    CORES_BUSY,
    FAULTS_PER_S,
    GPU_BUSY,
    MEMORY_LEFT,
    STALLED,
    SWAPPED_BYTES_PER_S,
    steadiness_of,
)

SUMMARY = frozenset({"spans", "counters", "late", "steps", "utterances", "timings", "machine"})  # what is read of one
_SLOWEST_SPANS = 5
_LATE = (".traces", ".compilations")

Facts = Mapping[str, Any]
Ranges = Mapping[str, Mapping[str, float]]  # of a machine's column: mean, min, max


def verdict_of(steps: int, stall: float, late_traces: int) -> str:
    """The verdict that timings alone allow."""
    if steps < FEWEST_STEPS:
        return UNKNOWN.name
    if stall > STALLED:
        return DATA.name
    return CAUSES["recompilation"].name if late_traces else HEALTHY.name


def analyse(summary: Facts) -> dict[str, Any]:
    """`verdict` and `because` in words, `jitter_class` (stable, varying, oscillating, unknown), the numbers behind
    them, and `recommendations`, the surest first."""
    analysis = _timings(summary) | {
        "batch": round(summary["utterances"] / max(summary["steps"], 1)),
        "slowest_spans": _slowest(summary["spans"]),
        "python_path": _python_path(summary),
        "traces_after_start": sum(n for name, n in summary["late"].items() if name.endswith(_LATE)),
        "cache_hit_shares": hit_shares(summary["counters"]),
    }
    analysis["verdict"] = verdict_of(analysis["steps"], analysis["stall"], analysis["traces_after_start"])
    analysis["because"] = _because(analysis)
    machine = summary["machine"]["columns"]
    return analysis | {"recommendations": list(_recommend(analysis, summary["counters"], machine))}


def _timings(summary: Facts) -> dict[str, Any]:
    window = (summary["timings"] or {}).get("window")
    if window is None:
        return {"steps": 0, "stall": 0.0, "jitter": 0.0, "jitter_class": UNKNOWN.name, "period_steps": None,
                "period_strength": None}  # fmt: skip
    jitter, cycle = window["total_ms"]["jitter"], window["oscillation"] or {}
    known = window["steps"] >= FEWEST_STEPS
    return {
        "steps": window["steps"], "stall": window["stall"],
        "jitter": jitter, "jitter_class": steadiness_of(jitter) if known else UNKNOWN.name,
        "period_steps": cycle.get("period_steps"), "period_strength": cycle.get("strength"),
    }  # fmt: skip


def _slowest(spans: Mapping[str, Facts]) -> list[dict[str, Any]]:
    slowest = sorted(spans.items(), key=lambda item: -item[1]["total_ms"])[:_SLOWEST_SPANS]
    return [{"name": name, **span} for name, span in slowest]


def _python_path(summary: Facts) -> dict[str, Any]:
    decoded, utterances = summary["counters"].get("python_path", 0), summary["utterances"]
    return {
        "utterances": decoded,
        "share": min(decoded / utterances, 1.0) if utterances else 0.0,
        "total_ms": summary["spans"].get("python_path", {}).get("total_ms", 0.0),
    }


def _because(analysis: Facts) -> str:
    if analysis["verdict"] == UNKNOWN.name:
        return f"{analysis['steps']} steps are too few"
    waits = f"the step waits {analysis['stall']:.1%} of its time for its batch"
    late = analysis["verdict"] == "recompilation"
    return f"{waits}, but {VERDICTS['recompilation'].words}" if late else waits


# ---- what to do -----------------------------------------------------------------------------------------------------


def _recommend(analysis: Facts, counters: Mapping[str, int], machine: Ranges) -> Iterator[str]:
    """Each says what was seen and names the setting or the command that cures."""
    if analysis["verdict"] == UNKNOWN.name:
        yield f"let it take at least {FEWEST_STEPS} steps: {analysis['steps']} are too few for a verdict"
        return
    waits = analysis["verdict"] == DATA.name
    seen = [*(_of_data(analysis, counters, machine) if waits else _of_step(analysis, machine)), *_of_memory(machine)]
    cures = [f"{evidence}: {VERDICTS[cause].cure.format(n=n)}" for cause, evidence, n in [*_of_both(analysis), *seen]]
    if waits and not cures:
        cures = ["raise data.prefetch_buffer_size and data.num_workers, or let data.auto_tune_performance choose them"]
    yield from cures
    if cures:
        yield "for what each cure would bring, run 'myxtts doctor --run RUN'"
    else:
        yield f"{HEALTHY.words}: {analysis['because']}"


Suspects = Iterator[tuple[str, str, int | None]]  # verdict, evidence, the number in its cure


def _of_both(analysis: Facts) -> Suspects:
    """Wrong whether the step waits or not."""
    python, late = analysis["python_path"], analysis["traces_after_start"]
    if python["utterances"]:
        yield (
            "python_function",
            f"{python['utterances']} utterances ({python['share']:.0%}) were decoded in Python, one at a time",
            None,
        )
    if late:
        yield "recompilation", f"{late} shapes were compiled after the first step", None


def _of_data(analysis: Facts, counters: Mapping[str, int], machine: Ranges) -> Suspects:
    """What may be behind the waiting."""
    files = [kind for kind in ("native", "npy", "python") if counters.get(f"loader.{kind}")]
    if files and not analysis["python_path"]["utterances"]:
        yield "per_file_reads", f"batches are read from single files (loader {files[0]})", None
    if analysis["jitter_class"] == "oscillating" and analysis["period_steps"]:
        period = analysis["period_steps"]
        yield "oscillation", f"every {period} steps the batches come late", 2 * period
    if max(_mean(machine, "cpu_percent"), _mean(machine, "own_cpu_share_percent")) > 100 * CORES_BUSY:
        yield "host_features", "every core is busy", None
    if _mean(machine, "major_faults_per_s") > FAULTS_PER_S:
        yield "slow_disk", "batches wait for pages from the disk", None


def _of_step(analysis: Facts, machine: Ranges) -> Suspects:
    """What may be wrong although the batches are there."""
    if analysis["jitter_class"] == "oscillating":
        every = f" every {analysis['period_steps']} steps" if analysis["period_steps"] else ""
        yield "unexplained", f"the step itself is slow now and then{every}", None
    busy = [ranges["mean"] for name, ranges in machine.items() if name.endswith(".utilisation_percent")]
    if busy and max(busy) < 100 * GPU_BUSY:
        yield "tiny_batch", f"the GPU is at {max(busy):.0f} % although it has its batches", 2 * analysis["batch"]


def _of_memory(machine: Ranges) -> Suspects:
    share = machine.get("available_percent")
    if share is not None and share["min"] < 100 * MEMORY_LEFT:
        yield "memory_pressure", f"memory was down to {share['min']:.1f} %", None
    elif _mean(machine, "swapped_in_bytes_per_s") > SWAPPED_BYTES_PER_S:
        yield "memory_pressure", "the machine swaps", None


def _mean(machine: Ranges, column: str) -> float:
    return machine[column]["mean"] if column in machine else 0.0
