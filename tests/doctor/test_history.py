"""A run's past from its log: logs are written by hand here, so that every wait is known."""

import json

import pytest

from myxtts.cli import main
from myxtts.doctor.history import explain
from myxtts.errors import DiagnosisError, TrainingError
from myxtts.monitor import Monitor


def step(n, data_ms=0.5, compute_ms=50.0):
    return {"time": 1000.0 + n * 0.05, "kind": "step", "step": n, "data_ms": data_ms, "compute_ms": compute_ms}


def steps(count, waits=lambda n: 0.5):
    """The first batch of every run is waited for."""
    return [step(n, 900.0 if n == 1 else waits(n)) for n in range(1, count + 1)]


@pytest.fixture
def written(tmp_path):
    def write(records, tail=b""):
        lines = [json.dumps(record) for record in records]
        (tmp_path / "log.jsonl").write_bytes("".join(f"{line}\n" for line in lines).encode() + tail)
        return tmp_path

    return write


def test_a_run_that_never_waited_is_healthy(written):
    explanation = explain(written(steps(200)))
    assert (explanation.verdict, explanation.episodes) == ("healthy", [])
    assert explanation.stall == pytest.approx(0.5 / 50.5)  # without the first batch
    assert (explanation.data_ms, explanation.compute_ms) == (0.5, 50.0)


def test_a_stall_from_a_step_on_says_since_when(written):
    explanation = explain(written(steps(300, lambda n: 100.0 if n >= 180 else 0.5)))
    assert explanation.verdict == "data"
    (episode,) = explanation.episodes
    assert (episode.first_step, episode.last_step, episode.ongoing) == (180, 300, True)
    assert episode.stall == pytest.approx(2 / 3)
    assert "from step 180 on it waited 67% of its time, 100 ms a step" in str(explanation)


def test_an_episode_in_the_middle_has_an_end(written):
    explanation = explain(written(steps(400, lambda n: 40.0 if 100 <= n < 160 else 0.5)))
    assert explanation.verdict == "data"
    (episode,) = explanation.episodes
    assert (episode.first_step, episode.last_step, episode.ongoing) == (100, 159, False)
    assert "from step 100 to 159" in str(explanation)


def test_a_hiccup_in_a_long_run_is_told_and_forgiven(written):
    explanation = explain(written(steps(5000, lambda n: 60.0 if 1000 <= n < 1010 else 0.5)))
    assert explanation.verdict == "healthy"
    assert [(each.first_step, each.last_step) for each in explanation.episodes] == [(1000, 1009)]
    assert "from step 1000 to 1009" in str(explanation)


def test_one_slow_batch_is_no_episode(written):
    assert explain(written(steps(200, lambda n: 60.0 if n == 77 else 0.5))).episodes == []


def test_the_machine_says_on_what(written):
    rows = [1000.0 + n for n in range(20)]
    read = [60e6 if 1005.0 <= at <= 1010.0 else 0.2e6 for at in rows]
    machine = {"time": 1020.0, "kind": "machine", "step": 400, "at": rows, "disk_read_bytes_per_s": read,
               "cpu_percent": [40.0] * 20, "major_faults_per_s": [None] * 20}  # fmt: skip
    slow = steps(400, lambda n: 100.0 if 100 <= n < 200 else 0.5)
    assert explain(written([*slow, machine])).episodes[0].meanwhile == ("60 MB/s were read from the disk",)


def test_a_resumed_run_may_wait_for_its_first_batch_again(written):
    sittings = []
    for record in steps(100, lambda n: 5000.0 if n % 20 == 0 else 0.5):
        if record["step"] % 20 == 0:
            sittings.append({"time": 1.0, "kind": "resume", "step": record["step"] - 1})
        sittings.append(record)
    assert explain(written(sittings)).verdict == "healthy"
    assert explain(written([record for record in sittings if record["kind"] == "step"])).verdict == "data"


def test_traces_after_the_start_are_a_fault(written):
    report = {"time": 1.0, "kind": "report", "step": 100, "traces_after_start": 3}
    explanation = explain(written([*steps(100), report]))
    assert (explanation.verdict, explanation.late_traces) == ("recompilation", 3)
    assert "3 shapes were compiled after the start" in str(explanation)


def test_advice_and_events_are_passed_on(written):
    monitor = Monitor()
    monitor.count("python_path", 7)
    for _ in range(50):
        monitor.log_step_timing(0.09, 0.05, 8)
    report = {"time": 1.0, "kind": "report", "step": 100, **monitor.to_records()["report"]}
    events = [{"time": 1.0, "kind": "event", "step": n, "event": "not_finite"} for n in (5, 6)]
    explanation = explain(written([*steps(100, lambda n: 90.0), *events, report]))
    (advice,) = explanation.advice
    assert advice.startswith("7 utterances (2%) were decoded in Python")
    assert explanation.events == {"not_finite": 2}
    assert advice in str(explanation)


def test_waves_have_a_period(written):
    assert explain(written(steps(400, lambda n: 100.0 if n % 16 == 0 else 0.5))).period_steps == 16


def test_a_torn_last_line_belongs_to_a_run_that_goes_on(written):
    assert explain(written(steps(50), tail=b'{"time":3,"kind":"step","st')).steps == 49


def test_too_few_steps_and_no_run_are_said(written, tmp_path, capsys):
    with pytest.raises(DiagnosisError, match="logged 4 steps, expected at least 10"):
        explain(written(steps(5)))
    with pytest.raises(TrainingError, match="found no run there"):
        explain(tmp_path / "nowhere")
    assert main(["doctor", "--run", str(tmp_path / "nowhere")]) == 2
    assert "found no run there" in capsys.readouterr().err


def test_the_verb_prints_and_exits_by_the_verdict(written, capsys):
    assert main(["doctor", "--run", str(written(steps(200)))]) == 0
    assert capsys.readouterr().out.startswith("verdict: healthy")
    assert main(["doctor", "--run", str(written(steps(200, lambda n: 100.0))), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert (result["verdict"], result["healthy"], len(result["episodes"])) == ("data", False, 1)


@pytest.mark.slow
def test_a_real_run_is_explained(trained_run):
    explanation = explain(trained_run[0])
    assert explanation.steps == 44
    assert explanation.late_traces == 0
