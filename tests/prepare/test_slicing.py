"""Cuts lie in pauses, slices have 1 to 15 s, and every second is in one stretch with a name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myxtts.prepare.activity import WINDOW_SECONDS
from myxtts.prepare.slicing import LONGEST, REASONS, SHORTEST, SLICE, cut, inner_pauses
from myxtts.prepare.windows import Windows

SPEECH, QUIET = -20.0, -70.0


def windows_of(*parts, **columns):
    """parts: (seconds, is it speech, level)"""
    counts = [round(seconds / WINDOW_SECONDS) for seconds, *_ in parts]
    speech = np.concatenate(
        [np.full(n, 0.95 if voiced else 0.02) for n, (_, voiced, _) in zip(counts, parts, strict=True)]
    )
    level = np.concatenate([np.full(n, level) for n, (_, _, level) in zip(counts, parts, strict=True)])
    music, clipped = (columns.get(name, np.zeros(len(speech))) for name in ("music", "clipped"))
    arrays = (np.asarray(column, np.float32) for column in (speech, level, music, clipped))
    return Windows(*arrays, len(speech) * WINDOW_SECONDS)


def talk(*seconds, pause=0.6):
    parts = [(0.5, False, QUIET)]
    for each in seconds:
        parts += [(each, True, SPEECH), (pause, False, QUIET)]
    return parts


def kinds(stretches):
    return [stretch.kind for stretch in stretches]


def slices(stretches):
    return [stretch for stretch in stretches if stretch.kind == SLICE]


PARTS = st.tuples(st.floats(0.04, 20.0) | st.floats(0.04, 0.6), st.booleans(), st.sampled_from([-75.0, -40.0, -20.0]))


@given(st.lists(PARTS, max_size=30))
def test_every_second_is_in_one_stretch(parts):
    windows = windows_of((0.1, False, QUIET), *parts)
    stretches = cut(windows)
    assert stretches[0].start == 0.0
    assert stretches[-1].end == pytest.approx(windows.seconds)
    assert all(one.end == pytest.approx(other.start) for one, other in zip(stretches, stretches[1:], strict=False))
    assert all(one.kind == SLICE or one.kind in REASONS for one in stretches)
    for one in slices(stretches):
        assert SHORTEST <= one.seconds <= LONGEST
        edges = [round(one.start / WINDOW_SECONDS), round(one.end / WINDOW_SECONDS)]
        assert all(windows.speech[max(at - 1, 0) : at + 1].min() < 0.5 for at in edges if 0 < at < len(windows))


def test_a_sentence_is_a_slice():
    sentences = slices(cut(windows_of(*talk(3.0, 4.0, 5.0))))
    assert [round(one.seconds, 1) for one in sentences] == pytest.approx([3.4, 4.4, 5.4], abs=0.1)


def test_short_pauses_stay_inside_and_long_ones_do_not():
    inside = windows_of(*talk(2.0, 2.0, 2.0, pause=0.25))
    assert len(slices(cut(inside))) == 1
    assert len(slices(cut(windows_of(*talk(2.0, 2.0, 2.0, pause=1.3))))) == 3


def test_the_pauses_of_a_slice_are_not_spoken():
    (one,) = slices(cut(windows_of(*talk(1.0, 1.0, 1.0, pause=0.5))))
    assert one.spoken_seconds == pytest.approx(3.0, abs=0.1)
    assert one.seconds == pytest.approx(4.4, abs=0.1)


def test_slices_at_a_short_pause_do_not_overlap():
    one, other = slices(cut(windows_of(*talk(9.0, 9.0, pause=0.2))))
    assert 0 <= other.start - one.end <= WINDOW_SECONDS * 1.01
    assert 9.5 + 0.05 < one.end < 9.5 + 0.15


def test_a_slice_is_cut_in_an_inner_pause_where_that_is_asked_for():
    windows = windows_of(*talk(3.0, 3.0, 3.0, pause=0.25))
    (whole,) = slices(cut(windows))
    first, second = inner_pauses(whole, windows)
    assert (first, second) == pytest.approx((3.62, 6.87), abs=0.05)
    one, other = slices(cut(windows, [second]))
    assert (whole.start, whole.end) == (one.start, other.end)
    assert one.end == pytest.approx(second, abs=0.05)


def test_a_short_word_goes_with_its_neighbour():
    stretches = cut(windows_of(*talk(0.5, 3.0, pause=0.5)))
    assert len(slices(stretches)) == 1
    assert "too_short" not in kinds(stretches)


def test_speech_without_a_pause_is_named():
    stretches = cut(windows_of(*talk(20.0, 3.0)))
    assert kinds(stretches).count("no_pause") == 1
    assert len(slices(stretches)) == 1


def test_a_lone_short_word_is_named():
    assert "too_short" in kinds(cut(windows_of(*talk(0.3, 3.0, pause=2.5))))


def test_loud_stretches_without_speech_are_named():
    noise = windows_of(*talk(3.0), (4.0, False, -18.0), *talk(3.0))
    assert kinds(cut(noise)).count("noise") == 1
    music = np.where(noise.level_db == -18.0, 0.9, 0.1)
    stretches = cut(windows_of(*talk(3.0), (4.0, False, -18.0), *talk(3.0), music=music))
    assert kinds(stretches).count("music") == 1
    assert "noise" not in kinds(stretches)
    assert len(slices(stretches)) == 2


def test_what_is_clipped_noisy_or_over_music_is_left_out():
    parts = talk(3.0, 4.0)
    count = len(windows_of(*parts))
    middle = np.arange(count) * WINDOW_SECONDS > 4.0  # from the pause on
    assert kinds(cut(windows_of(*parts, clipped=np.where(middle, 5, 0)))).count("clipped") == 1
    assert kinds(cut(windows_of(*parts, music=np.where(middle, 0.9, 0.1)))).count("music") == 1
    noisy = windows_of((0.5, False, -26.0), (3.0, True, SPEECH), (0.5, False, -26.0))
    assert "noisy" in kinds(cut(noisy))
    assert slices(cut(noisy)) == []


def test_silence_has_nothing_but_silence():
    assert kinds(cut(windows_of((5.0, False, -90.0)))) == ["silence"]
    assert kinds(cut(windows_of((1.0, False, -90.0)))) == ["pause"]


def test_windows_are_kept_as_they_are(tmp_path):
    windows = windows_of(*talk(2.0))
    windows.save(tmp_path / "x.npy")
    again = Windows.load(tmp_path / "x.npy")
    assert again.seconds == pytest.approx(windows.seconds)
    assert np.array_equal(again.level_db, windows.level_db)
