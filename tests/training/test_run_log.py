"""The log outlives a kill and tells the history that led to the weights; the live line fits where it is shown."""

import io
import json
import os
import resource
import signal
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from myxtts.errors import TrainingError
from myxtts.training.run_log import LOG, LiveLine, RunLog, Status, format_eta, format_status, plain, read_log


def steps_of(run, **options):
    return [(line["step"], line["loss"]) for line in read_log(run, **options) if line["kind"] == "step"]


def write_steps(run, first, last, loss=0.0, resume=None):
    with RunLog(run) as log:
        if resume is not None:
            log.resume(resume)
        for step in range(first, last + 1):
            log.write("step", step=step, loss=loss)


# ---- the file -------------------------------------------------------------------------------------------------------


def test_a_line_is_one_strict_json_object(tmp_path):
    with RunLog(tmp_path) as log:
        log.write("step", step=np.int64(1), loss=np.float32(0.5), grad=float("nan"), up=np.inf, down=[-np.inf, 1])
        log.write("event", event="skipped", ids=["a\nb", "گفت"], lengths=np.arange(3), where=tmp_path)
    lines = (tmp_path / LOG).read_bytes().splitlines()

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    first, second = (json.loads(line, parse_constant=refuse) for line in lines)
    assert first | {"time": 0} == {
        "time": 0, "kind": "step", "step": 1, "loss": 0.5, "grad": "NaN", "up": "Infinity", "down": ["-Infinity", 1],
    }  # fmt: skip
    assert np.isnan(float(first["grad"]))
    assert second["ids"] == ["a\nb", "گفت"]
    assert second["lengths"] == [0, 1, 2]
    assert second["where"] == str(tmp_path)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=8))
def test_anything_becomes_strict_json(value):
    json.dumps(plain({"value": value, 3: np.array([1.5])}), allow_nan=False)


def test_what_tensorflow_gives_becomes_numbers():
    import tensorflow as tf

    given = {"loss": tf.constant(0.5), "shape": tf.zeros([2, 3]).shape[:2], "ids": tf.constant(["a"]), "dtype": tf.int8}
    assert plain(given) == {"loss": 0.5, "shape": [2, 3], "ids": ["a"], "dtype": "<dtype: 'int8'>"}


def test_the_effective_history_ends_where_the_run_went_on(tmp_path):
    write_steps(tmp_path, 1, 12, loss=1)
    write_steps(tmp_path, 9, 10, loss=2, resume=8)
    assert steps_of(tmp_path) == [(step, 1) for step in range(1, 9)] + [(9, 2), (10, 2)]
    write_steps(tmp_path, 6, 7, loss=3, resume=5)
    assert steps_of(tmp_path) == [(step, 1) for step in range(1, 6)] + [(6, 3), (7, 3)]
    assert len(steps_of(tmp_path, given_up=True)) == 12 + 2 + 2
    assert [line["step"] for line in read_log(tmp_path) if line["kind"] == "resume"] == [8, 5]


def test_of_one_kind_and_step_the_later_line_counts_but_events_all_do(tmp_path):
    with RunLog(tmp_path) as log:
        for loss in (1, 2):
            log.write("event", event="start")
            log.write("validation", step=5, loss=loss)
            log.write("event", step=5, event=f"sample {loss}")
            log.write("step", step=6, loss=0)
            log.resume(5)
    lines = [line.get("loss", line.get("event")) for line in read_log(tmp_path) if line["kind"] != "resume"]
    assert lines == ["start", "sample 1", "start", 2, "sample 2"]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6)), max_size=8))
def test_each_step_is_told_once_and_by_its_last_teller(tmp_path_factory, lives):
    """Each life goes on from an earlier step, if there is one, and does some steps; a simple model says what counts."""
    run, truth = tmp_path_factory.mktemp("run"), {}
    write_steps(run, 1, 0)
    for life, (resume, count) in enumerate(lives):
        resume = min(resume, max(truth, default=0))
        truth = {step: loss for step, loss in truth.items() if step <= resume}
        write_steps(run, resume + 1, resume + count, loss=life, resume=resume)
        truth |= dict.fromkeys(range(resume + 1, resume + count + 1), life)
    assert steps_of(run) == list(truth.items())


TORN = [b'{"time":1,"kind":"st', b'{"time":1', b"\0" * 4096, b"\0" * 50 + b"\n" + b"\0" * 50, b'{"kind": 3}\x00\n{"x']


@pytest.mark.parametrize("torn", TORN)
def test_a_torn_end_is_cut_off_and_told(tmp_path, torn, caplog):
    write_steps(tmp_path, 1, 3)
    whole = (tmp_path / LOG).read_bytes()
    (tmp_path / LOG).write_bytes(whole + torn)
    assert len(steps_of(tmp_path)) == 3  # a reader may come first
    write_steps(tmp_path, 4, 4)
    assert (tmp_path / LOG).read_bytes().startswith(whole + b'{"time":')
    events = [line for line in read_log(tmp_path) if line["kind"] == "event"]
    assert [(line["event"], line["torn_bytes"]) for line in events] == [("recovered", len(torn))]
    assert [step for step, _ in steps_of(tmp_path)] == [1, 2, 3, 4]
    assert "torn bytes" in caplog.text


@pytest.mark.parametrize("size", [0, 1, 5, 40])
def test_a_torn_first_line_is_no_obstacle(tmp_path, size):
    (tmp_path / LOG).write_bytes(b'{"time":1794786683.123,"kind":"start","config":{"a":1}}'[:size])
    write_steps(tmp_path, 1, 2)
    assert len(steps_of(tmp_path)) == 2


def test_a_long_torn_end_is_cut_at_the_last_sound_line(tmp_path, monkeypatch):
    monkeypatch.setattr("myxtts.training.run_log._TAIL_BYTES", 64)
    write_steps(tmp_path, 1, 3)
    whole = (tmp_path / LOG).read_bytes()
    (tmp_path / LOG).write_bytes(whole + b"x\n" * 500)
    RunLog(tmp_path).close()
    assert (tmp_path / LOG).read_bytes().startswith(whole + b'{"time":')


def test_a_foreign_file_is_not_cut(tmp_path):
    (tmp_path / LOG).write_text('{"message": "the log of another program"}\n')
    with pytest.raises(TrainingError, match="is not the log of a run: move it away"):
        RunLog(tmp_path)
    assert (tmp_path / LOG).read_text() == '{"message": "the log of another program"}\n'


def test_a_damaged_line_in_the_middle_is_named_and_left_out(tmp_path, caplog):
    write_steps(tmp_path, 1, 3)
    lines = (tmp_path / LOG).read_bytes().splitlines(keepends=True)
    (tmp_path / LOG).write_bytes(lines[0] + lines[1].replace(b'"kind"', b"\x00kind") + lines[2])
    assert [step for step, _ in steps_of(tmp_path)] == [1, 3]
    assert f"line 2 of {tmp_path / LOG} is damaged" in caplog.text


def test_no_log_is_a_clear_error(tmp_path):
    with pytest.raises(TrainingError, match="has no log.jsonl"):
        next(read_log(tmp_path))


def write_until_full(log):
    for step in range(100):
        log.write("step", step=step)


def test_a_full_disk_is_a_clear_error_and_leaves_whole_lines(tmp_path):
    log = RunLog(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(TrainingError, match=r"cannot write to .*log.jsonl"):
            write_until_full(log)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    written = (tmp_path / LOG).read_bytes()
    assert 900 < len(written) <= 1000
    assert written.endswith(b"}\n")
    log.write("step", step=100)
    log.close()
    assert [line["step"] for line in read_log(tmp_path)][-1] == 100


WRITER = """
import sys
from myxtts.training.run_log import RunLog
with RunLog(sys.argv[1]) as log:
    print("go", flush=True)
    for step in range(10**9):
        log.write("step", step=step, loss=0.0)
        if step == 200:
            print("there", flush=True)
"""


def test_a_killed_writer_loses_nothing_it_had_written(tmp_path):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path], stdout=subprocess.PIPE)
    assert writer.stdout.readline() == b"go\n"
    assert writer.stdout.readline() == b"there\n"
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    RunLog(tmp_path).close()
    steps = [line["step"] for line in read_log(tmp_path) if line["kind"] == "step"]
    assert len(steps) > 200
    assert steps == list(range(len(steps)))


# ---- the live line --------------------------------------------------------------------------------------------------

STATUS = Status(
    step=1200, total_steps=6000, epoch=3.25, loss=1.23456, learning_rate=1.5e-3, grad_norm=0.831, data_ms=2.0,
    compute_ms=198.0, utterances_per_second=52.31, eta_seconds=367.4,
)  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (9.4, "0:09"), (367, "6:07"), (3599.6, "1:00:00"), (5025, "1:23:45"), (216000, "60:00:00"),
     (None, "?"), (float("inf"), "?"), (float("nan"), "?"), (-3, "0:00")],
)  # fmt: skip
def test_the_time_left(seconds, text):
    assert format_eta(seconds) == text


def test_the_line_says_it_all():
    assert format_status(STATUS, 200) == (
        "step 1200/6000  loss 1.2346  ETA 6:07  stall 1.0%  52.3 utt/s  epoch 3.25  lr 1.50e-03  grad 0.83  "
        "data 2.0 ms  compute 198 ms"
    )


@given(st.integers(0, 200))
def test_a_narrow_terminal_cuts_whole_parts_from_the_end(width):
    line, whole = format_status(STATUS, width), format_status(STATUS, 200)
    assert len(line) <= width
    assert whole.startswith(line)
    assert width < len("step 1200/6000") or whole == line or whole[len(line) : len(line) + 2] == "  "


def test_unknown_totals_and_nonsense_are_shown_as_such():
    odd = Status(1, None, 0.0, float("nan"), 0.0, float("inf"), 0.0, 0.0, 0.0, None)
    assert format_status(odd, 200).startswith("step 1  loss nan  ETA ?  stall 0.0%")


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


def show_for(line, clock, seconds, every):
    while clock.now < seconds:
        line.show(STATUS)
        clock.now += every


def test_a_terminal_has_one_line_five_times_a_second(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    clock, screen = Clock(), Terminal()
    line = LiveLine(screen, clock)
    show_for(line, clock, 2.0, 1 / 128)
    line.close()
    drawn = screen.getvalue().split("\r")[1:]
    assert 10 <= len(drawn) <= 12  # and one by close
    assert screen.getvalue().count("\n") == 1
    assert all(len(text.rstrip("\n")) <= 59 for text in drawn)


def test_a_file_has_a_line_every_ten_seconds():
    clock, file = Clock(), io.StringIO()
    line = LiveLine(file, clock)
    show_for(line, clock, 35, 0.5)
    assert len(file.getvalue().splitlines()) == 4
    line.close()
    lines = file.getvalue().splitlines()
    assert len(lines) == 5  # the last status is not swallowed
    assert set(lines) == {format_status(STATUS, 1000)}


def test_a_message_stands_on_its_own_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    clock, screen = Clock(), Terminal()
    line = LiveLine(screen, clock)
    line.show(STATUS)
    shown = len(screen.getvalue()) - 1
    line.say("saved step-1200")
    assert screen.getvalue().endswith("\r" + " " * shown + "\rsaved step-1200\n")


def test_a_terminal_that_went_away_does_not_end_the_training(caplog):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8", buffering=1) as pipe:
        line = LiveLine(pipe)
        line.show(STATUS)
        line.say("still here")
        line.close()
        assert caplog.text.count("cannot be shown any more") == 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), writer)  # so that closing the pipe can flush
