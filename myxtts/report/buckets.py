"""Shapes and padding: how long the batches are, who is in them, and how much of them is real."""

from __future__ import annotations

from typing import Any

import numpy as np

from myxtts.features.mel import HOP_SAMPLES, SAMPLE_RATE
from myxtts.report.axes import Scale
from myxtts.report.charts import figure, legend, share_bar
from myxtts.report.markup import Markup, join, tag
from myxtts.report.page import card, table
from myxtts.report.wording import NBSP, count, ms, share

_WIDTH, _HEIGHT = 460.0, 190.0
_LEAST = 7.0  # pixels, so that a bucket of few utterances is seen
_SECONDS = HOP_SAMPLES / SAMPLE_RATE


def bucket_card(feed: dict[str, Any], steps: dict[str, Any]) -> Markup:
    """From what a feed says about itself and, where there are some, the steps that were made."""
    buckets = [bucket for each in feed.get("tables", []) for bucket in each.get("buckets", [])]
    useful = feed.get("useful_frame_share")
    if not buckets or useful is None:
        return join([])
    buckets = sorted(buckets, key=lambda bucket: bucket["frames"])
    note = (
        f"{share(useful)} of all frames in batches are real, {share(1 - useful)} padding, with {len(buckets)} shapes."
    )
    parts = [tag("div", _picture(buckets), legend(_LEGEND)), tag("div", _bucket_table(buckets, steps))]
    return card(
        "Buckets and padding",
        share_bar({"real frames": useful, "padding": 1 - useful}),
        tag("div", *parts, class_="grid"),
        note=note,
    )


_LEGEND = [("work", "always real"), ("work-soft", "real or padding: as long as the utterance is")]


def _picture(buckets: list[dict[str, Any]]) -> Markup:
    """A bar per bucket: as long as its frames, as thick as its utterances; pale where padding may be."""
    x = Scale(0, float(buckets[-1]["frames"]), 0, _WIDTH - 70)
    everyone = sum(bucket["utterances"] for bucket in buckets) or 1
    gap = 2.0
    room = _HEIGHT - len(buckets) * (_LEAST + gap)
    top, shorter, marks = 0.0, 0, []
    for bucket in buckets:
        thick = _LEAST + max(room, 0.0) * bucket["utterances"] / everyone
        words = f"{count(bucket['utterances'])} utterances of {count(shorter + 1)} to {count(bucket['frames'])} frames"
        certain, end = x(shorter), x(bucket["frames"])
        label = f"{bucket['frames'] * _SECONDS:.1f}{NBSP}s"
        marks += [
            tag("rect", x=0, y=top, width=certain, height=thick, class_="work"),
            tag("rect", x=certain, y=top, width=end - certain, height=thick, class_="work-soft"),
            tag("text", label, x=end + 6, y=top + thick / 2 + 4) if thick >= 12 or len(buckets) <= 8 else None,
            tag("rect", tag("title", words), x=0, y=top, width=end, height=thick, class_="hover"),
        ]
        top, shorter = top + thick + gap, bucket["frames"]
    alt = f"{len(buckets)} buckets up to {count(buckets[-1]['frames'])} frames; the table has their numbers"
    return figure(_WIDTH, max(top, 20.0), alt, *marks)


def _bucket_table(buckets: list[dict[str, Any]], steps: dict[str, Any]) -> Markup:
    rows = []
    for bucket in buckets:
        own = steps["frames"] == bucket["frames"] if steps else np.array([], bool)
        seen = int(own.sum())
        time = ms(float(np.median(steps["compute_ms"][own]))) if seen else None
        rows.append(
            (
                count(bucket["frames"]),
                count(bucket["utterances"]),
                count(bucket["batch"]),
                count(seen) if steps else None,
                time,
            )
        )
    return table(["frames", "utterances", "batch", "steps", "computing"], rows, id="buckets")
