"""A text that comes again is not worked out again, and no more than 10,000 are kept."""

import threading

import pytest

from myxtts.errors import RowError
from myxtts.features import text as room
from myxtts.features.recent import MOST_TEXTS, RecentTexts
from myxtts.features.text import TextFrontend
from myxtts.monitor import start_monitor


@pytest.fixture
def frontend(monkeypatch):
    """(a front end for characters, the texts that it had to work out)"""
    worked, real = [], room._characters
    monkeypatch.setattr(room, "_characters", lambda text, language: worked.append(text) or real(text, language))
    return TextFrontend(kind="characters", normalise=False), worked


def test_a_repeated_text_is_worked_out_once_and_counted(frontend):
    front, worked = frontend
    monitor = start_monitor()
    first = front.symbols(["one", "two", "one"], "en")
    again = front.symbols(["two", "one"], "en")
    assert worked == ["one", "two"]
    assert first == [*again[::-1], again[1]]
    assert (monitor.counters["text.hits"], monitor.counters["text.misses"]) == (3, 2)


def test_the_same_text_in_another_language_is_another_text():
    front = TextFrontend(kind="characters", bos=False, eos=False)
    assert front.symbols(["TITI"], "en") == [list("titi")]
    assert front.symbols(["TITI"], "tr") == [list("tıtı")]


def test_what_was_kept_cannot_be_changed_from_outside(frontend):
    front, _ = frontend
    front.symbols(["one"], "en")[0].append("x")
    assert "x" not in front.symbols(["one"], "en")[0]


def test_a_text_with_nothing_to_say_is_told_each_time(frontend):
    front, worked = frontend
    for _ in range(2):
        (symbols,) = front.symbols(["..."], "en")
        assert isinstance(symbols, RowError)
    assert len(worked) == 2


def test_the_last_ten_thousand_are_kept_and_the_least_recently_used_goes_first(frontend):
    front, worked = frontend
    texts = [f"text {n}" for n in range(MOST_TEXTS)]
    assert MOST_TEXTS == 10_000
    front.symbols(texts, "en")
    front.symbols(texts[:1], "en")  # the oldest is used, so the second oldest is now the first to go
    front.symbols(["one more"], "en")
    worked.clear()
    front.symbols([texts[0], "one more", texts[1]], "en")
    assert worked == [texts[1]]
    assert len(front._recent) == MOST_TEXTS


def test_many_threads_share_it():
    recent = RecentTexts(most=50)

    def work(seed):
        for n in range(2000):
            text = str((n * seed) % 70)
            assert recent.look_up([text], "en", lambda new: [list(each) for each in new]) == [list(text)]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 3, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recent) == 50
