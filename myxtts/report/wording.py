"""How a report writes numbers: few digits, a unit, never more certain than they are."""

from __future__ import annotations

import math
import time

NBSP = "\u00a0"  # a number and its unit stay on one line


def share(value: float) -> str:
    """0.617 is 62 %, 0.034 is 3.4 %; almost all is not 100 %, and almost nothing is not 0 %."""
    if 0 < value < 0.001:
        return f"<{NBSP}0.1{NBSP}%"
    if 0.999 < value < 1:
        return f">{NBSP}99.9{NBSP}%"
    digits = 1 if value < 0.0995 or value >= 0.99 else 0
    return f"{100 * value:.{digits}f}".removesuffix(".0") + f"{NBSP}%"


def said_share(value: float) -> str:
    """The same within a sentence."""
    return share(value).replace("<", "less than").replace(">", "more than")


def ms(value: float) -> str:
    return f"{number(value)}{NBSP}ms" if value < 10_000 else f"{number(value / 1e3)}{NBSP}s"


def number(value: float) -> str:
    """Three significant digits, two of small ones, whole from 100 on, thousands apart."""
    if not math.isfinite(value):
        return "not finite"
    if value == 0 or abs(value) >= 99.95:
        return f"{value:,.0f}"
    if abs(value) < 0.001:
        return f"{value:.1e}".replace("e-0", "e-")
    digits = 2 if abs(value) >= 0.1 else 1
    return f"{value:.{max(digits - math.floor(math.log10(abs(value) * 1.0005)), 0)}f}"


def plain(value: float) -> str:
    """For axes: no more digits than it has."""
    if value == 0 or abs(value) >= 1e-4:
        return f"{value:,.6f}".rstrip("0").rstrip(".")
    return f"{value:.0e}".replace("e-0", "e-")


def count(value: float) -> str:
    return f"{value:,.0f}"


def times(gain: float) -> str:
    """2.34 is 2.3×, 23.4 is 23×."""
    return f"{gain:.1f}×" if gain < 9.95 else f"{gain:,.0f}×"


def size(value: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= factor:
            return f"{number(value / factor)}{NBSP}{unit}"
    return f"{value:.0f}{NBSP}B"


def duration(seconds: float) -> str:
    """8 s, 7 min 30 s, 61 h 5 min."""
    whole = round(max(seconds, 0.0))
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    if hours:
        return f"{hours:,}{NBSP}h {minutes}{NBSP}min"
    return f"{minutes}{NBSP}min {rest}{NBSP}s" if minutes else f"{rest}{NBSP}s"


def moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
