"""Where the first steps wait for data, better settings of the feed are looked for on the steps that follow.

No clock: what a step takes is worked out from the settings that it has.
"""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from corpora import write_corpus
from small_data import small_config
from stand_in import build_stand_in

from myxtts.cache.reader import Cache
from myxtts.config.config import DataConfig, XTTSConfig, load
from myxtts.data.ljspeech import LJSpeechDataset
from myxtts.data.pipeline import Feed
from myxtts.data.tuples import feed_behind
from myxtts.training import feed_search, feed_tuning, remembered, trainer
from myxtts.training.feed_search import Measured, candidates, first_steps, search_feed
from myxtts.training.run_log import read_log
from myxtts.training.step import Step
from myxtts.training.trainer import XTTSTrainer

COMPUTE_MS = 10.0
STALLED = Measured(0.5, 10.0, 400.0)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    return tmp_path / "user-cache" / "myxtts" / "tuned"


def run_search(search, wait_ms):
    """Lets a search run over steps whose waits are a function of their settings; (outcome, settings in turn, steps)."""
    tried, settings, steps = [], {}, 0
    change = next(search)
    while True:
        if change is not None:
            settings = change
            tried.append(change)
        steps += 1
        try:
            change = search.send((wait_ms(settings), COMPUTE_MS))
        except StopIteration as end:
            return end.value, tried, steps


def test_steps_that_do_not_wait_are_left_alone():
    seen, tried, steps = run_search(first_steps(), lambda _: 0.5)
    assert (seen.stalled, tried, steps) == (False, [], 24)
    assert not run_search(first_steps(), lambda _: 1.05)[0].stalled  # 9.5 %
    assert run_search(first_steps(), lambda _: 2.0)[0].stalled


def test_a_hand_over_is_no_wait_however_short_the_step():
    assert not Measured(0.9, 0.9, 20.0).stalled


def test_the_first_thing_that_helps_enough_ends_the_search():
    ideas = candidates(DataConfig().filled({"num_workers": 2, "prefetch_buffer_size": 4}), 8, gpu=False)

    def waits(knobs):
        return 0.1 if "num_workers" in knobs else 10.0

    result, tried, steps = run_search(search_feed(ideas, STALLED), waits)
    assert result.settings == {"prefetch_buffer_size": 16, "num_workers": 8}
    assert (len(tried), steps) == (1, 16)
    assert (result.before, result.after) == (0.5, pytest.approx(0.1 / 10.1))


def test_ideas_are_tried_on_top_of_what_helped_a_little():
    ideas = [{"prefetch_buffer_size": 16}, {"num_workers": 8}, {"num_workers": 1}]
    waits = {(): 10.0, ("prefetch_buffer_size",): 5.0, ("num_workers", "prefetch_buffer_size"): 2.0}
    result, tried, _ = run_search(search_feed(ideas, STALLED), lambda knobs: waits[tuple(sorted(knobs))])
    assert tried == [ideas[0], ideas[0] | ideas[1], ideas[0] | ideas[2]]
    assert result.settings == ideas[0] | ideas[1]  # the third is no better than the second


def test_what_helps_nothing_is_not_kept():
    ideas = candidates(DataConfig(), 8, gpu=True)
    result, tried, _ = run_search(search_feed(ideas, STALLED), lambda _: 9.0)
    assert (result.settings, len(tried)) == ({}, len(ideas))


def test_the_search_ends_in_time_however_long_a_step_takes():
    ideas = [{"prefetch_buffer_size": n} for n in range(1, 60)]
    for wait_ms in (20.0, 2000.0):
        _, tried, steps = run_search(search_feed(ideas, STALLED), lambda _, wait_ms=wait_ms: wait_ms)
        settling = feed_search._SETTLING_STEPS + feed_search._LEAST_STEPS  # of the last trial
        assert steps * (wait_ms + COMPUTE_MS) <= 30_000 + settling * (wait_ms + COMPUTE_MS)
        assert len(tried) < 59 or wait_ms < 100


def test_what_was_given_by_hand_is_no_idea():
    given = load(preset="cpu", overrides=["data.num_workers=1", "data.prefetch_to_gpu=false"]).data
    keys = {key for idea in candidates(given, 8, gpu=True) for key in idea}
    assert keys == {"prefetch_buffer_size"}  # of the preset, which is where to begin
    assert candidates(DataConfig(num_workers=2, prefetch_buffer_size=4), 2, gpu=False) == []


# ---- in a run --------------------------------------------------------------------------------------------------------


class Waiting:
    """A clock that steps and batches move: a batch takes 30 ms unless at least eight are made ahead."""

    def __init__(self, monkeypatch):
        self.now, self.settings = 0.0, []
        batches, run = Feed.batches, Step.run
        waiting = self

        def slow(feed, *arguments, **options):
            waiting.settings.append(feed.data.prefetch_buffer_size)
            for batch in batches(feed, *arguments, **options):
                waiting.now += 0.03 if feed.data.prefetch_buffer_size < 8 else 0.0
                yield batch

        def step(own, *arguments):
            waiting.now += 0.01
            return run(own, *arguments)

        monkeypatch.setattr(Feed, "batches", slow)
        monkeypatch.setattr(Step, "run", step)
        clock = SimpleNamespace(perf_counter=lambda: waiting.now, monotonic=lambda: waiting.now)
        monkeypatch.setattr(trainer, "time", clock)


@pytest.fixture
def waiting(monkeypatch):
    return Waiting(monkeypatch)


def not_given(**data) -> XTTSConfig:
    config = small_config(steps=80, enable_graph_mode=False)
    small = config.data.filled(config.data.to_dict() | {"prefetch_buffer_size": 2}, keep=("text_tokens",))
    config.data = small
    small.give(data, "--set")
    return config


def train(config, cache, run):
    feed = Feed(Cache(cache), config)
    return XTTSTrainer(config, build_stand_in(config, feed), run).train(feed)


def batches_of(run) -> list:
    return [(line["step"], line["loss"]) for line in read_log(run) if line["kind"] == "step"]


def test_a_run_that_waits_changes_its_feed_and_nothing_else(voice_cache, tmp_path, waiting, own_folder, capsys):
    train(not_given(), voice_cache, tmp_path / "run")
    assert waiting.settings == [2, 8, 8]  # as begun, the trial, and what was kept
    printed = capsys.readouterr().err
    assert "the first steps waited 75% of their time for data: trying other settings of the feed" in printed
    assert "kept prefetch_buffer_size 2 -> 8" in printed
    assert "0% of the time is waiting now, 75% before" in printed
    assert load(tmp_path / "run" / "config.yaml").data.prefetch_buffer_size == 8
    assert [line["prefetch_buffer_size"] for line in read_log(tmp_path / "run") if line.get("event") == "feed_settings"
            ] == [8, 8]  # fmt: skip
    silent = not_given(auto_tune_performance=False)
    train(silent, voice_cache, tmp_path / "silent")
    assert waiting.settings[3:] == [2]
    assert batches_of(tmp_path / "run") == batches_of(tmp_path / "silent")


@pytest.mark.slow
def test_what_was_found_is_remembered_for_this_machine_data_and_model(
    voice_cache, tmp_path, waiting, own_folder, capsys
):
    for name in ("one", "two"):
        train(not_given(), voice_cache, tmp_path / name)
    assert waiting.settings == [2, 8, 8, 8]  # the second run begins with it
    assert "feed settings as found before on this machine: prefetch_buffer_size 2 -> 8" in capsys.readouterr().err
    (file,) = own_folder.iterdir()
    assert json.loads(file.read_text())["settings"]["prefetch_buffer_size"] == 8
    other = not_given()
    other.training.gradient_accumulation_steps = 2
    train(other, voice_cache, tmp_path / "three")
    assert len(list(own_folder.iterdir())) == 2


def test_that_nothing_helps_is_remembered_too(voice_cache, tmp_path, waiting, monkeypatch, capsys):
    monkeypatch.setattr(feed_search, "_MOST_PREFETCH", 4)
    monkeypatch.setattr(feed_search, "_LEAST_PREFETCH", 4)
    train(not_given(), voice_cache, tmp_path / "run")
    assert "no other setting of the feed waits less" in capsys.readouterr().err
    assert waiting.settings[-1] == 2
    asked = len(waiting.settings)
    train(not_given(), voice_cache, tmp_path / "again")
    assert len(waiting.settings) == asked + 1


@pytest.mark.slow
def test_the_documented_dataset_and_trainer_do_the_same(tmp_path, waiting, capsys):
    folder = write_corpus(tmp_path / "voice", 24, (0.4, 1.0))
    config = not_given(text_tokens="characters")
    dataset = LJSpeechDataset(folder, config).create_tf_dataset(batch_size=8)
    begun = feed_behind(dataset).data
    assert "prefetch_buffer_size" not in begun.given  # the machine decided it
    feed_behind(dataset).data = begun.filled({"prefetch_buffer_size": 2})
    XTTSTrainer(config, build_stand_in(config, feed_behind(dataset)), tmp_path / "run").train(dataset)
    assert waiting.settings == [2, 8, 8]
    silent = not_given(auto_tune_performance=False)
    dataset = LJSpeechDataset(folder, config).create_tf_dataset(batch_size=8)
    feed_behind(dataset).data = begun.filled({"prefetch_buffer_size": 2})
    XTTSTrainer(silent, build_stand_in(silent, feed_behind(dataset)), tmp_path / "silent").train(dataset)
    assert waiting.settings[3:] == [2]


def test_what_was_given_by_hand_stays(voice_cache, tmp_path, waiting, capsys):
    train(not_given(prefetch_buffer_size=2), voice_cache, tmp_path / "run")
    assert set(waiting.settings) == {2}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"settings": {"prefetch_buffer_size": -4}}',
                                     b'{"settings": {"batch_size": 4}}'])  # fmt: skip
def test_a_file_that_cannot_be_used_is_said_and_searched_for_anew(own_folder, caplog, content):
    key = {"machine": "this"}
    remembered.remember(key, {"prefetch_buffer_size": 8}, "said")
    assert remembered.recall(key, DataConfig(), feed_search.KNOBS) == {"prefetch_buffer_size": 8}
    remembered.file_of(key).write_bytes(content)
    assert remembered.recall(key, DataConfig(), feed_search.KNOBS) is None
    assert "searching again" in caplog.text


def test_where_nothing_can_be_kept_that_is_said(tmp_path, monkeypatch, caplog):
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    remembered.remember({"machine": "this"}, {}, "said")
    assert "the next run searches again" in caplog.text


def test_the_key_leaves_out_what_the_search_may_change(voice_cache):
    config = not_given()
    feed = Feed(Cache(voice_cache), config)
    key = feed_tuning.key_of(config, feed)
    config.data = config.data.filled({"prefetch_buffer_size": 64})
    assert feed_tuning.key_of(config, feed) == key
    config.data.num_workers = 2
    assert feed_tuning.key_of(config, feed) != key
