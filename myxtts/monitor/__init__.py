"""Records what happens and how long it takes, and sums it up: spans, counters, step timings, samples of the machine.

Any room may write to a `Monitor`; the doctor, the reports and the tests read from it. One is current at a time. Writing
costs microseconds, the arithmetic is done when somebody asks, and nothing here acts on what it finds.

Names of counters that mean something: `X.traces` and `X.compilations` are shapes that were made ready, which is a fault
once steps have begun; `X.hits` and `X.misses` are those of a cache; `python_path` is an utterance decoded in Python.
"""

from myxtts.monitor.record import FEWEST_STEPS, Monitor, Seen, Span, current_monitor, monitor_aside, start_monitor

__all__ = ["FEWEST_STEPS", "Monitor", "Seen", "Span", "current_monitor", "monitor_aside", "start_monitor"]
