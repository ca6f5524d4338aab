"""`myxtts doctor` as a user types it, on a corpus of forty clips. The pipelines are built and run; the times are those
that were recorded, so that it does not matter what else this machine does (live: `benchmarks/gallery.py`)."""

import contextlib
import io
import json
import runpy
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from corpora import feed_config

from myxtts.cache.manifest import is_cache
from myxtts.cache.pack import default_cache
from myxtts.cli import main
from myxtts.doctor import diagnosis
from myxtts.doctor.diagnosis import judge
from myxtts.doctor.measurements import Measurements
from myxtts.doctor.structure import PYTHON_OPS
from myxtts.doctor.treatment import apply, treat

GALLERY = {row["case"]: row for row in json.loads(Path(__file__).with_name("gallery.json").read_text())}
DOCTOR = ["doctor", "--step-ms", "0.1"]


@pytest.fixture(autouse=True)
def recorded_times(monkeypatch):
    """Of a pipeline with Python in it those of one, of any other those of a healthy one; the structure is its own."""

    def observe(data, step, progress, structure, most_batches):
        for what in ("loader", "device", "loop", "step"):
            progress(what)
        step(next(iter(data)))
        python = structure.count(PYTHON_OPS)
        times = Measurements.from_dict(
            GALLERY["Python function per utterance" if python else "healthy: packed"]["measured"]
        )
        return replace(times, structure=structure, python_calls_per_batch=16.0 if python else 0.0)

    monkeypatch.setattr(diagnosis, "observe", observe)


@pytest.fixture
def corpus(corpus_folder, tmp_path):
    return Path(shutil.copytree(corpus_folder, tmp_path / "voice"))


@pytest.fixture
def sick(corpus, tmp_path):
    """A config that reads every file in Python."""
    path = tmp_path / "sick.yaml"
    data = {"dataset_path": str(corpus), "batch_size": 16, "use_tf_native_loading": False, "num_workers": 2,
            "text_tokens": "characters", "prefetch_buffer_size": 2}  # fmt: skip
    path.write_text(yaml.safe_dump({"data": data}))
    return path


def run(*words):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = main([*map(str, words)])
    return code, printed.getvalue()


def files_of(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_packed_cache_is_healthy(packed_voice, capsys):
    before = files_of(packed_voice)
    code, printed = run("doctor", "--step-ms", 0.5, "--data", packed_voice, "--batch-size", 8)
    assert "verdict: healthy (the device)" in printed
    assert printed.startswith("device: emulated, 0.5 ms a step")
    assert code == 0
    assert files_of(packed_voice) == before
    assert "Traceback" not in capsys.readouterr().err


KEYS = {"device", "verdict", "limiting", "healthy", "evidence", "cures", "shares", "rates", "utterances_per_second",
        "utilisation", "measured", "treatment"}  # fmt: skip


def test_python_for_every_file_is_found_and_cured_in_a_new_config(sick, corpus, tmp_path):
    config, files = sick.read_bytes(), files_of(corpus)
    code, printed = run(*DOCTOR, "--config", sick, "--json")
    result = json.loads(printed)
    assert (code, result["verdict"], result["treatment"]) == (1, "python_function", None)
    assert set(result) == KEYS
    assert result["measured"]["python_calls_per_batch"] > 0
    assert files_of(corpus) == files  # nothing is made without --fix
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sick.yaml", "voice"]

    code, printed = run(*DOCTOR, "--config", sick, "--fix", "--json")
    treated = json.loads(printed)
    treatment = treated["treatment"]
    assert set(treated) == KEYS
    assert set(treatment) == {"config", "cure", "predicted_gain", "achieved_gain", "after"}
    assert treatment["config"] == str(tmp_path / "sick.fixed.yaml")
    assert code == (0 if treatment["after"]["healthy"] else 1)
    assert treatment["after"]["measured"]["python_calls_per_batch"] == 0
    assert treatment["predicted_gain"] >= 1.1
    assert sick.read_bytes() == config
    cache = default_cache(corpus)
    assert is_cache(cache)
    assert {path: data for path, data in files_of(corpus).items() if cache.parent not in path.parents} == files
    assert yaml.safe_load((tmp_path / "sick.fixed.yaml").read_text())["data"]["dataset_path"] == str(cache)

    code, printed = run(*DOCTOR, "--config", tmp_path / "sick.fixed.yaml", "--fix")
    assert (code, "predicted" in printed) == (0, False)  # what is healthy is left alone
    assert not (tmp_path / "sick.fixed.fixed.yaml").exists()


def test_predicted_and_achieved_are_printed_and_no_config_is_overwritten(sick, tmp_path, capsys):
    (tmp_path / "sick.fixed.yaml").write_text("mine")
    code, printed = run(*DOCTOR, "--config", sick, "--fix")
    assert "gain predicted" in printed
    assert "achieved" in printed
    assert str(tmp_path / "sick.fixed.2.yaml") in printed
    assert (tmp_path / "sick.fixed.yaml").read_text() == "mine"
    for taken in (sick, tmp_path / "sick.fixed.yaml"):
        assert run(*DOCTOR, "--config", sick, "--fix", "--output", taken)[0] == 2
        assert "exists: name a new file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "nowhere.cache"], "there is no nowhere.cache"),
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
        (["--config", "odd.yaml"], "batch_sise"),
        ([], "no data is named"),
        (["--data", ".", "--step-ms", "0"], "--step-ms 0: expected milliseconds above 0"),
        (["--data", ".", "--step-ms", "nan"], "expected milliseconds above 0"),
        (["--data", ".", "--step-ms", "5", "--real-step"], "one device at a time"),
        (["--data", ".", "--batch-size", "0"], "0 is not a whole number of 1 or more"),
        (["--run", "nowhere"], "found no run there"),
        (["--data", "empty"], "empty"),
    ],
)
def test_what_cannot_be_measured_is_said(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("odd.yaml").write_text("data:\n  batch_sise: 3\n")
    Path("empty").mkdir()
    assert main(["doctor", *words]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert main(["doctor", *words, "--json"]) == 2
    assert message in json.loads(capsys.readouterr().out)["error"]["message"]


def test_a_damaged_cache_is_said(packed_voice, tmp_path, capsys):
    cache = Path(shutil.copytree(packed_voice, tmp_path / "damaged.cache"))
    (cache / "mel.npy").write_bytes((cache / "mel.npy").read_bytes()[:-100])
    assert main([*DOCTOR, "--data", str(cache)]) == 2
    assert "mel.npy" in capsys.readouterr().err


def test_every_stage_is_shown(packed_voice):
    from myxtts.doctor.treatment import examine

    config = feed_config(dataset_path=str(packed_voice))
    said = []
    examine(config, 0.1, said.append)
    assert said == ["data", "loader", "device", "loop", "step"]


def test_a_cure_that_no_setting_brings_changes_nothing(packed_voice, tmp_path):
    """Cold pages of a slow disk: the cache is packed already, and no setting makes a disk faster."""
    config = feed_config(dataset_path=str(packed_voice))
    slow = Measurements(
        batch=8, cores=2, device_ms=5.0, device_cores=0.0, loader_ms=50.0, loader_cores=0.1, idle_cores=1.8,
        loop_ms=50.0, wait_ms=45.0, compute_ms=5.0, disk_mb_per_batch=4.0,
    )  # fmt: skip
    diagnosis = judge(slow)
    assert diagnosis.verdict == "slow_disk"
    assert treat(config, diagnosis, tmp_path / "new.yaml", 5.0) is None
    assert not (tmp_path / "new.yaml").exists()


@pytest.mark.parametrize(
    ("cause", "section", "changed"),
    [
        ("no_prefetch", "data", {"prefetch_buffer_size": 12, "optimize_cpu_gpu_overlap": True}),
        ("tiny_batch", "data", {"batch_size": 16}),
        ("padding_waste", "data", {"num_buckets": 8}),
        ("eager_step", "training", {"enable_graph_mode": True, "enable_eager_debug": False}),
        ("slow_disk", "data", {}),  # packed already
    ],
)
def test_a_cure_changes_the_settings_that_it_names(cause, section, changed, packed_voice):
    config = feed_config(dataset_path=str(packed_voice))
    before = config.to_dict()
    after = apply(config, cause).to_dict()
    assert {name: after[section][name] for name in changed} == changed
    assert config.to_dict() == before
    differs = {name for part in after for name in after[part] if after[part][name] != before[part][name]}
    assert differs <= set(changed)


UTILITY = Path(__file__).parents[2] / "utilities" / "diagnose_gpu_bottleneck.py"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--config", "odd.yaml", "--num-batches", "50"], "batch_sise"),
        (["--data=nowhere"], "there is no nowhere"),
        (["--batch-size", "none", "--data=."], "none is not a whole number"),
    ],
)
def test_the_documented_script_is_the_doctor(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("odd.yaml").write_text("data:\n  batch_sise: 3\n")
    assert runpy.run_path(str(UTILITY))["main"](words) == 2
    assert message in capsys.readouterr().err
