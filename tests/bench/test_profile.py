"""`myxtts profile` as a user types it, with a small model; the trace is read back as Perfetto would."""

import gzip
import json

import pytest
from corpora import feed_config
from training.small_run import SMALL

from myxtts.bench import profile as room
from myxtts.bench.profile import Loading, Profile, StepTime, profile, speed_of
from myxtts.bench.trace import part, traced
from myxtts.cli import main
from myxtts.doctor import resident
from myxtts.models import sizes

SETTINGS = ["--set", "data.text_tokens=characters", "--set", "data.num_buckets=1", "--set", "data.num_workers=2"]


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(resident, "DEVICE_SECONDS", 0.1)
    monkeypatch.setattr(room, "_TRACED_STEPS", 3)
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)


def test_the_classes():
    assert [speed_of(ms) for ms in (0.1, 99.9, 100.0, 500.0, 500.1)] == ["good", "good", "moderate", "moderate", "slow"]


@pytest.mark.slow
def test_a_packed_cache_with_a_trace(packed_voice, tmp_path, capsys):
    words = ["profile", "--data", str(packed_voice), "--batches", "6", "--batch-size", "8", *SETTINGS]
    assert main([*words, "--trace", str(tmp_path / "t"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    loading = result["loading"]
    assert (loading["batches"], loading["utterances_per_batch"], loading["class"]) == (6, 8, "good")
    assert 0 < loading["p50_ms"] <= loading["p95_ms"]
    assert result["pipeline"][-2:] == ["Prefetch", "Options"]
    assert "ParallelMapV2" in result["stages"]
    assert sum(result["shares"].values()) == pytest.approx(1)
    assert result["step"]["device"] == "CPU"
    assert result["step"]["step_ms"] > 0
    with gzip.open(result["trace"]["perfetto"]) as file:
        events = json.load(file)["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert sum(event["name"] == "data" for event in slices) == 3
    assert sum(event["name"] == "compute" for event in slices) == 3
    assert any(event["name"].startswith("Iterator::") for event in slices)  # the stages of the dataset are in it
    named = {(event["pid"], event.get("tid")) for event in events if event["ph"] == "M"}
    assert all((event["pid"], event["tid"]) in named and event["ts"] >= 0 <= event["dur"] for event in slices)


def test_a_corpus_that_is_not_packed_has_no_step(corpus_folder, capsys):
    words = ["profile", "--data", str(corpus_folder), "--batches", "3", "--batch-size", "4", *SETTINGS]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Data Loading Performance\n")
    assert "3 batches of 4" in printed
    assert "ParallelMapV2" in printed
    assert "not measured:" in printed
    assert "myxtts pack" in printed


def test_without_data_it_says_what_to_give(capsys):
    assert main(["profile"]) == 2
    assert "give --data DATA" in capsys.readouterr().err
    assert main(["profile", "--data", "nowhere"]) == 2
    assert "there is no nowhere" in capsys.readouterr().err


def test_a_slow_loader_ends_in_time(monkeypatch, packed_voice):
    monkeypatch.setattr(room, "LOADER_SECONDS", 0.0)
    config = feed_config(dataset_path=str(packed_voice))
    monkeypatch.setattr(room, "real_step", lambda config: lambda batch: None)
    assert profile(config).loading.batches == 3
    assert profile(config, batches=5).loading.batches == 5


def test_what_a_person_reads():
    loading = Loading(50, 16, 900.0, 250.0, 240.0, 300.0)
    profile = Profile("my.cache", loading, ["Range", "Map"], {"Map": 3.0, "Range": 1.0},
                    StepTime("/GPU:0", 50.0, 2000.0, 0.5, 320.0),
                    trace={"tensorboard": "t/plugins/x.xplane.pb", "perfetto": "t/trace.json.gz"})  # fmt: skip
    text = str(profile)
    assert "mean 250.0 ms, p50 240.0 ms, p95 300.0 ms" in text
    assert "class       moderate" in text
    assert "Map" in text
    assert "75.0%" in text
    assert "the loader takes longer: 250.0 ms to load against 50.0 ms" in text
    assert "https://ui.perfetto.dev" in text
    assert "tensorboard --logdir t" in text


def test_a_trace_of_what_fails_is_not_left_running(tmp_path):
    with pytest.raises(ZeroDivisionError), traced(tmp_path):
        1 / 0  # noqa: B018
    with traced(tmp_path) as files, part("again", 0):
        pass
    assert set(files) == {"tensorboard", "perfetto"}
