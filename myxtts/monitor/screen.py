"""A summary for a person: one screen. It shows what was recorded and what others found in it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from myxtts.monitor.statistics import WINDOW_STEPS


def format_report(summary: Mapping[str, Any], analysis: Mapping[str, Any]) -> str:
    """What `Monitor.summary` holds and what `analysis` says about it, at most 100 columns wide."""
    timings, lines = summary["timings"], [("verdict", f"{analysis['verdict']}: {analysis['because']}")]
    if timings:
        window = timings["window"]
        lines += [(name, _times(window[f"{name}_ms"])) for name in ("data", "compute", "total")]
        cycle = f", every {analysis['period_steps']} steps" if analysis["period_steps"] else ""
        lines.append(("jitter", f"{analysis['jitter']:.2f} ({analysis['jitter_class']}{cycle})"))
        lines.append(("rate", f"{window['utterances_per_second']:,.0f} utterances/s"))
    lines += [*_event_lines(summary, analysis), *_machine_lines(summary["machine"])]
    text = [f"performance of {summary['steps']:,} steps (timings: the last {WINDOW_STEPS:,})"]
    text += [f"  {name:<8} {value}"[:100] for name, value in lines]
    for cure in analysis["recommendations"]:
        text += textwrap.wrap(cure, 96, initial_indent="  -> ", subsequent_indent="     ", break_on_hyphens=False)
    return "\n".join(text)


def _times(times: Mapping[str, float]) -> str:
    return f"{times['mean']:9.2f} ms   p50 {times['p50']:.2f}   p95 {times['p95']:.2f}   p99 {times['p99']:.2f}"


def _event_lines(summary: Mapping[str, Any], analysis: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    python = analysis["python_path"]
    for span in analysis["slowest_spans"]:
        times = f"{span['total_ms']:,.0f} ms in {span['count']:,}, at most {span['max_ms']:,.1f} ms"
        yield "span", f"{span['name']}: {times}"
    if python["utterances"]:
        last = summary["seen"]["python_path"]["last_step"]
        yield "Python", f"{python['utterances']:,} utterances ({python['share']:.0%}), the last at step {last:,}"
    traces = sum(n for name, n in summary["counters"].items() if name.endswith((".traces", ".compilations")))
    if traces:
        yield "traces", f"{traces}, of them {analysis['traces_after_start']} after the first step"
    for name, share in analysis["cache_hit_shares"].items():
        hits, misses = (summary["counters"].get(f"{name}.{kind}", 0) for kind in ("hits", "misses"))
        yield name, _cache_words(share, hits, misses)


def _cache_words(share: float, hits: int, made: int) -> str:
    """After a first packing no row was there before. That is no "0 %": training reads what was packed."""
    return f"efficiency {share:.1%}: {hits:,} found, {made:,} made" if share else f"{made:,} made, none found"


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
