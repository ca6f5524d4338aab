"""A line of a log that anybody may have written."""

import json

import pytest

from myxtts.doctor.history import explain
from myxtts.report.run import run_report
from myxtts.training.log_line import parse_line
from myxtts.training.run_log import RunLog, read_log
from myxtts.watch.run_tail import RunTail


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"5", b'{"kind": 5}', b'{"step": 1}', b"[" * 100_000, b'{"kind": "\\ud800"}']
)
def test_what_is_no_line_of_a_log(line):
    assert parse_line(line) is None


def test_what_a_run_writes_is_read_as_it_is(tmp_path):
    with RunLog(tmp_path) as log:
        log.write("step", step=1, loss=float("nan"), data_ms=0.5, compute_ms=1.0, grad_norm=float("inf"))
        log.write("machine", step=1, at=[1.8e9, None], cpu_percent=[1.0, None])
        log.write("event", step=1, event="compiled", shapes=[1, 2], seconds=1)
    written = [json.loads(line) for line in (tmp_path / "log.jsonl").read_bytes().splitlines()]
    assert list(read_log(tmp_path)) == written


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("step", "data_ms", "x"), ("step", "data_ms", -1), ("step", "step", 10**400), ("step", "loss", [1]),
        ("step", "time", 1e300), ("machine", "at", 5), ("machine", "cpu_percent", 1.5), ("machine", "cpu_percent", [{}]),  # noqa: E501
        ("start", "feed", {"tables": 3}), ("start", "config", [1]), ("event", "event", {}), ("report", "spans", []),
        ("report", "timings", {"window": None}), ("report", "machine", {"columns": {"cpu_percent": 1}}),
        ("validation", "mel_error", {}), ("validation", "step", None), ("evaluation", "scores", {"wer": 1}),
        ("rated", "by", {"a": 1}), ("rated", "value", "low"), ("rated", "step", None),
    ],
)  # fmt: skip
def test_a_field_that_is_not_what_it_should_be_is_left_out(kind, name, value, tmp_path):
    line = json.dumps({"time": 1.8e9, "kind": kind, "step": 3, name: value}).encode()
    assert name not in (parse_line(line) or {})
    with RunLog(tmp_path) as log:
        for step in range(1, 60):
            log.write("step", step=step, data_ms=3.0, compute_ms=5.0, batch=8)
    with open(tmp_path / "log.jsonl", "ab") as file:
        file.write(line + b"\n")
    assert "<html" in run_report(tmp_path)
    assert explain(tmp_path).steps > 50
    assert RunTail(tmp_path).last["data_ms"] == 3.0


def test_many_damaged_lines_are_counted_and_not_all_shown(tmp_path, caplog):
    (tmp_path / "log.jsonl").write_bytes(b"<p>\n" * 500)
    assert list(read_log(tmp_path)) == []
    assert len(caplog.messages) == 6
    assert "495 more lines" in caplog.messages[-1]
