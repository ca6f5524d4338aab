"""The card with what a run sounds and looks like: its last samples, and those of before; spectrograms, alignments."""

from __future__ import annotations

from pathlib import Path

from myxtts.report.markup import Markup, tag
from myxtts.report.media import Medium, first_and_last_clips, last_pictures
from myxtts.report.page import card
from myxtts.report.wording import count


def spoken_card(run: Path) -> Markup:
    clips, (pictures, left_out) = first_and_last_clips(run), last_pictures(run)
    if not clips and not pictures:
        return card("What it sounds like", tag("p", "No samples yet (training.sample_steps)."))
    sentences = list(
        dict.fromkeys([clip.name for clip in clips] + [picture.name.partition("/")[0] for picture in pictures])
    )
    columns = [
        tag(
            "div",
            tag("h3", sentence),
            *(_heard(clip) for clip in clips if clip.name == sentence),
            *(_seen(picture) for picture in reversed(pictures) if picture.name.partition("/")[0] == sentence),
        )
        for sentence in sentences
    ]
    missing = (
        tag("p", f"{left_out} more pictures are too large for this page: see them in TensorBoard.", class_="note")
        if left_out
        else None
    )
    before = " Before: the model that it starts from." if any(clip.step == 0 for clip in clips) else ""
    return card(
        "What it sounds and looks like",
        tag("div", *columns, class_="grid"),
        missing,
        note=f"The last samples of the run, spoken with the averaged weights.{before}",
    )


def _heard(clip: Medium) -> Markup:
    when = f"at step {count(clip.step)}" if clip.step else "before the training"
    sound = tag("audio", src=clip.source, controls="", preload="metadata", aria_label=f"{clip.name} {when}")
    return tag("figure", sound, tag("figcaption", when))


def _seen(picture: Medium) -> Markup:
    what = picture.name.partition("/")[2] or picture.name
    alt = f"{picture.name}: mel spectrograms, low tones at the bottom, time to the right"
    if "alignment" in what:
        alt = f"{picture.name}: which symbol (upwards) each frame (to the right) belongs to; speech draws a stair"
    return tag(
        "figure", tag("img", src=picture.source, alt=alt), tag("figcaption", f"{what}, step {count(picture.step)}")
    )
