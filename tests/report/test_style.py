"""The style sheet: readable in both schemes, and whole."""

import re

import pytest

from myxtts.report.style import CSS


def schemes():
    light = dict(re.findall(r"--([\w-]+): (#\w{6})", CSS.split("@media screen")[0]))
    return {"light": light, "dark": light | dict(re.findall(r"--([\w-]+): (#\w{6})", CSS.split("@media screen")[1]))}


def luminance(colour):
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_and_bars_be_seen(scheme):
    colours = schemes()[scheme]
    for ground in ("page", "card"):
        for text in ("text", "muted", "good", "warn", "bad"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for shape in ("work", "wait", "other"):
            assert contrast(colours[shape], colours[ground]) >= 3.0, (shape, ground)


def test_every_colour_that_is_used_is_defined():
    assert set(re.findall(r"var\(--([\w-]+)\)", CSS)) <= set(schemes()["light"])
    assert CSS.count("{") == CSS.count("}")
