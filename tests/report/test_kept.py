"""The report of a running training: written beside it, at its end, and never in its way."""

import json
import time

import pytest

from myxtts.cli import main
from myxtts.report.kept import KeptReport


def append(run, *records):
    run.mkdir(exist_ok=True)
    with open(run / "log.jsonl", "a") as file:
        for record in records:
            file.write(json.dumps({"time": 1000.0, **record}, separators=(",", ":")) + "\n")


def steps(first, last):
    return [{"kind": "step", "step": n, "data_ms": 0.5, "compute_ms": 50.0} for n in range(first, last + 1)]


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_a_report_line_makes_a_new_page_while_the_run_goes_on(tmp_path):
    run, page = tmp_path / "run", tmp_path / "run" / "report.html"
    with KeptReport(run, look_seconds=0.05):
        append(run, *steps(1, 40))
        time.sleep(0.3)
        assert not page.exists()  # a step is no reason
        append(run, {"kind": "report", "step": 40})
        wait_for(page.exists)
        assert '<span id="steps">40</span>' in page.read_text()
        append(run, *steps(41, 60))
    assert '<span id="steps">60</span>' in page.read_text()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_run_has_its_page(tmp_path, error):
    def train():
        with KeptReport(tmp_path / "run"):
            append(tmp_path / "run", *steps(1, 40))
            raise error

    with pytest.raises(error):
        train()
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_page_that_cannot_be_written_does_not_cost_the_run(tmp_path, caplog):
    run = tmp_path / "run"
    (run / "report.html").mkdir(parents=True)
    with KeptReport(run):
        append(run, *steps(1, 40))
    assert "report.html was not written" in caplog.text
    assert [path.name for path in run.iterdir() if "tmp" in path.name] == []


def test_a_run_that_did_not_begin_gets_no_page(tmp_path):
    with KeptReport(tmp_path / "run"):
        pass
    assert not (tmp_path / "run").exists()


def test_train_leaves_a_page(tmp_path, monkeypatch, capsys):
    """The wiring: a training that is over at once stands in for the real one."""
    summary = {"step": 40, "seconds": 2.0, "why": "stopped by SIGINT", "best": None, "stall": 0.01, "interrupted": True}

    def start(config, cache, validation, folder, **_):
        append(folder, *steps(1, 40))
        return summary

    monkeypatch.setattr("myxtts.cli.train.cache_of", lambda data, *_: data)
    monkeypatch.setattr("myxtts.training.start.start_training", start)
    assert main(["train", "--train-data", str(tmp_path), "--run", str(tmp_path / "run")]) == 130
    assert f"{tmp_path / 'run'}/report.html" in capsys.readouterr().out
    assert (tmp_path / "run" / "report.html").is_file()
