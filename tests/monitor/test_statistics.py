"""Percentiles against numpy's and by hand; the oscillation detector on what it must find and must not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.monitor.statistics import column_ranges, columns_of, hit_shares, oscillation, step_statistics

NOISE = {
    "normal": lambda random, n: 10 + random.normal(size=n),
    "exponential": lambda random, n: random.exponential(size=n),
    "lognormal": lambda random, n: random.lognormal(0, 1.5, n),
    "cauchy": lambda random, n: np.abs(random.standard_cauchy(n)),
    "now and then slow": lambda random, n: np.where(random.random(n) < 0.05, 50.0, 10.0) + random.normal(size=n) / 10,
    "buckets in random order": lambda random, n: random.choice([3.0, 4.0, 5.0, 7.0, 9.0, 12.0], n),
    "random walk": lambda random, n: 100 + random.normal(size=n).cumsum(),
    "slower from some step on": lambda random, n: random.normal(size=n) + 5 * (np.arange(n) > random.integers(n)),
    "slow start": lambda random, n: random.normal(size=n) + 1000 * (np.arange(n) < 3),
}


@pytest.mark.parametrize("kind", NOISE)
def test_noise_is_no_oscillation(kind):
    series = [NOISE[kind](np.random.default_rng(seed), n) for n in (24, 60, 200, 1000) for seed in range(250)]
    patterns = [each for each in map(oscillation, series) if each is not None]
    assert len(patterns) < 10, patterns  # of 1,000


@pytest.mark.parametrize("period", [2, 3, 8, 13, 50])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_every_nth_step_slow(period, noise):
    for seed in range(20):
        random = np.random.default_rng(seed)
        slow = (np.arange(1000) + random.integers(period)) % period == 0
        pattern = oscillation(10 + 5 * slow + noise * random.normal(size=1000))
        assert pattern is not None
        assert pattern[0] == period
        assert 0.25 < pattern[1] <= 1.0


@pytest.mark.parametrize("period", [5, 8, 20, 60])
def test_a_wave(period):
    for seed in range(20):
        random = np.random.default_rng(seed)
        wave = 2 * np.sin(2 * np.pi * np.arange(1000) / period + random.uniform(0, 6))
        pattern = oscillation(10 + wave + 0.3 * random.normal(size=1000))
        assert pattern is not None
        assert abs(pattern[0] - period) <= max(period // 16, 0)


def test_a_buffer_that_runs_dry_in_a_short_record():
    assert oscillation(([1.0] * 12 + [30.0] * 4) * 6)[0] == 16


def test_with_a_slow_start_and_a_few_accidents():
    values = np.where(np.arange(200) % 8 == 0, 40.0, 5.0)
    values[0], values[57] = 20_000.0, 3_000.0
    assert oscillation(values)[0] == 8


def test_strength_is_the_share_of_the_variance_that_comes_back():
    random = np.random.default_rng(0)
    wave = np.sqrt(2) * np.sin(2 * np.pi * np.arange(1000) / 20)  # variance 1, as much as the noise
    assert oscillation(10 + wave + random.normal(size=1000))[1] == pytest.approx(0.5, abs=0.1)
    assert oscillation(10 + wave)[1] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0] * 11, [7.3] * 500, np.zeros(100), [1.0, float("nan")] * 50])
def test_too_few_constant_or_broken_values_have_no_period(values):
    assert oscillation(values) is None


@settings(max_examples=100)
@given(st.lists(st.floats(0, 1e6), min_size=24, max_size=200))
def test_any_series_gives_none_or_a_period_that_fits_four_times(values):
    pattern = oscillation(values)
    if pattern is not None:
        assert 2 <= pattern[0] <= len(values) // 4
        assert 0.25 <= pattern[1] <= 1.0


def test_step_statistics_by_hand():
    numbers = step_statistics([(1.0, 3.0, 10), (3.0, 3.0, 10)])
    assert numbers["steps"] == 2
    assert numbers["stall"] == pytest.approx(0.4)
    assert numbers["utterances_per_second"] == pytest.approx(2000.0)
    assert numbers["data_ms"] == pytest.approx({"mean": 2.0, "jitter": 0.5, "p50": 2.0, "p95": 2.9, "p99": 2.98})
    assert numbers["compute_ms"]["jitter"] == 0.0
    assert numbers["total_ms"]["mean"] == 5.0
    assert numbers["oscillation"] is None


def test_no_steps_and_steps_of_no_time():
    assert step_statistics([])["total_ms"]["p99"] == 0.0
    assert step_statistics([(0.0, 0.0, 4)] * 3)["stall"] == 0.0


def test_hit_shares():
    counters = {"text_cache.hits": 3, "text_cache.misses": 1, "maps.misses": 2, "loader.mapped": 1}
    assert hit_shares(counters) == {"text_cache": 0.75, "maps": 0.0}


def test_columns_leave_out_lists_and_keep_their_length_when_a_reading_ends():
    samples = [{"at": 1.0, "power": 100.0, "cores": [1, 2]}, {"at": 2.0, "power": 300.0}, {"at": 3.0}]
    assert columns_of(samples, 10) == {"at": [1.0, 2.0, 3.0], "power": [100.0, 300.0, None]}
    assert columns_of(samples, 2) == {"at": [1.5, 3.0], "power": [200.0, None]}
    assert column_ranges(samples) == {"power": {"mean": 200.0, "min": 100.0, "max": 300.0}}
    assert columns_of([], 10) == column_ranges([]) == {}
