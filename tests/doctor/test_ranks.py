"""Several devices in a log: the one that the others wait for, and what their exchange costs."""

import json
from pathlib import Path

import pytest

from myxtts.cli import main
from myxtts.doctor.history import explain
from myxtts.doctor.ranks import ranks_of
from myxtts.report.run import run_report
from myxtts.watch.run_tail import RunTail


def steps(data: list[float], compute: list[float], exchange: float = 5.0, count: int = 40) -> list[dict]:
    took = max(a + b for a, b in zip(data, compute, strict=True)) + exchange
    return [
        {"time": 1000.0 + n, "kind": "step", "step": n + 1, "data_ms": data[0], "compute_ms": took - data[0],
         "loss": 1.0, "batch": 8, "frames": 100, "rank_data_ms": data, "rank_compute_ms": compute}
        for n in range(count)
    ]  # fmt: skip


def write_run(folder: Path, lines: list[dict], **config) -> Path:
    folder.mkdir()
    start = {"time": 999.0, "kind": "start", "step": 0, "config": {"data": {"batch_size": 8} | config}}
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [start, *lines]))
    return folder


@pytest.mark.parametrize(
    ("data", "compute", "straggler", "slow_at"),
    [
        ([1, 1, 1], [100, 101, 99], None, ""),
        ([1, 1, 1], [100, 150, 100], 1, "computing"),
        ([1, 1, 60], [100, 100, 100], 2, "waiting for data"),
        ([1, 1], [100, 160], 1, "computing"),
    ],
)
def test_the_one_that_others_wait_for_is_named(data, compute, straggler, slow_at):
    ranks = ranks_of(steps(data, compute))
    assert (ranks.straggler, ranks.slow_at) == (straggler, slow_at)
    assert ranks.exchange_ms == pytest.approx(5.0)
    slowest = max(a + b for a, b in zip(data, compute, strict=True))
    assert ranks.waiting_ms == pytest.approx([slowest - a - b for a, b in zip(data, compute, strict=True)])


def test_one_device_has_no_ranks_and_the_last_number_of_devices_counts():
    alone = [{"kind": "step", "data_ms": 1.0, "compute_ms": 2.0}]
    assert ranks_of(alone) is None
    assert len(ranks_of([*steps([1, 1], [9, 9]), *steps([1, 1, 1, 1], [9, 9, 9, 9])]).data_ms) == 4


def test_doctor_report_and_monitor_show_them(tmp_path):
    run = write_run(tmp_path / "run", steps([1, 1], [100, 160]))
    past = explain(run)
    assert past.to_dict()["ranks"]["straggler"] == 1
    assert "device 1 is 60.0 ms slower than the others, in computing" in str(past)
    page = run_report(run)
    assert "1 (slowest)" in page
    assert "waits for the slowest" in page
    assert RunTail(run).ranks.straggler == 1


def test_two_runs_are_compared(tmp_path, capsys):
    first = write_run(tmp_path / "first", steps([1, 1], [100, 100]))
    second = write_run(tmp_path / "second", steps([1, 1], [100, 160]), batch_size=16)
    assert main(["doctor", "--compare", str(first), str(second), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["settings"] == {"data.batch_size": [8, 16]}
    assert "compute_ms" in answer["unlike"]
    assert "data_ms" not in answer["unlike"]
    assert answer["stages"]["straggler"] == [None, 1]
    assert not answer["alike"]
    assert main(["doctor", "--compare", str(first), str(first)]) == 0
    assert "settings are the same" in capsys.readouterr().out
