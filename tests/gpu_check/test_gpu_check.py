"""`myxtts gpu-check`: without a GPU it says so and leaves its file; its checks run on CPUs that stand in for one."""

import getpass
import json
import subprocess
import sys
from pathlib import Path

import pytest
from corpora import feed_config
from training.small_run import SMALL

from myxtts.cli import main
from myxtts.doctor import observe
from myxtts.errors import CorpusError
from myxtts.gpu_check import check as gpu_check
from myxtts.gpu_check import device as gpu_checks
from myxtts.gpu_check import training as gpu_training_checks
from myxtts.gpu_check.check import GpuCheck, nameless
from myxtts.gpu_check.device import Failed, Skipped
from myxtts.models import sizes
from myxtts.training import start_from
from myxtts.training.run_log import RunLog, read_log

NAMES = ["device", "memory growth", "precision", "xla", "data", "staging", "doctor", "training"]


@pytest.fixture
def small(monkeypatch, briefly):
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)
    monkeypatch.setattr(start_from, "BASE_HOURS", 0.0)  # the base voice is not that small
    monkeypatch.setattr(observe, "_SLOW_COMPILE_MS", 0.0)  # no variants of the step, each of which is compiled
    monkeypatch.setattr(gpu_training_checks, "_STAGED_STEPS", 5)


def config_of(**data):
    config = feed_config(num_buckets=1, reference_frames=32, **data)
    config.training.precision = "float32"
    return config


def statuses(outcome):
    return {check.name: check.status for check in outcome.checks}


def test_without_a_gpu_it_says_so_and_leaves_its_file(tmp_path, capsys, monkeypatch):
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        pytest.skip("there is a GPU")
    monkeypatch.chdir(tmp_path)
    assert main(["gpu-check"]) == 2
    printed = capsys.readouterr().out
    assert "no GPU was found" in printed
    assert "next: " in printed
    left = json.loads((tmp_path / "gpu-check.json").read_text())
    assert [check["name"] for check in left["checks"]] == NAMES
    assert [check["status"] for check in left["checks"]] == ["failed"] + 7 * ["skipped"]
    assert left["checks"][0]["found"]["tensorflow"] == tf.__version__
    assert left["machine"]["cores"] >= 1
    assert [path.name for path in tmp_path.iterdir()] == ["gpu-check.json"]  # no demo corpus, nothing half-written


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "two"])
def test_minutes_are_called_minutes(minutes, tmp_path, capsys):
    assert main(["gpu-check", "--minutes", minutes, "--output", str(tmp_path / "x.json")]) == 2
    assert f"--minutes: {minutes} is not a number of minutes above 0" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_json_is_the_file(tmp_path, capsys):
    assert main(["gpu-check", "--json", "--output", str(tmp_path / "x.json")]) == 2
    result, left = json.loads(capsys.readouterr().out), json.loads((tmp_path / "x.json").read_text())
    assert result["checks"] == left["checks"]


@pytest.mark.parametrize(
    ("gpu", "cuda", "reason", "step"),
    [
        ("none: no NVIDIA driver on this machine", False, "no NVIDIA driver", "nvidia-smi"),
        ("1 x Fake GPU", False, "for CPUs", "pip install 'tensorflow[and-cuda]"),
        ("1 x Fake GPU", True, "built with CUDA", "cannot load"),
    ],
)
def test_why_there_is_no_gpu(monkeypatch, gpu, cuda, reason, step):
    import tensorflow as tf

    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: [])
    monkeypatch.setattr(tf.test, "is_built_with_cuda", lambda: cuda)
    cards = [] if gpu.startswith("none") else [{"name": "Fake GPU"}]
    with pytest.raises(Failed, match=reason) as failed:
        gpu_checks.device({"gpu": gpu, "gpus": cards, "driver": None})
    assert step in failed.value.next_step
    assert failed.value.found["gpus"] == []


def test_a_gpu_is_described(monkeypatch):
    import tensorflow as tf

    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: ["card"])
    details = {"device_name": "Fake GPU", "compute_capability": (8, 9)}
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda card: details)
    name, described = gpu_checks.device({"gpu": "1 x Fake GPU", "gpus": [{}], "driver": "0.fake"})
    assert (name, described["driver"]) == ("/GPU:0", "0.fake")
    assert described["gpus"] == [{"name": "Fake GPU", "compute_capability": "8.9"}]


@pytest.mark.slow
def test_everything_on_a_cpu_that_stands_in(small, packed_voice, tmp_path):
    shown = []
    outcome = GpuCheck(config_of(), tmp_path / "x.json", lambda: packed_voice, tmp_path / "run", 0.02, device="/CPU:0")
    outcome.run(shown.append)
    assert shown == NAMES
    seen = {check.name: check for check in outcome.checks}
    assert seen["memory growth"].status == "skipped"
    for name in ("device", "precision", "xla", "data", "staging"):
        assert seen[name].status == "ok", seen[name]
    # A shared machine of two cores may make the doctor or the driver say no; but they must have come to an end.
    for name in ("doctor", "training"):
        assert seen[name].found, seen[name]
    assert set(seen["precision"].found["teraflops"]) == {"float32", "float16", "bfloat16"}
    assert seen["xla"].found["largest_difference"] < 1e-3
    assert seen["data"].found["utterances"] == 40
    assert seen["staging"].found["staged"]["on_device"]
    assert seen["doctor"].found["verdict"]
    training = seen["training"].found
    assert training["steps"] >= 1
    assert 0 < training["predicted_utilisation"] <= 1
    assert training["gpu_utilisation_percent"] is None  # no driver, no number
    assert json.loads((tmp_path / "x.json").read_text())["checks"][-1]["found"]["steps"] == training["steps"]


def test_what_the_driver_says_is_taken_from_while_steps_ran(tmp_path):
    with RunLog(tmp_path) as log:
        for step in range(9):
            log.write("step", step=step, data_ms=1.0 if step < 3 else 2.0, compute_ms=8.0, batch=4)
    last = list(read_log(tmp_path))[-1]["time"]
    gpu = {"gpu0.utilisation_percent": 41.0, "gpu0.sm_activity_percent": 33.0}
    before = {"at": last - 100.0, "gpu0.utilisation_percent": 0.0}
    details = gpu_training_checks._driver_says(tmp_path, [before, {"at": last, **gpu}, {"at": last + 100.0, **gpu}])
    assert (details["gpu_utilisation_percent"], details["gpu_sm_activity_percent"]) == (41.0, 33.0)
    assert details["gpu_power_watts"] is None
    steps = gpu_training_checks._steps_of(tmp_path)
    assert steps["achieved_utilisation"] == 0.8  # of the last two thirds
    assert steps["utterances_per_s"] == pytest.approx(400)


def test_the_judgement_of_training():
    good = {"achieved_utilisation": 0.99, "predicted_utilisation": 0.98, "gpu_utilisation_percent": 95.0}
    gpu_training_checks._judge_training(good)
    gpu_training_checks._judge_training(good | {"gpu_utilisation_percent": None})
    with pytest.raises(Failed, match="waited 20%"):
        gpu_training_checks._judge_training(good | {"achieved_utilisation": 0.8})
    with pytest.raises(Failed, match="the driver says 30 % used, 98 % were predicted"):
        gpu_training_checks._judge_training(good | {"gpu_utilisation_percent": 30.0})


def broken(*_, **__):
    raise RuntimeError("CUDA_ERROR_UNKNOWN")


def test_one_that_fails_does_not_stop_the_others(tmp_path, monkeypatch):
    def no_data():
        raise CorpusError("no voice: run pip install hibari-tts")

    monkeypatch.setattr(gpu_checks, "precision", broken)
    check = GpuCheck(config_of(), tmp_path / "x.json", no_data, tmp_path / "run", 1.0, device="/CPU:0")
    check.run()
    assert check.exit_code == 1
    assert statuses(check) == dict(
        zip(NAMES, ["ok", "skipped", "failed", "ok", "failed", "skipped", "skipped", "skipped"], strict=True)
    )
    assert "RuntimeError: CUDA_ERROR_UNKNOWN" in str(check)
    assert "pip install hibari-tts" in str(check)


def test_a_crash_leaves_behind_which_check_it_was(tmp_path, monkeypatch):
    def crash(*_):
        raise SystemExit  # as near as a test can come to a driver that ends the process

    monkeypatch.setattr(gpu_checks, "xla", crash)
    check = GpuCheck(config_of(), tmp_path / "x.json", broken, tmp_path / "run", 1.0, device="/CPU:0")
    with pytest.raises(SystemExit):
        check.run()
    last = json.loads((tmp_path / "x.json").read_text())["checks"][-1]
    assert (last["name"], last["status"]) == ("xla", "running")


def test_nobody_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/srv/people/anna"))
    monkeypatch.setattr(getpass, "getuser", lambda: "anna")
    monkeypatch.setattr(gpu_check.socket, "gethostname", lambda: "annas-box")
    given = {"/srv/people/anna/x": ["/home/bela/voice", "by anna on annas-box, not savannah"], "n": (1, None, "root")}
    assert nameless(given) == {"~/x": ["~/voice", "by somebody on somebody, not savannah"], "n": [1, None, "root"]}
    config = config_of(dataset_path="/data/anna-recordings/me.cache")
    check = GpuCheck(config, tmp_path / "x.json", broken, tmp_path / "run")
    check.write()
    text = (tmp_path / "x.json").read_text()
    assert "anna" not in text
    assert json.loads(text)["config"]["data"]["dataset_path"] == "me.cache"
    assert config.data.dataset_path == "/data/anna-recordings/me.cache"


def test_memory_growth_is_for_gpus():
    with pytest.raises(Skipped, match="is not a GPU"):
        gpu_checks.memory_growth("/CPU:0")


TWO_DEVICES = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
sys.path.insert(0, sys.argv[1])
from corpora import feed_config
from myxtts.gpu_check import device as gpu_checks
from myxtts.gpu_check import training as gpu_training_checks
gpu_training_checks._STAGED_STEPS = 5
stages = gpu_training_checks.staging(feed_config(num_buckets=2), sys.argv[2], "/CPU:1")
assert stages["staged"]["on_device"] and not stages["not_staged"]["on_device"], stages
assert gpu_checks.precision(feed_config(), "/CPU:1")["teraflops"]["float32"] > 0
"""


@pytest.mark.slow
def test_staging_is_told_from_not_staging_on_two_devices(packed_voice):
    command = [sys.executable, "-c", TWO_DEVICES, Path(__file__).parents[1], packed_voice]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
