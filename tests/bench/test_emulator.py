"""The emulated accelerator: its definition on exact clocks, and its controls on the real one (no timed assertions)."""

import itertools

import numpy as np
import pytest

from myxtts.bench import emulator


class FakeClock:
    """Named a fake: time that passes only by sleeping and producing, so that the definition can be checked exactly."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = FakeClock()
    monkeypatch.setattr(emulator, "time", clock)
    return clock


def loader(clock, cost_ms):
    for n in itertools.count():
        clock.now += cost_ms(n) / 1e3
        yield n


@pytest.mark.parametrize(("cost", "expected"), [(0.0, 1.0), (10.0, 0.5), (30.0, 0.25)])
def test_au_is_nominal_step_time_over_wall(clock, cost, expected):
    emulated = emulator.emulate(loader(clock, lambda n: cost), 10.0, 50)
    assert emulated.au == pytest.approx(expected)
    assert emulated.jitter == pytest.approx(0.0, abs=1e-9)


def test_warm_up_is_excluded(clock):
    emulated = emulator.emulate(loader(clock, lambda n: 1000.0 if n < emulator.WARM_UP_STEPS else 0.0), 10.0, 20)
    assert emulated.au == pytest.approx(1.0)


def test_jitter_and_tail_show_an_uneven_loader(clock):
    emulated = emulator.emulate(loader(clock, lambda n: 100.0 if n % 10 == 0 else 0.0), 10.0, 100)
    assert emulated.jitter > 0.5
    assert emulated.tail == pytest.approx(11.0)
    assert len(emulated.interval_ms) == 100


def test_break_even_is_where_the_loader_keeps_up(clock):
    """A loader that needs 5 ms and does not overlap reaches 90 % at 45 ms per step."""
    break_even = emulator.break_even_ms(loader(clock, lambda n: 5.0), 0.5, 500.0)
    assert 45.0 <= break_even <= 45.0 * 1.16


def test_a_loader_that_never_keeps_up_has_no_break_even(clock):
    assert emulator.break_even_ms(loader(clock, lambda n: 30.0), 1.0, 4.0) == float("inf")


def test_controls_on_the_real_clock():
    """How near they come to what they must show is for `make bench` on a quiet machine to say."""
    controls = emulator.run_controls(1.0, 10)
    assert 0 < controls.throttled_au <= 1.0
    assert 0 < controls.resident_au <= 1.0
    assert controls.expected_au == 0.5


def test_a_throttled_loader_stops_its_thread():
    import threading

    producer = emulator.throttled("batch", 1.0)
    assert next(producer) == "batch"
    producer.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "myxtts-throttled"]
    assert np.isfinite(emulator.emulate(emulator.resident(1), 0.5, 5).au)
