"""How a watch looks: drawn in place on a terminal, a line per row elsewhere, a table at the end."""

from __future__ import annotations

import os
import shutil
import time
from typing import Any, TextIO

from myxtts.terminal import printable
from myxtts.watch.watch import Row, Watch

_BAR = 10  # characters for 100 %
_CORES_PER_LINE = 4
_QUIET_SECONDS = 10.0  # without a step of the run: it has ended, or validates


class View:
    """Shows rows on a stream; a terminal's lines are drawn over."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._in_place = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._drawn = 0  # lines that stand there now

    def show(self, row: Row, seen: Watch) -> None:
        if not self._in_place:
            self._write(printable(line_of(row, seen)) + "\n")
            return
        size = shutil.get_terminal_size()
        lines = [printable(line)[: size.columns - 1] for line in picture_of(row, seen)][: max(size.lines - 1, 1)]
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        # Each line is cleared to its end, and what is below it: a machine that loses a reading has a line less.
        self._write(up + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
        self._drawn = len(lines)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def picture_of(row: Row, seen: Watch) -> list[str]:
    """Some lines, the most asked-for first: a low terminal shows the first."""
    lines = [_head(row, seen)]
    if seen.tail is not None:
        lines.append(f"run     {_run(row, seen)}")
    lines += [f"{name:<8}{text}" for name, text in _gpus(row, seen)]
    cores = [_core(name, value) for name, value in row.items() if name.startswith("core")]
    lines.append(f"cpu     {row.get('cpu_percent', 0.0):.0f} %")
    lines += ["        " + "".join(cores[at : at + _CORES_PER_LINE]) for at in range(0, len(cores), _CORES_PER_LINE)]
    return [*lines, f"memory  {_memory(row, seen)}", f"disk    {_disk(row)}"]


def line_of(row: Row, seen: Watch) -> str:
    """The same in one line."""
    cores = " ".join(f"{value:.0f}" for name, value in row.items() if name.startswith("core"))
    parts = [_clock(row), f"cpu {row.get('cpu_percent', 0.0):.0f} % ({cores})", f"memory {_memory(row, seen)}",
             f"disk {_disk(row)}", *(f"{name} {text}" for name, text in _gpus(row, seen))]  # fmt: skip
    return "  ".join([*parts, f"run {_run(row, seen)}"] if seen.tail else parts)


def _head(row: Row, seen: Watch) -> str:
    of = "" if seen.wanted_rows is None else f" of {seen.wanted_rows}"
    where = "" if seen.log_file is None else f", to {seen.log_file}"
    return f"{_clock(row)}  row {seen.rows}{of}{where}; Ctrl-C ends it with a summary"


def _clock(row: Row) -> str:
    return time.strftime("%H:%M:%S", time.localtime(row["time"]))


def _core(name: str, percent: float) -> str:
    filled = round(percent / 100 * _BAR)
    return f"{name.removesuffix('_percent'):<7}[{'#' * filled:<{_BAR}}]{percent:>4.0f} %  "


def _memory(row: Row, seen: Watch) -> str:
    if "available_bytes" not in row:
        return "unknown"
    whole = seen.machine.get("memory_bytes")
    swap = row.get("swap_used_bytes", 0.0)
    return (
        f"{_gb(row['available_bytes'])}{f' of {_gb(whole)}' if whole else ''} GB free"
        + (f", {_gb(swap)} GB swapped" if swap else "")
    )  # fmt: skip


def _disk(row: Row) -> str:
    if "disk_read_bytes_per_s" not in row:
        return "unknown"
    return f"{row['disk_read_bytes_per_s'] / 1e6:.1f} MB/s read, {row['disk_write_bytes_per_s'] / 1e6:.1f} written"


def _gpus(row: Row, seen: Watch) -> list[tuple[str, str]]:
    """One entry per card; none where there are none, which the machine's description has said once."""
    return [(f"gpu{n}", _gpu(card, row, f"gpu{n}.")) for n, card in enumerate(seen.machine.get("gpus") or [])]


def _gpu(card: dict[str, Any], row: Row, prefix: str) -> str:
    """What the driver tells of a card."""
    shown = {"utilisation_percent": "{:.0f} % used", "sm_activity_percent": "SM {:.0f} %", "power_watts": "{:.0f} W"}
    parts = [text.format(row[prefix + name]) for name, text in shown.items() if prefix + name in row]
    if prefix + "memory_used_bytes" in row:
        whole = card.get("memory_bytes")
        parts.append(_gb(row[prefix + "memory_used_bytes"]) + (f" of {_gb(whole)}" if whole else "") + " GB")
    if prefix + "pcie_in_bytes_per_s" in row and prefix + "pcie_out_bytes_per_s" in row:
        rates = (row[f"{prefix}pcie_{way}_bytes_per_s"] / 1e6 for way in ("in", "out"))
        parts.append("PCIe {:.0f} MB/s in, {:.0f} out".format(*rates))
    return ", ".join([card.get("name") or "GPU", *parts])


def _run(row: Row, seen: Watch) -> str:
    tail = seen.tail
    if tail is None or not tail.last or tail.age_seconds is None:
        return "no step yet"
    last = tail.last
    line = (
        f"step {last['step']}, data {last['data_ms']:.1f} ms + compute {last['compute_ms']:.1f} ms, "
        f"stall {last['stall_percent']:.1f} %, {last['utterances_per_s']:.1f} utt/s"
    )
    if tail.ranks is not None:
        slow = "none slower" if tail.ranks.straggler is None else f"{tail.ranks.straggler} slowest"
        line += f", {len(tail.ranks.data_ms)} devices ({slow}), exchange {tail.ranks.exchange_ms:.1f} ms"
    quiet = tail.age_seconds if "step" not in row else 0.0
    return f"no step for {quiet:.0f} s; {line}" if quiet > _QUIET_SECONDS else line  # first: lines are cut


def _gb(count: float) -> str:
    return f"{count / 2**30:.1f}"


def summary_of(seen: Watch) -> str:
    """The table at the end."""
    if not seen.rows:
        return "nothing was watched: it was stopped before the first row"
    lines = [f"{'summary of ' + str(seen.rows) + ' rows':<34}{'min':>14}{'mean':>14}{'max':>14}{'p95':>14}"]
    for name, quantity in seen.quantities.items():
        unit, scale = _unit(name)
        values = quantity.to_dict()
        figures = "".join(f"{values[key] / scale:>14,.1f}" for key in ("min", "mean", "max", "p95"))
        lines.append(f"{unit:<34}{figures}")
    if seen.log_file is not None:
        lines.append(f"every row is in {seen.log_file}")
    return "\n".join(lines)


def _unit(name: str) -> tuple[str, float]:
    """How a quantity is shown, and by what its values are divided: bytes as GB, bytes a second as MB."""
    if name.endswith("_bytes_per_s"):
        return name.replace("_bytes_per_s", " MB/s").replace("_", " "), 1e6
    if name.endswith("_bytes"):
        return name.removesuffix("_bytes").replace("_", " ") + " GB", 2.0**30
    for ending, unit in (("_percent", " %"), ("_ms", " ms"), ("_watts", " W"), ("_per_s", " /s")):
        if name.endswith(ending):
            return name.removesuffix(ending).replace("_", " ") + unit, 1.0
    return name, 1.0
