"""The watcher on this machine: rows, files, the tail of a run that goes on, the view, and how it is ended."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from fake_nvml import FakeNvml

from myxtts.cli import main
from myxtts.errors import DiagnosisError
from myxtts.machine import sampler
from myxtts.training.run_log import RunLog
from myxtts.watch import view as watch_view
from myxtts.watch.run_tail import COLUMNS, RunTail
from myxtts.watch.view import View, summary_of
from myxtts.watch.watch import Quantity, RowLog, flat, watch


def log_steps(run, first, count, data_ms=1.0, compute_ms=9.0, batch=8):
    with RunLog(run) as log:
        for step in range(first, first + count):
            log.write("step", step=step, data_ms=data_ms, compute_ms=compute_ms, batch=batch)


def rows_of(path):
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


# ---- the run ----


def test_the_tail_of_a_run_gives_the_steps_in_between(tmp_path):
    log_steps(tmp_path, 1, 500, data_ms=50.0)
    tail = RunTail(tmp_path)
    assert tail.last["step"] == 500
    assert tail.last["stall_percent"] == pytest.approx(100 * 50 / 59, abs=1e-3)
    assert tail.fresh() == {}  # what was before the watch began is not a part of it
    log_steps(tmp_path, 501, 4)
    assert tail.fresh() == {"step": 504, "data_ms": 1, "compute_ms": 9, "stall_percent": 10, "utterances_per_s": 800}
    assert tail.fresh() == {}
    assert tail.last["step"] == 504
    assert 0 <= tail.age_seconds < 60


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path):
    log_steps(tmp_path, 1, 1)
    tail = RunTail(tmp_path)
    line = json.dumps({"time": time.time(), "kind": "step", "step": 2, "data_ms": 0.0, "compute_ms": 5.0, "batch": 1})
    with open(tail.path, "a") as file:
        file.write(line[:20])
        file.flush()
        assert tail.fresh() == {}
        file.write(line[20:] + "\nnot JSON\n[1]\n")
    assert tail.fresh()["step"] == 2


def test_a_torn_line_that_the_next_run_cuts_off_does_not_confuse(tmp_path):
    log_steps(tmp_path, 1, 3)
    tail = RunTail(tmp_path)
    with open(tail.path, "ab") as file:
        file.write(b"\n" * 500)  # the tail has gone past what will be cut
    assert tail.fresh() == {}
    os.truncate(tail.path, tail.path.stat().st_size - 500)
    assert tail.fresh() == {}
    log_steps(tmp_path, 4, 2)
    assert tail.fresh()["step"] == 5


def test_a_run_without_a_step_and_no_run_at_all(tmp_path):
    RunLog(tmp_path).close()
    tail = RunTail(tmp_path)
    assert (tail.fresh(), tail.last, tail.age_seconds) == ({}, {}, None)
    with pytest.raises(DiagnosisError, match="found no run there"):
        RunTail(tmp_path / "elsewhere")


# ---- rows and files ----


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_rows_are_in_the_file_as_they_come(tmp_path, ending):
    log_steps(tmp_path / "run", 1, 2)
    path = tmp_path / "new" / f"rows.{ending}"
    counts = []

    def show(row, seen):
        counts.append(len(rows_of(path)))
        log_steps(tmp_path / "run", 2 + seen.rows, 1)

    seen = watch(3, 0.05, path, tmp_path / "run", show)
    assert counts == [1, 2, 3]
    last = rows_of(path)[-1]
    assert int(last["step"]) == 4
    cores = len(os.sched_getaffinity(0))
    assert {f"core{n}_percent" for n in range(cores)} | {"time", "available_bytes", *COLUMNS} <= set(last)
    assert not [name for name in last if name.startswith("own_")]  # that would be the watcher
    assert seen.quantities["data_ms"].to_dict() == {"min": 1, "mean": 1, "max": 1, "p95": 1}
    assert "step" not in seen.quantities


def test_a_file_is_continued_if_its_columns_are_the_same(tmp_path):
    path = tmp_path / "rows.csv"
    for _ in range(2):
        watch(2, 0.02, path)
    assert len(rows_of(path)) == 4
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DiagnosisError, match="other columns"):
        watch(1, 0.02, path)
    assert path.read_text() == "a,b\n1,2\n"
    with pytest.raises(DiagnosisError, match="csv or .jsonl"):
        RowLog(tmp_path / "rows.txt")


def test_gpus_are_columns_from_the_first_row_on(tmp_path):
    path, text = tmp_path / "rows.csv", io.StringIO()
    seen = watch(3, 0.02, path, show=View(text).show, nvml=FakeNvml(2))
    rows = rows_of(path)
    assert (rows[-1]["gpu1.utilisation_percent"], rows[-1]["gpu1.sm_activity_percent"]) == ("41.0", "33.0")
    assert "gpu1 Fake GPU, 41 % used, SM 33 %, 120 W, 1.9 of 24.0 GB, PCIe 5 MB/s in, 1 out" in text.getvalue()
    assert "gpu0.power W" in summary_of(seen)


def test_the_first_row_does_not_decide_what_a_csv_can_hold(tmp_path):
    log = RowLog(tmp_path / "rows.csv")
    log.write({"time": 1.0, "gpu0.power_watts": 5.0}, COLUMNS)
    log.write({"time": 2.0, "gpu0.power_watts": 5.0, "gpu0.sm_activity_percent": 7.0, "step": 3})
    log.close()
    assert [row["step"] for row in rows_of(log.path)] == ["", "3"]
    assert [row["gpu0.sm_activity_percent"] for row in rows_of(log.path)] == ["", "7.0"]


def test_a_quantity():
    quantity = Quantity()
    for value in range(101):
        quantity.add(float(value))
    assert quantity.to_dict() == {"min": 0, "mean": 50, "max": 100, "p95": 95}


def test_a_sampler_that_stops_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(sampler, "describe_machine", lambda **_: 1 / 0)
    monkeypatch.setattr("myxtts.watch.watch._SILENCE_SECONDS", 0.1)
    with pytest.raises(DiagnosisError, match="no reading of the machine"):
        watch(1, 0.05)


# ---- the view ----


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_is_drawn_in_place(monkeypatch, tmp_path):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(watch_view.shutil, "get_terminal_size", lambda: os.terminal_size((60, 24)))
    log_steps(tmp_path, 1, 2)
    terminal = Terminal()
    watch(3, 0.02, run=tmp_path, show=View(terminal).show)
    first, *others = terminal.getvalue().split("\x1b[J")[:-1]
    height = first.count("\n")
    assert all(drawn.startswith(f"\x1b[{height}A") and drawn.count("\n") == height for drawn in others)
    assert all(len(line.removesuffix("\x1b[K")) < 60 for line in first.splitlines())
    assert "run     step 2, data 1.0 ms + compute 9.0 ms" in first
    assert "core0  [" in first


def test_a_low_or_dumb_terminal(monkeypatch):
    monkeypatch.setattr(watch_view.shutil, "get_terminal_size", lambda: os.terminal_size((80, 4)))
    for kind, lines in (("xterm", 3), ("dumb", 1)):
        monkeypatch.setenv("TERM", kind)
        terminal = Terminal()
        watch(1, 0.02, show=View(terminal).show)
        assert terminal.getvalue().count("\n") == lines


def test_missing_readings_are_left_out():
    row = flat({"at": 1.0, "cpu_percent": 5.0, "core_percent": [4.0, 6.0]})
    assert row == {"time": 1.0, "cpu_percent": 5.0, "core0_percent": 4.0, "core1_percent": 6.0}
    text = io.StringIO()
    View(text).show(row, watch_view.Watch())
    assert "cpu 5 % (4 6)  memory unknown  disk unknown" in text.getvalue()


# ---- the verb ----


def test_the_verb(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["monitor", "--interval", "0.05", "--duration", "0.15"]
    assert main([*words, "--log-file"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("cpu ") >= 3
    assert "summary of 3 rows" in printed
    (path,) = tmp_path.glob("monitor-*.csv")
    assert len(rows_of(path)) == 3
    assert main([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result["summary"]["cpu_percent"]) == {"min", "mean", "max", "p95"}
    assert (result["rows"], result["stopped_by"], result["run"]) == (3, None, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--duration", "0"], "above 0"),
        (["--duration", "1", "--interval", "2"], "shorter than --interval"),
        (["--interval", "nan"], "above 0"),
        (["--log-file", "rows.txt"], ".csv or .jsonl"),
        (["--log-file", "."], "name the run before"),
        (["nowhere", "--duration", "1"], "nowhere has no log.jsonl"),
    ],
)
def test_usage_errors(words, message, capsys):
    assert main(["monitor", "--duration", "2", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop_it_sums_up_and_is_content(tmp_path, number):
    path = tmp_path / "rows.jsonl"
    command = [sys.executable, "-m", "myxtts", "monitor", "--interval", "0.05", "--log-file", str(path), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(6000):
            if path.exists() and len(path.read_text().splitlines()) >= 2:
                break
            time.sleep(0.05)
        process.send_signal(number)
        printed, said = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 0
    result = json.loads(printed)
    assert result["rows"] == len(rows_of(path)) >= 2
    assert result["stopped_by"] == number.name
    assert said.count("GPU:") == (0 if result["machine"]["gpus"] else 1)  # once, and it works without
    assert "Traceback" not in said
