"""What monitoring costs: a step's records, and the thread that samples the machine.

    python benchmarks/monitor.py                20 s of sampling
    python benchmarks/monitor.py --seconds 60

Bars: a span, a count and the timing of one step cost at most 1 % of a 5 ms step; the sampler at most 1 % of a core, by
its thread's own clock. Readings of a GPU cannot be measured without one: NVML waits about 20 ms for each PCIe rate,
outside Python and without its lock.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable

import numpy as np
import psutil
from measure import interleave

from myxtts.machine.sampler import MachineSampler
from myxtts.monitor import Monitor

STEP_MS, BAR = 5.0, 0.01
STEPS = 50_000


def steps_with_the_monitor() -> None:
    monitor = Monitor()
    for _ in range(STEPS):
        with monitor.time_operation("step"):
            pass
        monitor.count("text_cache.hits")
        monitor.log_step_timing(0.0001, 0.0049, 32)


def steps_with_a_line_of_json() -> None:
    """The naive way: everything to a file at once."""
    with open(os.devnull, "w") as file:
        for step in range(STEPS):
            started = time.perf_counter()
            spent = (time.perf_counter() - started) * 1e3
            file.write(json.dumps({"step": step, "span": spent, "hits": step, "data_ms": 0.1, "compute_ms": 4.9}))
            file.flush()


def steps_with_two_clocks() -> None:
    """The limit: two readings of the clock and one list."""
    kept = []
    for _ in range(STEPS):
        started = time.perf_counter()
        kept.append(time.perf_counter() - started)


def step_costs() -> float:
    ways: dict[str, Callable[[], object]] = {
        "monitor": steps_with_the_monitor,
        "naive: a line of JSON each": steps_with_a_line_of_json,
        "limit: two clocks, a list": steps_with_two_clocks,
    }
    print(f"records of one step (best of 5 x {STEPS:,}; share of a step of {STEP_MS:g} ms)")
    timings = interleave(ways, 5)
    for name, timing in timings.items():
        micros = timing.best / STEPS * 1e6
        print(f"  {name:<28} {micros:7.2f} us  {micros / STEP_MS / 1e3:8.3%}   spread {timing.spread:.2f}")
    return timings["monitor"].best / STEPS * 1e3 / STEP_MS


def reading_costs() -> None:
    monitor = Monitor()
    random = np.random.default_rng(0)
    for data, compute in random.exponential((1.0, 5.0), (200_000, 2)):
        monitor.log_step_timing(data / 1e3, compute / 1e3, 32)
    started = time.perf_counter()
    monitor.get_summary_report()
    print(f"a report of 200,000 steps      {(time.perf_counter() - started) * 1e3:7.1f} ms")


def sampler_costs(seconds: float) -> float:
    process = psutil.Process()
    with MachineSampler(Monitor(), interval_seconds=1.0) as sampler:
        time.sleep(seconds)
    began, times = time.thread_time(), 20
    for _ in range(times):
        process.as_dict()
        psutil.cpu_percent(percpu=True)
    naive = (time.thread_time() - began) / times
    samples = len(sampler.samples)
    print(f"sampling the machine once a second ({samples} samples; share of a core)")
    print(f"  sampler                      {sampler.cost_share * 1e6:7.0f} us  {sampler.cost_share:8.3%}")
    print(f"  naive: all psutil knows      {naive * 1e6:7.0f} us  {naive:8.3%}")
    print(f"  GPU: {sampler.description.get('gpu')}; left out: {', '.join(sampler.dropped) or 'nothing'}")
    return sampler.cost_share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    shares = {"records of a step": step_costs()}
    reading_costs()
    shares["sampler"] = sampler_costs(arguments.seconds)
    for name, share in shares.items():
        print(f"{name}: {share:.3%}, bar {BAR:.0%}: {'met' if share <= BAR else 'MISSED'}")
    return int(any(share > BAR for share in shares.values()))


if __name__ == "__main__":
    sys.exit(main())
