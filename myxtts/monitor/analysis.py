"""From what was recorded to a verdict, its cures in plain words, and a report of one screen. All of it pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from myxtts.monitor.statistics import hit_shares, step_statistics

WINDOW_STEPS = 1_000  # what "now" means: verdict, jitter and oscillation are of these
FEWEST_STEPS = 10  # with fewer there is no verdict
_KEEPS_UP, _TOO_SLOW = 0.1, 0.2  # stall: below, the loader keeps up; above, it needs 1.25 times what the step does
_STABLE, _OSCILLATING = 0.2, 0.5  # std / mean of the step time
_SLOWEST_SPANS = 5

Ranges = Mapping[str, Mapping[str, float]]


def analyse(
    steps: Sequence[tuple[float, float, int]],
    spans: Mapping[str, dict[str, float]],
    counters: Mapping[str, int],
    late: Mapping[str, int],
    utterances: float,
    machine: Ranges,
) -> dict[str, Any]:
    """`verdict`: data (the step waits for its batches), compute (it does not), balanced (a little), unknown (fewer than
    10 steps); `jitter_class`: stable, varying, oscillating, unknown. The rest is the evidence, and `recommendations`.

    `counters` are those of the whole run, `late` of the time after its first step; `machine` sums up the samples.
    """
    slowest = sorted(spans.items(), key=lambda item: -item[1]["total_ms"])[:_SLOWEST_SPANS]
    decoded = counters.get("python_path", 0)
    found = _judge(steps[-WINDOW_STEPS:]) | {
        "slowest_spans": [{"name": name, **span} for name, span in slowest],
        "python_path": {
            "utterances": decoded,
            "share": min(decoded / utterances, 1.0) if utterances else 0.0,
            "total_ms": spans.get("python_path", {}).get("total_ms", 0.0),
        },
        "traces_after_start": sum(n for name, n in late.items() if name.endswith((".traces", ".compilations"))),
        "cache_hit_shares": hit_shares(counters),
    }
    return found | {"recommendations": list(_recommend(found, counters, machine))}


def _judge(steps: Sequence[tuple[float, float, int]]) -> dict[str, Any]:
    numbers = step_statistics(steps)
    stall, jitter, cycle = numbers["stall"], numbers["total_ms"]["jitter"], numbers["oscillation"]
    verdict = "compute" if stall <= _KEEPS_UP else "balanced" if stall <= _TOO_SLOW else "data"
    steadiness = "stable" if jitter < _STABLE else "varying" if jitter <= _OSCILLATING else "oscillating"
    known = len(steps) >= FEWEST_STEPS
    return {
        "steps": len(steps), "verdict": verdict if known else "unknown", "stall": stall,
        "jitter": jitter, "jitter_class": steadiness if known else "unknown",
        "period_steps": cycle and cycle["period_steps"], "period_strength": cycle and cycle["strength"],
    }  # fmt: skip


# ---- what to do -----------------------------------------------------------------------------------------------------


def _recommend(found: Mapping[str, Any], counters: Mapping[str, int], machine: Ranges) -> Iterator[str]:
    """Each names the setting or the command that cures; the surest first."""
    if found["verdict"] == "unknown":
        yield f"let it take at least {FEWEST_STEPS} steps: {found['steps']} are too few for a verdict"
        return
    cures = [*_data_cures(found, counters, machine), *_step_cures(found, machine), *_memory_cures(machine)]
    if found["verdict"] == "data" and not cures:
        cures = ["raise data.prefetch_buffer_size and data.num_workers, or let data.auto_tune_performance choose them"]
    yield from cures
    if cures:
        yield "for what each cure would bring, run 'myxtts doctor --run RUN'"
    else:
        yield f"nothing to mend: the step waits {found['stall']:.1%} of its time for its batch"


def _data_cures(found: Mapping[str, Any], counters: Mapping[str, int], machine: Ranges) -> Iterator[str]:
    python, waits = found["python_path"], found["verdict"] in ("data", "balanced")
    if python["utterances"]:
        yield (
            f"{python['utterances']} utterances ({python['share']:.0%}) were decoded in Python, one at a time: run "
            "'myxtts pack CORPUS' once and train on the cache"
        )
    files = [kind for kind in ("native", "npy", "python") if counters.get(f"loader.{kind}")]
    if waits and files and not python["utterances"]:
        yield f"batches are read from single files (loader {files[0]}): run 'myxtts pack CORPUS' and train on the cache"
    if found["jitter_class"] == "oscillating" and found["period_steps"] and waits:
        yield (
            f"every {found['period_steps']} steps the batches come late: set data.prefetch_buffer_size to at least "
            f"{2 * found['period_steps']}"
        )
    if waits and max(_mean(machine, "cpu_percent"), _mean(machine, "own_cpu_share_percent")) > 90.0:
        yield "every core is busy: set data.preprocessing_mode=precompute, so that no mel is made during training"
    if waits and _mean(machine, "major_faults_per_s") > 100.0:
        yield (
            "batches wait for pages from the disk: move the cache to a faster disk, or set data.memory_cache=true if "
            "it fits into memory"
        )


def _step_cures(found: Mapping[str, Any], machine: Ranges) -> Iterator[str]:
    if found["traces_after_start"]:
        yield (
            f"{found['traces_after_start']} shapes were compiled after the first step: train from a packed cache, "
            "whose shapes are known before (data.num_buckets says how many)"
        )
    if found["jitter_class"] == "oscillating" and found["verdict"] == "compute":
        every = f" every {found['period_steps']} steps" if found["period_steps"] else ""
        yield f"the step itself is slow now and then{every}: see what else runs on this machine; lower data.num_buckets"
    busy = [ranges["mean"] for name, ranges in machine.items() if name.endswith(".utilisation_percent")]
    if busy and max(busy) < 50.0 and found["verdict"] == "compute":
        yield f"the GPU is at {max(busy):.0f} % although it has its batches: raise data.batch_size"


def _memory_cures(machine: Ranges) -> Iterator[str]:
    share = machine.get("available_percent")
    if share is not None and share["min"] < 5.0:
        yield f"memory was down to {share['min']:.1f} %: set data.memory_cache=false or lower data.prefetch_buffer_size"
    elif _mean(machine, "swapped_in_bytes_per_s") > 1e6:
        yield "the machine swaps: set data.memory_cache=false, or end other programs"


def _mean(machine: Ranges, column: str) -> float:
    return machine[column]["mean"] if column in machine else 0.0


# ---- for a person ---------------------------------------------------------------------------------------------------

_VERDICTS = {
    "data": "data: the step waits {stall:.1%} of its time for its batch",
    "compute": "compute: batches are there in time, the step waits {stall:.1%}",
    "balanced": "balanced: the step waits {stall:.1%} of its time for its batch",
    "unknown": "unknown: {steps} steps are too few",
}


def format_report(summary: Mapping[str, Any]) -> str:
    """What `Monitor.summary` found, at most 100 columns wide."""
    found, timings = summary["analysis"], summary["timings"]
    lines = [("verdict", _VERDICTS[found["verdict"]].format(**found))]
    if timings:
        window = timings["window"]
        lines += [(name, _times(window[f"{name}_ms"])) for name in ("data", "compute", "total")]
        cycle = f", every {found['period_steps']} steps" if found["period_steps"] else ""
        lines.append(("jitter", f"{found['jitter']:.2f} ({found['jitter_class']}{cycle})"))
        lines.append(("rate", f"{window['utterances_per_second']:,.0f} utterances/s"))
    lines += [*_event_lines(summary), *_machine_lines(summary["machine"])]
    text = [f"performance of {summary['steps']:,} steps (timings: the last {WINDOW_STEPS:,})"]
    text += [f"  {name:<8} {value}"[:100] for name, value in lines]
    for cure in found["recommendations"]:
        text += textwrap.wrap(cure, 96, initial_indent="  -> ", subsequent_indent="     ", break_on_hyphens=False)
    return "\n".join(text)


def _times(times: Mapping[str, float]) -> str:
    return f"{times['mean']:9.2f} ms   p50 {times['p50']:.2f}   p95 {times['p95']:.2f}   p99 {times['p99']:.2f}"


def _event_lines(summary: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    found, python = summary["analysis"], summary["analysis"]["python_path"]
    for span in found["slowest_spans"]:
        times = f"{span['total_ms']:,.0f} ms in {span['count']:,}, at most {span['max_ms']:,.1f} ms"
        yield "span", f"{span['name']}: {times}"
    if python["utterances"]:
        last = summary["seen"]["python_path"]["last_step"]
        yield "Python", f"{python['utterances']:,} utterances ({python['share']:.0%}), the last at step {last:,}"
    traces = sum(n for name, n in summary["counters"].items() if name.endswith((".traces", ".compilations")))
    if traces:
        yield "traces", f"{traces}, of them {found['traces_after_start']} after the first step"
    for name, share in found["cache_hit_shares"].items():
        yield name, _cache_words(share, summary["counters"].get(f"{name}.misses", 0))


def _cache_words(share: float, made: int) -> str:
    """After a first packing no row was there before. That is no "0 % hits": training reads what was packed."""
    return f"{share:.1%} were there, {made:,} made" if share else f"{made:,} made, none was there before"


def _machine_lines(machine: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    columns, description = machine["columns"], machine["description"]
    mean = {name: ranges["mean"] for name, ranges in columns.items()}
    if "cpu_percent" in mean:
        cores, busiest = description.get("cpus", "?"), mean["busiest_core_percent"]
        yield "CPU", f"{mean['cpu_percent']:.0f} % of {cores} cores, the busiest {busiest:.0f} %"
    if "available_bytes" in mean:
        own = mean.get("own_memory_bytes", 0) / 1e9
        yield "memory", f"{own:.1f} GB own, {mean['available_bytes'] / 1e9:.1f} GB free"
    if "disk_read_bytes_per_s" in mean:
        yield (
            "disk",
            (
                f"{mean['disk_read_bytes_per_s'] / 1e6:.1f} MB/s read, {mean['disk_write_bytes_per_s'] / 1e6:.1f} MB/s "
                f"written, {mean.get('major_faults_per_s', 0):.0f} page faults/s from it"
            ),
        )
    for gpu in sorted({name.partition(".")[0] for name in mean if name.startswith("gpu")}):
        own = {name.partition(".")[2]: value for name, value in mean.items() if name.startswith(f"{gpu}.")}
        yield gpu, "  ".join(_gpu_words(own))
    if isinstance(description.get("gpu"), str):
        yield "GPU", description["gpu"]


def _gpu_words(own: Mapping[str, float]) -> Iterator[str]:
    formats = {
        "utilisation_percent": ("{:.0f} % busy", 1), "sm_activity_percent": ("SM {:.0f} %", 1),
        "memory_used_bytes": ("{:.1f} GB", 1e9), "power_watts": ("{:.0f} W", 1),
        "pcie_in_bytes_per_s": ("PCIe in {:.2f} GB/s", 1e9), "pcie_out_bytes_per_s": ("out {:.2f} GB/s", 1e9),
    }  # fmt: skip
    for name, (form, unit) in formats.items():
        if name in own:
            yield form.format(own[name] / unit)
