import numpy as np
import pytest
from small_models import make_batch

from myxtts.evaluation.sharpness import sharpness
from myxtts.models.sharpness import sharpness_of


@pytest.fixture
def real() -> np.ndarray:
    return np.random.default_rng(3).normal(-5, 2, (300, 80)).astype(np.float32)


def test_the_recording_itself_is_as_sharp_as_itself(real):
    assert sharpness(real, real) == (1.0, 1.0)


def test_blur_across_frequency_shows_in_the_bins_most(real):
    blurred = (real[:, :-2] + real[:, 1:-1] + real[:, 2:]) / 3
    scores = sharpness(blurred, real[:, 1:-1])
    assert scores.bins < 0.4 < 0.5 < scores.time < 0.65


def test_slow_frames_have_less_spread_over_time(real):
    assert sharpness(0.5 * real, real) == pytest.approx((0.5, 0.5))
    assert sharpness(np.tile(real[:1], (300, 1)), real) == pytest.approx((0, 0), abs=1e-9)


def test_made_and_real_need_not_be_as_long(real):
    assert sharpness(np.tile(real, (2, 1)), real) == pytest.approx((1, 1), rel=1e-5)


def test_silence_as_the_recording_is_no_division_by_zero():
    silence = np.full((10, 80), -11.5, np.float32)
    assert sharpness(silence, silence) == pytest.approx((0, 0), abs=1e-6)


def test_tensorflow_agrees_and_leaves_padding_out(real):
    lengths, made = np.array([300, 120]), 0.7 * real[::-1]
    weight = (np.arange(300)[None] < lengths[:, None]).astype(np.float32)[..., None]
    scores = sharpness_of(np.stack([made, made]), np.stack([real, real]), weight)
    whole, part = ((made[:n], real[:n]) for n in lengths)
    for name, spread in {
        "sharpness_bins": lambda mel: np.diff(mel, axis=1).std(axis=0).mean(),
        "sharpness_time": lambda mel: mel.std(axis=0).mean(),
    }.items():
        sums = [lengths @ [spread(whole[side]), spread(part[side])] for side in (0, 1)]
        assert float(scores[name]) == pytest.approx(sums[0] / sums[1], rel=1e-5)


def test_a_validation_measures_it(model):
    measured = model.validation_of(make_batch())
    assert 0 < float(measured["sharpness_bins"]) < 1
    assert 0 < float(measured["sharpness_time"]) < 1
