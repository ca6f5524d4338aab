"""Three of the gallery's cases, live: the measuring is shortened, so only the cause is asserted."""

import gallery
import pytest

from myxtts.performance.diagnose import diagnose

LIVE = ("Python function inside interleave", "no prefetch", "shapes retrace")


@pytest.mark.usefixtures("briefly")
@pytest.mark.parametrize("name", LIVE)
def test_the_cause_is_found_live(name, tmp_path):
    case = gallery.CASES[name]
    assert diagnose(*case.sick(tmp_path)).verdict == case.cause


def test_a_recording_is_rounded():
    assert gallery.rounded({"a": [1 / 3, 12345.678], "b": True, "c": None, "d": "x", "e": 7}) == {
        "a": [0.3333, 12350.0], "b": True, "c": None, "d": "x", "e": 7,
    }  # fmt: skip
