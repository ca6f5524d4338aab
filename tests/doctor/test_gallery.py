"""The gallery of sick pipelines is run by `make bench`; what it records is replayed in `test_diagnose.py`."""

import gallery

from myxtts.doctor.causes import VERDICTS


def test_every_case_has_a_cause_of_the_vocabulary():
    assert {case.cause for case in gallery.CASES.values()} <= set(VERDICTS)


def test_a_recording_is_rounded():
    assert gallery.rounded({"a": [1 / 3, 12345.678], "b": True, "c": None, "d": "x", "e": 7}) == {
        "a": [0.3333, 12350.0], "b": True, "c": None, "d": "x", "e": 7,
    }  # fmt: skip
