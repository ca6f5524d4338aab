"""The page of an evaluation: one harmless file with every number, and sound and pictures inside it."""

import numpy as np
from test_report import EVIL, assert_harmless

from myxtts.report.evaluation import Heard, write_evaluation

SCORES = {"distillmos": {"synthetic": 2.5, "copy": 3.9, "real": 4.5}, "mcd_db": {"synthetic": 2.64, "copy": 0.74}}
PNG = b"\x89PNG\r\n"


def evaluation(**more):
    row = {"text": "One.", "scores": SCORES}
    return {"sentences": 1, "scores": SCORES, "missing": {}, "notes": {}, "rows": [row]} | more


def test_the_page_holds_every_number_sound_and_picture(tmp_path):
    sounds = {kind: np.sin(np.arange(22050 * 20) / 9).astype(np.float32) for kind in ("synthetic", "copy", "real")}
    clip = Heard("One.", "anna", sounds, dict.fromkeys(sounds, PNG), {"synthetic": "won"})
    write_evaluation(tmp_path / "a.html", "runs/a", evaluation(), [clip], PNG, "2 voices of other languages")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert_harmless(text)
    for number in ("2.50", "3.90", "4.50", "2.64", "0.74", "heard: won", "higher is better"):
        assert number in text
    assert "2 voices of other languages" in text
    assert text.count("data:audio/mpeg") == 3
    assert text.count("data:image/png") == 4
    assert len(text) < 700_000  # of 20 s the first 12 are taken along


def test_a_voice_of_before_stands_first(tmp_path):
    sounds = dict.fromkeys(("synthetic", "copy", "real", "before"), np.zeros(2000, np.float32))
    scores = {"distillmos": SCORES["distillmos"] | {"before": 3.3}}
    judged = evaluation(scores=scores, before=EVIL)
    write_evaluation(tmp_path / "a.html", "runs/a", judged, [Heard("One.", "anna", sounds, {}, {})])
    page = assert_harmless((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert "beforespokencopyreal" in page.text["judges"]
    assert "3.302.503.904.50" in page.text["judges"]
    labels = [value for element, name, value in page.attributes if (element, name) == ("audio", "aria-label")]
    assert labels == ["before: One.", "spoken: One.", "copy: One.", "real: One."]


def test_a_number_that_nobody_gave_is_a_dash_and_a_note_says_why(tmp_path):
    write_evaluation(tmp_path / "a.html", "runs/a", evaluation(notes={"similarity": "one clip"}), [])
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "\u2013" in text
    assert "similarity to the same speaker: one clip" in text


def test_texts_from_outside_are_escaped(tmp_path):
    clip = Heard(EVIL, EVIL, {"real": np.zeros(2000, np.float32)}, {}, {"real": EVIL})
    hostile = evaluation(missing={"dnsmos": EVIL}, rows=[{"text": EVIL, "scores": SCORES}])
    write_evaluation(tmp_path / "a.html", EVIL, hostile, [clip])
    assert_harmless((tmp_path / "a.html").read_text(encoding="utf-8"))
