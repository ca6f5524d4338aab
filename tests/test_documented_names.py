"""The names that the design promises, used as it shows them: one script from settings to report, each flag, each file.

What single names do in detail is tested in their rooms; here they are called together, as a reader of the manual would.
"""

import inspect
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest
import tensorflow as tf
from corpora import write_corpus
from training.stand_in import build_stand_in

from myxtts.cli import _parser
from myxtts.cli.train import settings_of
from myxtts.config.config import XTTSConfig, load, preset_names
from myxtts.data.ljspeech import LJSpeechDataset
from myxtts.data.starting_points import starting_point
from myxtts.data.tf_native_loader import TFNativeDataLoader
from myxtts.machine.description import describe_machine
from myxtts.monitor import start_monitor
from myxtts.training import setup
from myxtts.training.run_log import read_log
from myxtts.training.trainer import XTTSTrainer
from myxtts.utils import commons, performance

ROOT = Path(__file__).parents[1]
TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("documented") / "voice", 24, (0.4, 1.0))


def python(code: str, *words, cwd: Path) -> subprocess.CompletedProcess:
    """A script as a user runs it, with the tests' small model at hand."""
    script = cwd / "script.py"
    script.write_text(code, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS / "training")])}
    command = [sys.executable, str(script), *map(str, words)]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return done


# ---- from settings to report -----------------------------------------------------------------------------------------

# Without `if __name__ == "__main__"`, as people write in a first script.
SNIPPET = """
import sys
from small_run import SMALL
from myxtts.models.sizes import SIZES
SIZES["tiny"] = SMALL    # the only line that is not for a user

import json
from myxtts.cache.reader import Cache
from myxtts.config.config import DataConfig, ModelConfig, TrainingConfig, XTTSConfig
from myxtts.data.ljspeech import LJSpeechDataset
from myxtts.data.pipeline import Feed
from myxtts.training.setup import build_model
from myxtts.training.trainer import XTTSTrainer
from myxtts.utils.commons import auto_tune_performance_settings
from myxtts.utils.performance import get_performance_monitor, print_performance_report, start_performance_monitoring

config = XTTSConfig(
    data=DataConfig(
        dataset_path=sys.argv[1], batch_size=8, num_workers=2, prefetch_buffer_size=4, shuffle_buffer_multiplier=20,
        enable_memory_mapping=True, cache_verification=True, memory_cache=False, preprocessing_mode="precompute",
        use_tf_native_loading=True, enhanced_gpu_prefetch=True, optimize_cpu_gpu_overlap=True, prefetch_to_gpu=True,
        auto_tune_performance=False, auto_rebuild_token_cache=True, auto_rebuild_mel_cache=True, max_mel_frames=800,
        text_tokens="characters", num_buckets=1,
    ),
    model=ModelConfig(size="tiny"),
    training=TrainingConfig(
        enable_graph_mode=True, enable_xla_compilation=False, enable_eager_debug=False, gradient_accumulation_steps=1,
        steps=3, sample_steps=0,
    ),
)
monitor = start_performance_monitoring()

dataset = LJSpeechDataset(sys.argv[1], config)
mels = dataset.precompute_mels(num_workers=2, overwrite=False)
tokens = dataset.precompute_tokens(num_workers=2, overwrite=False)
train = dataset.create_tf_dataset(batch_size=8, use_cache_files=True, memory_cache=False, num_parallel_calls=2)
types = [(spec.dtype.name, spec.shape.rank) for spec in train.element_spec]

model = build_model(config, Feed(Cache(dataset.cache_path), config))
trained = XTTSTrainer(config, model).train(train, train)

print_performance_report()
report = dataset.get_performance_report()

mel = dataset.cache_path / "mel.npy"
with open(mel, "r+b") as file:
    file.seek(-100, 2)
    byte = file.read(1)
    file.seek(-100, 2)
    file.write(bytes([byte[0] ^ 1]))
check = dataset.verify_and_fix_cache(fix=True)
again = dataset.verify_and_fix_cache(fix=True)

audio = dataset.audio_processor.load_audio(f"{sys.argv[1]}/wavs/utt00000.wav")
frames = dataset.audio_processor.wav_to_mel(audio).shape
tuned = auto_tune_performance_settings(XTTSConfig())
print(json.dumps({
    "packed": [mels["utterances"], tokens["utterances"]], "types": types, "trained": trained, "report": report,
    "same_monitor": get_performance_monitor() is monitor, "check": check, "again": again, "frames": frames,
    "samples": len(audio), "tuned": tuned.to_dict()["data"],
}))
"""


@pytest.fixture(scope="module")
def snippet(corpus, tmp_path_factory):
    """(what the snippet prints for people, what it found, where it ran)"""
    place = tmp_path_factory.mktemp("snippet")
    lines = python(SNIPPET, corpus, cwd=place).stdout.splitlines()
    return "\n".join(lines[:-1]), json.loads(lines[-1]), place


@pytest.mark.slow
def test_the_snippet_packs_feeds_and_trains(snippet):
    _, shown, place = snippet
    assert shown["packed"] == [24, 24]
    assert shown["types"] == [["int32", 2], ["float32", 3], ["int32", 1], ["int32", 1]]
    assert (shown["trained"]["step"], shown["trained"]["why"]) == (3, "done")
    assert shown["trained"]["best"]["step"] == 3  # it was validated
    assert (place / "runs" / "voice" / "checkpoints" / "last" / "weights.safetensors").is_file()


def test_the_snippet_was_monitored_from_its_first_line(snippet):
    printed, shown, _ = snippet
    assert "3 steps" in printed
    assert shown["same_monitor"], "training goes on in the monitor that was started"
    monitor = shown["report"]["monitor"]
    assert (monitor["steps"], monitor["counters"]["step.traces"]) == (3, 1)
    assert monitor["counters"]["loader.mapped"] == 2  # the dataset's, and the one that the model was built from
    assert (shown["report"]["dataset"]["loader"], shown["report"]["cache"]["utterances"]) == ("mapped", 24)


def test_the_snippet_mends_the_byte_that_it_damaged(snippet):
    _, shown, _ = snippet
    assert (shown["check"]["damaged"], shown["check"]["repaired"], shown["check"]["intact"]) == (1, 1, True)
    assert len(shown["check"]["damaged_utterances"]) == 1
    assert (shown["again"]["damaged"], shown["again"]["intact"]) == (0, True)


def test_the_rest_of_the_snippet(snippet):
    _, shown, _ = snippet
    assert shown["frames"] == [-(-shown["samples"] // 256), 80]
    assert shown["tuned"].keys() == XTTSConfig().to_dict()["data"].keys()
    assert 1 <= shown["tuned"]["num_workers"] <= 24


# ---- names and defaults ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (LJSpeechDataset, ["data_path", "config"]),
        (LJSpeechDataset.precompute_mels, ["num_workers", "overwrite"]),
        (LJSpeechDataset.precompute_tokens, ["num_workers", "overwrite"]),
        (LJSpeechDataset.create_tf_dataset, ["batch_size", "use_cache_files", "memory_cache", "num_parallel_calls"]),
        (LJSpeechDataset.verify_and_fix_cache, ["fix"]),
        (LJSpeechDataset.get_performance_report, []),
        (TFNativeDataLoader.load_and_process_audio, ["audio_path", "max_length"]),
        (performance.PerformanceMonitor.log_step_timing, ["data_seconds", "compute_seconds", "batch"]),
        (performance.start_performance_monitoring, []),
        (performance.print_performance_report, []),
        (performance.get_performance_monitor, []),
        (commons.auto_tune_performance_settings, ["config"]),
        (XTTSTrainer, ["config", "model"]),
        (XTTSTrainer.train, ["train_dataset", "val_dataset"]),
    ],
)
def test_arguments_have_their_documented_names_and_places(function, names):
    parameters = [name for name in inspect.signature(function).parameters if name != "self"]
    assert parameters[: len(names)] == names
    others = [each for each in inspect.signature(function).parameters.values() if each.name not in ("self", *names)]
    assert all(each.default is not inspect.Parameter.empty for each in others), "nothing else has to be given"


DEFAULTS = {
    "data": {
        "dataset_path": None, "batch_size": 56, "num_workers": 18, "prefetch_buffer_size": 12,
        "shuffle_buffer_multiplier": 20, "enable_memory_mapping": True, "cache_verification": True,
        "memory_cache": False, "preprocessing_mode": "precompute", "use_tf_native_loading": True,
        "enhanced_gpu_prefetch": True, "optimize_cpu_gpu_overlap": True, "prefetch_to_gpu": True,
        "auto_tune_performance": True, "auto_rebuild_token_cache": True, "auto_rebuild_mel_cache": True,
        "max_mel_frames": 1720,
    },
    "training": {
        "enable_graph_mode": True, "enable_xla_compilation": False, "enable_eager_debug": False,
        "gradient_accumulation_steps": 1,
    },
}  # fmt: skip


def test_documented_keys_and_their_defaults():
    config = XTTSConfig().to_dict()
    assert {section: {key: config[section][key] for key in keys} for section, keys in DEFAULTS.items()} == DEFAULTS


@pytest.mark.parametrize(
    ("preset", "expected"),
    [("gpu_24gb", (32, 24, 32, 1)), ("gpu_24gb_older", (24, 16, 24, 1)), ("gpu_12gb", (8, 8, 8, 2))],
)
def test_presets_hold_what_the_design_says(preset, expected):
    assert preset in preset_names()
    config = load(preset=preset)
    data = config.data.batch_size, config.data.num_workers, config.data.prefetch_buffer_size
    assert (*data, config.training.gradient_accumulation_steps) == expected


def test_config_yaml_is_the_defaults():
    assert load(ROOT / "configs" / "config.yaml") == XTTSConfig()


# ---- train_main.py ---------------------------------------------------------------------------------------------------


@pytest.fixture
def train_main(monkeypatch, tmp_path):
    """`python train_main.py WORDS`, with a model that costs nothing; returns the config that the run was made with."""
    monkeypatch.setattr("myxtts.training.start.build_model", build_stand_in)
    monkeypatch.chdir(tmp_path)

    def run(*words) -> XTTSConfig:
        quick = ["--run", "run", "--steps", "2", "--set", "training.enable_graph_mode=false"]
        monkeypatch.setattr(sys, "argv", ["train_main.py", *map(str, words), *quick])
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(ROOT / "train_main.py"), run_name="__main__")
        assert end.value.code == 0
        return XTTSConfig.from_yaml("run/config.yaml")

    return run


def test_train_main_takes_every_documented_flag(corpus, tmp_path, train_main):
    other = write_corpus(tmp_path / "other", 12, (0.4, 0.8))
    (tmp_path / "my.yaml").write_text("data: {text_tokens: characters, num_buckets: 1, reference_frames: 32}")
    config = train_main(
        "--mode", "train", "--train-data", corpus, "--val-data", other, "--batch-size", 6, "--num-workers", 3,
        "--optimization-level", "basic", "--preprocessing-mode", "on_the_fly", "--prefetch-buffer-size", 5,
        "--disable-tf-native-loading", "--disable-gpu-prefetch", "--disable-cpu-gpu-overlap",
        "--config", tmp_path / "my.yaml",
    )  # fmt: skip
    data = config.data
    assert (data.batch_size, data.num_workers, data.prefetch_buffer_size) == (6, 3, 5)
    assert (data.preprocessing_mode, data.text_tokens, data.num_buckets) == ("on_the_fly", "characters", 1)
    off = (data.use_tf_native_loading, data.prefetch_to_gpu, data.enhanced_gpu_prefetch, data.optimize_cpu_gpu_overlap)
    assert not any(off)
    assert config.training.precision == "float32"
    (start,) = (line for line in read_log(tmp_path / "run") if line["kind"] == "start")
    assert start["feed"]["payload"] == ["audio"]
    assert [line["step"] for line in read_log(tmp_path / "run") if line["kind"] == "validation"] == [2]


@pytest.mark.slow
def test_train_main_reads_configs_config_yaml_whenever_it_is_there(corpus, tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.setattr("myxtts.training.start.build_model", build_stand_in)
    script = Path(shutil.copy(ROOT / "train_main.py", tmp_path))
    (tmp_path / "configs").mkdir()
    file = tmp_path / "configs" / "config.yaml"
    file.write_text("data: {text_tokens: characters, num_buckets: 1, batch_size: 7}\ntraining: {sample_steps: 0}")

    def run(name, *words) -> XTTSConfig:
        quick = [
            "--train-data",
            corpus,
            "--run",
            tmp_path / name,
            "--steps",
            "1",
            "--set",
            "training.precision=float32",
        ]
        monkeypatch.setattr(sys, "argv", ["train_main.py", *map(str, [*words, *quick])])
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(script), run_name="__main__")
        assert end.value.code == 0
        return XTTSConfig.from_yaml(tmp_path / name / "config.yaml")

    config = run("flags", "--batch-size", 5)
    assert (config.data.batch_size, config.data.num_buckets, config.training.sample_steps) == (5, 1, 0)
    notice = f"settings of {file}: data.text_tokens=characters, data.num_buckets=1, training.sample_steps=0"
    assert notice in caplog.text  # the batch size is the flag's
    (tmp_path / "other.yaml").write_text("data: {text_tokens: characters, batch_size: 3}\ntraining: {sample_steps: 0}")
    assert run("named", "--config", tmp_path / "other.yaml").data.batch_size == 3
    assert str(file) not in caplog.text.split("other.yaml")[-1]
    file.unlink()
    machines = starting_point(describe_machine())
    assert run("none", "--set", "training.sample_steps=0").data.batch_size == machines["batch_size"]


def test_a_performance_report_comes_every_ten_epochs(tmp_path):
    from small_models import describe, make_batch
    from training.stand_in import StandInModel

    config = XTTSConfig.from_dict({"training": {"epochs": 25, "enable_graph_mode": False, "sample_steps": 0}})
    data = tf.data.Dataset.from_tensors(make_batch(2, 8, 4)).repeat(2)
    XTTSTrainer(config, StandInModel(describe()), tmp_path).train(data)
    reports = [line["step"] for line in read_log(tmp_path) if line["kind"] == "report"]
    assert reports == [20, 40, 50]  # two steps an epoch; the last at the end


# ---- each --disable-* flag changes what runs -------------------------------------------------------------------------

# Two logical CPU devices stand in for a host and a GPU, which needs a process of its own.
DISABLE = """
import json, logging, sys, threading
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from stand_in import build_stand_in
from myxtts.cli import main
from myxtts.monitor import current_monitor, start_monitor
from myxtts.training import source, start
from myxtts.training.step import Step

source.first_gpu = lambda: "/CPU:1"
start.build_model = build_stand_in
run, seen = Step.run, []

def watched(self, batch, step):
    names = [thread.name for thread in threading.enumerate()]
    seen.append((batch["mel"].device[-5:], "myxtts-ahead" in names))
    return run(self, batch, step)

Step.run = watched
for number, flags in enumerate(json.loads(sys.argv[2])):
    seen.clear()
    monitor = start_monitor()
    words = ["train", "--train-data", sys.argv[1], "--run", f"run{number}", "--steps", "3", *flags]
    for setting in ("data.text_tokens=characters", "data.num_buckets=1", "data.batch_size=4",
                    "training.enable_graph_mode=false", "training.sample_steps=0"):
        words += ["--set", setting]
    sys.stderr.write(f"RUN {number}\\n")
    assert main(words) == 0
    loaders = {name: count for name, count in monitor.counters.items() if name.startswith("loader.")}
    print("SEEN", json.dumps({"steps": seen, "loaders": loaders}))
"""


@pytest.mark.slow
def test_disable_flags_change_what_training_runs(corpus, tmp_path):
    flags = [[], ["--disable-gpu-prefetch"], ["--disable-cpu-gpu-overlap"], ["--disable-tf-native-loading"]]
    done = python(DISABLE, corpus, json.dumps(flags), cwd=tmp_path)
    usual, on_host, in_turn, no_native = (
        json.loads(line[5:]) for line in done.stdout.splitlines() if line.startswith("SEEN ")
    )
    assert usual["steps"] == [["CPU:1", True]] * 3, "on the device before the step, and made ahead"
    assert on_host["steps"] == [["CPU:0", True]] * 3
    assert in_turn["steps"] == [["CPU:1", False]] * 3
    # Training decodes nothing, so the third flag has nothing to change there; which is said, and only then.
    assert no_native["loaders"] == usual["loaders"] == {"loader.mapped": 2}  # to train and to validate
    said = [part for part in done.stderr.split("RUN ") if "is for loaders that open a file per utterance" in part]
    assert [part[0] for part in said] == ["3"]


@pytest.mark.parametrize(("flag", "loader"), [([], "native"), (["--disable-tf-native-loading"], "python")])
def test_disable_tf_native_loading_decides_who_decodes_files(corpus, flag, loader):
    arguments = _parser().parse_args(["train", *flag, "--batch-size", "8", "--set", "data.text_tokens=characters"])
    monitor = start_monitor()
    dataset = LJSpeechDataset(corpus, settings_of(arguments)).create_tf_dataset(use_cache_files=False)
    rows = sum(len(tokens) for tokens, *_ in dataset)
    assert rows == 24
    assert [name for name in monitor.counters if name.startswith("loader.")] == [f"loader.{loader}"]
    assert monitor.counters["python_path"] == (rows if loader == "python" else 0)


# ---- by itself on a GPU ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capability", "precision"), [((9, 0), "bfloat16"), ((8, 0), "bfloat16"), ((7, 5), "float16"), ((6, 1), "float32")]
)
def test_precision_and_memory_growth_on_a_gpu_need_no_setting(monkeypatch, capability, precision):
    grown = []
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: ["gpu 0", "gpu 1"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda gpu: {"compute_capability": capability})
    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", lambda gpu, on: grown.append((gpu, on)))
    setup.prepare_tensorflow(XTTSConfig())
    assert grown == [("gpu 0", True), ("gpu 1", True)]
    assert setup.precision_for(XTTSConfig()) == precision
