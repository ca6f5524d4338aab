"""The documented Python way, `create_tf_dataset` -> `XTTSTrainer.train`, has what a `Feed` has.

Each test is for the packed dataset and for the one that reads files; the second is what `use_cache_files=False` gives.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from corpora import write_corpus, write_tone
from small_data import small_config
from small_models import describe, make_batch, make_model
from small_run import SMALL
from stand_in import StandInModel, build_stand_in

from myxtts.cli import main
from myxtts.data.file_feed import FileFeed
from myxtts.data.ljspeech import LJSpeechDataset
from myxtts.data.pipeline import Feed
from myxtts.data.tuples import feed_behind
from myxtts.errors import TrainingError
from myxtts.models import sizes
from myxtts.monitor import start_monitor
from myxtts.training.run_log import read_log
from myxtts.training.setup import build_model
from myxtts.training.step import Step
from myxtts.training.trainer import XTTSTrainer
from myxtts.utils.performance import start_performance_monitoring

UTTERANCES = 21
PACKED = pytest.mark.parametrize("packed", [True, False], ids=["packed", "files"])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("python-way") / "voice", UTTERANCES, (0.4, 1.2))


def dataset_of(corpus, config, packed=True, **options) -> tf.data.Dataset:
    return LJSpeechDataset(corpus, config).create_tf_dataset(use_cache_files=packed, **options)


def train(run, data, val=None, config=None) -> dict:
    start_monitor()
    return XTTSTrainer(config, build_stand_in(config, data), run).train(data, val)


def lines(run, kind):
    return [line for line in read_log(run) if line["kind"] == kind]


@PACKED
def test_its_length_is_known_so_epochs_end_a_run_and_reports_come(corpus, tmp_path, packed):
    config = small_config({"batch_size": 8, "num_buckets": 2}, epochs=20, enable_graph_mode=False)
    data = dataset_of(corpus, config, packed)
    per_epoch = len(data)
    assert per_epoch == int(data.cardinality()) == sum(1 for _ in data) >= 3
    summary = train(tmp_path / "run", data, config=config)
    assert summary["step"] == 20 * per_epoch
    reports = [line["step"] for line in lines(tmp_path / "run", "report")]
    assert reports == [10 * per_epoch, 20 * per_epoch]
    assert lines(tmp_path / "run", "start")[0]["feed"]["steps_per_epoch"] == per_epoch


@PACKED
def test_nothing_is_traced_after_the_start(corpus, tmp_path, packed):
    config = small_config({"batch_size": 4, "num_buckets": 3}, epochs=3, validation_steps=8)
    data, val = (dataset_of(corpus, config, packed) for _ in range(2))
    shapes = {tuple(batch[1].shape) for batch in data}
    assert len(shapes) > 3, "by hand there are the real rows only, so short batches have shapes of their own"
    summary = train(tmp_path / "run", data, val, config=config)
    assert summary["traces_after_start"] == 0
    assert {line["batch"] for line in lines(tmp_path / "run", "step")} == {4}
    assert [line["step"] for line in lines(tmp_path / "run", "validation")] == [8, 16, 3 * len(data)]


@PACKED
@pytest.mark.parametrize("overlap", [True, False])
def test_the_overlap_with_the_device_is_as_the_setting_says(corpus, tmp_path, monkeypatch, packed, overlap):
    config = small_config({"optimize_cpu_gpu_overlap": overlap}, steps=4, validation_steps=2, enable_graph_mode=False)
    data, val = (dataset_of(corpus, config, packed) for _ in range(2))
    threads, run, measure = [], Step.run, StandInModel.validation_of

    def watched(work):
        def watch(self, *arguments):
            threads.append("myxtts-ahead" in [thread.name for thread in threading.enumerate()])
            return work(self, *arguments)

        return watch

    monkeypatch.setattr(Step, "run", watched(run))
    monkeypatch.setattr(StandInModel, "validation_of", watched(measure))
    train(tmp_path / "run", data, val, config=config)
    assert len(threads) > 4
    assert set(threads) == {overlap}


@pytest.mark.parametrize("kind", ["packed", "files", "plain"])
def test_the_trained_model_has_a_voice_of_its_own(corpus, tmp_path, monkeypatch, kind):
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)
    config = small_config(steps=1, enable_graph_mode=False)
    data = dataset_of(corpus, config, kind != "files")
    model = build_model(config, data)
    data = data.take(2) if kind == "plain" else data  # which no longer has a feed behind it
    assert (feed_behind(data) is None) == (kind == "plain")
    XTTSTrainer(config, model, tmp_path / "run").train(data)
    words = ["say", "The quick brown fox.", "--model", str(tmp_path / "run"), "-o", str(tmp_path / "fox.wav")]
    assert main(words) == 0
    assert (tmp_path / "fox.wav").stat().st_size > 1000


def test_the_model_is_built_from_the_dataset_alone(corpus, monkeypatch):
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)
    config = small_config()
    packed, files = (build_model(config, dataset_of(corpus, config, packed)) for packed in (True, False))
    assert packed.description == files.description
    np.testing.assert_allclose(packed.mel_mean, files.mel_mean, rtol=1e-3)
    with pytest.raises(TrainingError, match="cannot build a model for a list: give a Feed"):
        build_model(config, [1, 2])


@PACKED
def test_languages_are_numbered_as_the_model_numbers_them(tmp_path, packed):
    folder = tmp_path / "voice"
    for n in range(8):
        write_tone(folder / "wavs" / f"{n}.wav", 0.5, n)
    rows = [f"{n}|Word {n}.|Word {n}.|me|{'fa' if n % 2 else 'en-us'}\n" for n in range(8)]
    (folder / "metadata.csv").write_text("".join(rows), encoding="utf-8")
    config = small_config({"batch_size": 8, "normalise_text": False}, steps=1, enable_graph_mode=False)
    data = dataset_of(folder, config, packed)
    list(data)  # what was read before does not decide
    seen = []

    class Watching(StandInModel):
        def losses_of(self, batch, seed, step):
            seen.append(
                dict(zip(batch["tokens"][:, 6].numpy().tolist(), batch["language"].numpy().tolist(), strict=True))
            )
            return super().losses_of(batch, seed, step)

    table = feed_behind(data).token_tables[0].symbols
    model = Watching(describe(token_table=list(table), languages=["de", "fa", "en-us"]))
    XTTSTrainer(config, model, tmp_path / "run").train(data)
    assert seen[0] == {table.index(str(n)): 1 if n % 2 else 2 for n in range(8)}
    with pytest.raises(TrainingError, match=r"the data has en-us, fa, the model was built for de"):
        XTTSTrainer(config, Watching(describe(token_table=list(table), languages=["de"])), tmp_path / "b").train(data)
    with pytest.raises(TrainingError, match="numbers its tokens differently"):
        XTTSTrainer(config, Watching(describe(languages=["fa", "en-us"])), tmp_path / "c").train(data)


def test_native_loading_sends_samples_and_the_step_makes_the_mel(corpus, tmp_path):
    config = small_config(steps=1, enable_graph_mode=False)
    feed = feed_behind(dataset_of(corpus, config, packed=False))
    assert isinstance(feed, FileFeed)
    assert feed.describe()["payload"] == ["audio"]
    batch = next(feed.batches())
    assert (batch["audio"].dtype, batch["audio"].shape[2]) == (tf.int16, 256)
    assert "mel" not in batch
    assert [spec["audio"].dtype for spec in feed.batch_specs()] == [tf.int16] * len(feed.table.frames)


# ---- two devices -----------------------------------------------------------------------------------------------------

# Two logical CPU devices stand in for a host and a GPU, which needs a process of its own.
STAGED = """
import json, sys
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from stand_in import build_stand_in
from small_data import small_config
from myxtts.data import device, ljspeech
device.first_gpu = ljspeech.first_gpu = lambda: "/CPU:1"
from myxtts.data.ljspeech import LJSpeechDataset
from myxtts.doctor.configured import pipeline_of
from myxtts.training import source
from myxtts.training.step import Step
from myxtts.training.trainer import XTTSTrainer
source.first_gpu = device.first_gpu
run, seen = Step.run, {}

def watched(self, batch, step):
    seen.setdefault(place, set()).update(part.device[-5:] for name, part in batch.items() if name in ("mel", "audio"))
    return run(self, batch, step)

Step.run = watched
config = small_config({"dataset_path": sys.argv[1]}, steps=5, enable_graph_mode=False)
for place, packed in (("packed", True), ("files", False)):
    data = LJSpeechDataset(sys.argv[1], config).create_tf_dataset(use_cache_files=packed)
    seen[f"{place} by hand"] = {batch[1].device[-5:] for batch in data}
    seen[f"{place} length"] = {len(data)}
    model = build_stand_in(config, data)
    XTTSTrainer(config, model, place).train(data)
place = "somebody's"
plain = tf.data.Dataset.from_tensors(next(iter(data))).apply(tf.data.experimental.prefetch_to_device("/CPU:1", 2))
XTTSTrainer(config, model, "plain").train(plain)
for place, path in (("doctor files", sys.argv[1]), ("doctor packed", sys.argv[1] + "/cached_features/voice.cache")):
    if place == "doctor files":
        import shutil
        shutil.move(sys.argv[1] + "/cached_features", "kept")
    else:
        shutil.move("kept", sys.argv[1] + "/cached_features")
    config.data.dataset_path = path
    batches = iter(pipeline_of(config)[0])
    batch = [next(batches) for _ in range(8)][-1]
    seen[place] = {(batch["mel"] if "mel" in batch else batch["audio"]).device[-5:]}
print("SEEN", json.dumps({name: sorted(devices) for name, devices in seen.items()}))
"""


@pytest.mark.slow
def test_batches_stay_on_the_device_they_were_staged_on(tmp_path):
    corpus = write_corpus(tmp_path / "voice", 12, (0.4, 0.8))
    (tmp_path / "script.py").write_text(STAGED)
    places = [str(Path(__file__).parent), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
    command = [sys.executable, "script.py", str(corpus)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("SEEN "))
    seen = json.loads(line[5:])
    assert seen.pop("packed length") == seen.pop("files length") == [2]
    assert len(seen) == 7
    assert set(map(tuple, seen.values())) == {("CPU:1",)}, seen


# ---- the documented loop ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["parts", "tuple", "dict"])
def test_the_documented_loop_by_hand(tmp_path, how):
    """As the older documents show it, clocks included: what it waited and computed is passed in seconds."""
    start_performance_monitoring()
    config = small_config(enable_graph_mode=False)
    trainer = XTTSTrainer(config, StandInModel(describe()), tmp_path)
    rows = make_batch(8, 32, 8)
    four = tuple(rows[name] for name in ("tokens", "mel", "token_lengths", "frame_lengths"))
    batches = iter(tf.data.Dataset.from_tensors(rows if how == "dict" else four).repeat())
    losses = []
    began = time.perf_counter()
    for _ in range(30):
        data_start_time = time.perf_counter()
        batch = next(batches)
        data_loading_time = time.perf_counter() - data_start_time
        compute_start_time = time.perf_counter()
        step_losses = trainer.train_step(*batch) if how == "parts" else trainer.train_step(batch)
        compute_time = time.perf_counter() - compute_start_time
        trainer.performance_monitor.log_step_timing(data_loading_time, compute_time, 8)
        losses.append(step_losses["loss"])
    seconds = time.perf_counter() - began
    assert losses[-1] < losses[0]
    timings = trainer.performance_monitor.summary()["timings"]["all"]
    assert timings["steps"] == 30
    assert 0.5 * seconds <= timings["total_ms"]["mean"] * 30 / 1e3 <= seconds
    assert trainer.performance_monitor is trainer.monitor


def test_the_real_model_takes_a_step_by_hand(corpus, tmp_path, monkeypatch):
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)
    trainer = XTTSTrainer(small_config(enable_graph_mode=False), make_model(), tmp_path)
    rows = make_batch(2, 32, 8)
    numbers = trainer.train_step(*(rows[name] for name in ("tokens", "mel", "token_lengths", "frame_lengths")))
    assert np.isfinite(numbers["loss"])
    assert isinstance(feed_behind(dataset_of(corpus, small_config())), Feed)
