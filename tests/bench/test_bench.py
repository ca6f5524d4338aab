"""The bench measures every loader over the same utterances and prints the controls with them."""

import json

import numpy as np
import pytest
from corpora import feed_config, write_corpus

from myxtts.bench import loaders as module
from myxtts.bench.loaders import LOADERS, as_table, bench, numpy_limit, plot, usable_loaders
from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.cli import main
from myxtts.corpus.read import open_corpus
from myxtts.data.plan import Plan
from myxtts.errors import ConfigError
from myxtts.report.bench import MEANING


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    write_corpus(folder / "voice", 24, (0.4, 1.0))
    pack(open_corpus(folder / "voice"), folder / "x.cache", PackSettings.from_config(feed_config().data))
    return folder


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Ten steps of each; the search for the break-even point is tested with the emulator, on a clock of its own."""
    monkeypatch.setattr(module, "DRAIN_SECONDS", 0.02)
    monkeypatch.setattr(module, "EMULATE_SECONDS", 0.02)
    monkeypatch.setattr(module, "break_even_ms", lambda *_: float("inf"))


def test_every_loader_is_measured(folder, tmp_path):
    shown = []
    result = bench(folder / "x.cache", feed_config(), step_ms=(1.0,), cold=True, progress=shown.append)
    assert shown == ["controls", *LOADERS]
    assert list(result["loaders"]) == list(LOADERS)
    for name, row in result["loaders"].items():
        assert row["utterances_per_s"] > 0, name
        assert 0 < row["au"][1.0] <= 1.0, name
        assert 0 < row["useful_frame_share"] <= 1.0, name
        assert row["break_even_ms"] is None, name  # never reached: JSON knows no infinity
        assert 0 <= row["still_in_memory"] <= 1, name
    assert result["controls"][0]["throttled_expected"] == 0.5
    table = as_table(result)
    assert all(name in table for name in LOADERS)
    assert "control: resident" in table
    assert "pages were dropped" in table
    plot(result, tmp_path / "au.png")
    assert (tmp_path / "au.png").read_bytes()[:4] == b"\x89PNG"
    json.dumps(result, allow_nan=False)


def test_the_limit_copies_the_same_frames(folder):
    cache = Cache(folder / "x.cache")
    plan = Plan(cache, feed_config())
    batch = next(numpy_limit(plan))
    first = plan.order.batch(0)
    for row, utterance in enumerate(first.utterances):
        frames = cache.frames(int(utterance))
        np.testing.assert_array_equal(batch["mel"][row, : len(frames)], frames)


def test_the_verb(folder, tmp_path, capsys):
    arguments = ["bench", "--data", str(folder / "voice"), "--loaders", "mapped,limit", "--batch-size", "4"]
    arguments += ["--set", "data.text_tokens=characters"]
    assert main([*arguments, "--step-ms", "1", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert list(result["loaders"]) == ["mapped", "limit"]
    assert result["batch_size"] == 4
    assert main([*arguments, "--step-ms", "1", "--html", str(tmp_path / "bench.html")]) == 0
    assert f"for the browser: {tmp_path / 'bench.html'}" in capsys.readouterr().out
    assert "loader keeps a device with a step of 1" in (tmp_path / "bench.html").read_text()
    assert main([*arguments, "--step-ms", "5,x"]) == 2
    assert "--step-ms" in capsys.readouterr().err


def test_every_loader_is_explained_in_the_report():
    assert set(MEANING) == set(LOADERS)


def test_unknown_loaders_are_named(folder):
    with pytest.raises(ConfigError, match="'magic'.*mapped"):
        bench(folder / "x.cache", feed_config(), ["magic"])


def test_a_cache_without_mel_is_measured_by_the_loaders_it_can_serve(folder, tmp_path):
    settings = PackSettings.from_config(feed_config().data, "audio")
    pack(open_corpus(folder / "voice"), tmp_path / "a.cache", settings)
    assert "mapped" not in usable_loaders(Cache(tmp_path / "a.cache"))
    assert "mapped-audio" in bench(tmp_path / "a.cache", feed_config(), ["mapped-audio"], (1.0,))["loaders"]
