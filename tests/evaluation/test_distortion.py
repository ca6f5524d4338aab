"""Distances that can be worked out: none to itself, that of a shifted envelope, and a slower copy that is the same."""

import numpy as np
import pytest
from corpora import write_tone

from myxtts.evaluation.clip import Clip
from myxtts.evaluation.distortion import Distortion, distortion, warp
from myxtts.features.audio import read_audio, to_float
from myxtts.features.mel import log_mel


@pytest.fixture
def tone(tmp_path) -> np.ndarray:
    write_tone(tmp_path / "a.wav", 1.0)
    return to_float(read_audio(tmp_path / "a.wav")[0])


def test_the_recording_is_no_distance_from_itself(tone):
    mel = log_mel(tone)
    scores = distortion(mel, mel)
    assert scores["mcd_db"] == scores["voicing_error"] == scores["pitch_error"] == 0.0


def test_an_envelope_that_differs_by_a_cosine_is_as_far_as_its_root_mean_square(tone):
    mel = log_mel(tone)
    wave = 0.3 * np.cos(np.pi * 3 * (np.arange(80) + 0.5) / 80)  # a cosine of the transform itself
    scores = distortion(mel + wave, mel)
    assert scores["mcd_db"] == pytest.approx(20 / np.log(10) * 0.3 / np.sqrt(2), rel=0.02)
    assert distortion(mel + 1.0, mel)["mcd_db"] == pytest.approx(0.0, abs=1e-5)  # louder is no other envelope


def test_time_warping_pairs_a_slower_copy_frame_by_frame():
    frames = np.random.default_rng(1).normal(size=(40, 5))
    first, second = warp(np.repeat(frames, 2, axis=0), frames)
    assert (first // 2 == second).all()
    assert (first[0], second[0], first[-1], second[-1]) == (0, 0, 79, 39)


def steady(hertz: float) -> np.ndarray:
    phase = 2 * np.pi * hertz * np.arange(22050) / 22050
    return sum(0.1 * np.sin(n * phase) for n in range(1, int(8000 / hertz))).astype(np.float32)


def test_a_higher_pitch_is_told_in_semitones():
    scores = Distortion()(Clip("a", {"synthetic": steady(200 * 2 ** (2 / 12))[:16000], "real": steady(200)}))
    assert scores["pitch_error"]["synthetic"] == pytest.approx(2.0, abs=0.1)
    assert scores["duration_ratio"]["synthetic"] == pytest.approx(16000 / 22050, abs=0.02)
    assert scores["duration_error"]["synthetic"] == pytest.approx(1 - 16000 / 22050, abs=0.02)


@pytest.mark.parametrize("hertz", [90, 200, 310])
@pytest.mark.parametrize("semitones", [-2, 0, 3])
def test_of_another_text_only_the_pitch_is_compared(hertz, semitones):
    sounds = {"synthetic": steady(hertz * 2 ** (semitones / 12))[:9000], "real": steady(hertz)}
    scores = Distortion()(Clip("a", sounds, same_text=False))
    assert scores == {"pitch_away": {"synthetic": pytest.approx(abs(semitones), abs=0.2)}}


def test_what_has_no_pitch_is_not_away_from_one(tone):
    noise = np.random.default_rng(1).normal(0, 0.1, 9000).astype(np.float32)
    for sounds in ({"synthetic": noise, "real": tone}, {"synthetic": tone, "real": noise}):
        assert Distortion()(Clip("a", sounds, same_text=False)) == {}
