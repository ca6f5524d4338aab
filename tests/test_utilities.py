"""The scripts in utilities/ with the flags that they are documented with: each is a few lines that call the package."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from corpora import write_corpus

from myxtts.bench import loaders as bench
from myxtts.cli import example_data
from myxtts.cli.example_data import demo_cache, run_on_data
from myxtts.config.config import XTTSConfig
from myxtts.errors import MissingExtra

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(path.name for path in (ROOT / "utilities").glob("*.py"))


def script(name, *words, cwd):
    command = [sys.executable, str(ROOT / "utilities" / name), *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def result_of(done):
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A corpus, and a config that names it."""
    folder = tmp_path_factory.mktemp("utilities")
    write_corpus(folder / "voice", 24, (0.4, 1.0))
    data = {"dataset_path": str(folder / "voice"), "text_tokens": "characters", "batch_size": 4, "num_workers": 2}
    (folder / "my.yaml").write_text(yaml.safe_dump({"data": data}))
    return folder


def test_they_are_the_documented_ones():
    assert {
        "diagnose_gpu_bottleneck.py", "gpu_profiler.py", "gpu_monitor.py", "benchmark_gpu_utilization.py",
        "test_performance.py",
    } == set(SCRIPTS)  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_has_help_and_is_short(name, tmp_path):
    done = script(name, "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout
    assert len((ROOT / "utilities" / name).read_text().splitlines()) < 50
    assert list(tmp_path.iterdir()) == []


def test_pytest_collects_none_of_them():
    settings = (ROOT / "pyproject.toml").read_text()
    assert 'testpaths = ["tests"]' in settings
    assert "def test" not in (ROOT / "utilities" / "test_performance.py").read_text()


def test_the_watcher(tmp_path):
    words = ["--log-file", "rows.csv", "--duration", "0.2", "--interval", "0.1", "--json"]
    assert result_of(script("gpu_monitor.py", *words, cwd=tmp_path))["rows"] == 2
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 3


def test_the_profiler_takes_the_data_of_the_config(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    words = ["--config", "my.yaml", "--batches", "2", "--json"]
    assert runpy.run_path(str(ROOT / "utilities" / "gpu_profiler.py"))["main"](words) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["data"] == str(folder / "voice")
    assert result["loading"]["batches"] == 2


@pytest.fixture
def short_bench(monkeypatch):
    """The scripts in this process, with a bench that takes a second and not twenty."""
    monkeypatch.setattr(bench, "EMULATE_SECONDS", 0.02)
    monkeypatch.setattr(bench, "break_even_ms", lambda *_: 1.0)
    return lambda name, *words: runpy.run_path(str(ROOT / "utilities" / name))["main"]([*map(str, words)])


BENCH = ["--loaders", "mapped", "--step-ms", "2", "--json"]


def test_the_benchmark(folder, short_bench, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    words = ["benchmark_gpu_utilization.py", "--config", "my.yaml", "--batches", "3", *BENCH]
    assert short_bench(*words) == 0
    assert json.loads(capsys.readouterr().out)["loaders"]["mapped"]["batches"] == 3
    assert short_bench(*words, "--data", "nowhere") == 2
    assert "nowhere" in capsys.readouterr().out


def test_the_performance_test_makes_its_data(tmp_path, short_bench, capsys):
    pytest.importorskip("hibari")
    words = ["test_performance.py", "--test-data-path", tmp_path / "data", "--batch-size", "2", "--num-batches", "4"]
    with pytest.raises(SystemExit, match="2"):
        short_bench(*words)
    assert "add --create-test-data" in capsys.readouterr().err
    words += ["--create-test-data", "--utterances", "4", *BENCH, "--set", "data.text_tokens=characters"]
    assert short_bench(*words) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["batch_size"], result["loaders"]["mapped"]["batches"]) == (2, 4)


# ---- which data ----


@pytest.mark.slow
def test_without_data_it_is_the_demo_corpus(tmp_path, monkeypatch, capsys):
    """What is there is used, what is missing is made: once."""
    pytest.importorskip("hibari")
    config = tmp_path / "none.yaml"
    config.write_text("data:\n  text_tokens: characters\n")
    monkeypatch.setattr(example_data, "UTTERANCES", 3)
    for _ in range(2):
        assert run_on_data(["profile", "--batches", "1"], config, tmp_path / "demo") == 0
        assert "small.cache" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == ["small", "small.cache"]
    (tmp_path / "demo" / "small.cache").rename(tmp_path / "demo" / "voice.cache")
    assert demo_cache(tmp_path / "demo", XTTSConfig()) == tmp_path / "demo" / "voice.cache"  # that of `make demo`


def test_what_names_data_is_left_alone(folder, tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr("myxtts.cli.main", lambda words: called.append(words) or 7)
    assert run_on_data(["doctor", "--data=x"], "nowhere.yaml", tmp_path) == 7
    assert run_on_data(["doctor"], folder / "my.yaml", tmp_path) == 7
    assert called == [["doctor", "--data=x"], ["doctor"]]


def test_a_voice_that_is_not_installed_is_an_error_and_no_traceback(tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise MissingExtra("hibari-tts", "demo", "the demo voice")

    monkeypatch.setattr("myxtts.corpus.demo.make_demo_corpus", refuse)
    config = tmp_path / "none.yaml"
    config.write_text("{}\n")
    assert run_on_data(["profile", "--json"], config, tmp_path / "demo") == 2
    assert "pip install hibari-tts==0.2.1" in json.loads(capsys.readouterr().out)["error"]["message"]
