"""No setting does nothing: each key, changed alone, changes something that can be seen.

The table below names for each key another value and where to look. A key without a line in it fails the test.
"""

import dataclasses
import functools
import json
import os
import shutil
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
import soundfile
import tensorflow as tf
from corpora import feed_config, write_corpus
from loopback import FolderServer
from small_models import describe, make_batch, make_model
from training.small_run import SMALL
from training.stand_in import StandInModel

from myxtts.cache.open import open_cache, open_or_pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.cache.shards import pack_shards
from myxtts.config.config import DataConfig, ModelConfig, TrainingConfig, XTTSConfig
from myxtts.data.ljspeech import LJSpeechDataset
from myxtts.data.pipeline import Feed
from myxtts.data.plan import Plan
from myxtts.doctor.configured import pipeline_of
from myxtts.doctor.structure import structure_of
from myxtts.errors import MissingExtra, MyXTTSError, RowError
from myxtts.evaluation.judges import EachSound
from myxtts.features.token_table import TokenTable
from myxtts.models import replica, sizes, weights
from myxtts.models.description import ModelDescription
from myxtts.models.xtts import XTTS
from myxtts.monitor import start_monitor
from myxtts.training.budget import Budget
from myxtts.training.cluster import Cluster
from myxtts.training.replicas import replicas_for
from myxtts.training.run_log import read_log
from myxtts.training.setup import build_model, precision_for, prepare_tensorflow
from myxtts.training.split import split
from myxtts.training.start import assembled, model_for
from myxtts.training.step import Step
from myxtts.training.trainer import XTTSTrainer

UTTERANCES = 24
KEYS = {
    f"{section.section}.{field.name}": field
    for section in (DataConfig, ModelConfig, TrainingConfig)
    for field in dataclasses.fields(section)
}


@pytest.fixture(scope="module", autouse=True)
def small_models():
    """The sizes of the real model, made small."""
    small = {"tiny": SMALL, "small": dataclasses.replace(SMALL, dim=24)}
    with mock.patch.dict(sizes.SIZES, small):
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A packed corpus; of its rows some name speaker and language, and not all the same."""
    folder = write_corpus(tmp_path_factory.mktemp("keys") / "voice", UTTERANCES, (0.4, 1.5))
    rows = (folder / "metadata.csv").read_text(encoding="utf-8").splitlines()
    names = ["|rare|fa" if n < 3 else "|usual|en-us" if n < 20 else "" for n in range(UTTERANCES)]
    cells = ("|".join(row.split("|")[:3]) + name for row, name in zip(rows, names, strict=True))
    (folder / "metadata.csv").write_text("\n".join(cells), encoding="utf-8")
    quiet_ends = np.concatenate([np.full(8000, 3e-3), 0.5 * np.sin(np.arange(20000) / 9), np.full(8000, 1e-4)])
    soundfile.write(folder / "wavs" / "utt00000.wav", quiet_ends, 22050)
    table = TokenTable.base()
    TokenTable([*table.symbols[:5], *reversed(table.symbols[5:])]).save(folder.parent / "other.txt")
    (folder.parent / "words.tsv").write_text("en\ttwenty-one\tone score and one\n", encoding="utf-8")
    LJSpeechDataset(folder, feed_config()).precompute_mels()
    _write_start(folder.parent / "start")
    return folder


def _write_start(folder):
    """A model to start from."""
    folder.mkdir()
    table = list(TokenTable.base().symbols)
    description = ModelDescription(token_table=table, learnt=table, languages=["de"])
    description.save(folder)
    weights.save(folder / "weights.safetensors", weights.weights_of(XTTS(description)))


# ---- where to look ---------------------------------------------------------------------------------------------------
# Each takes a config and the corpus, and returns what it sees: a value that can be compared.


def rows(config, place):
    """Speaker and language of each row, or why the folder cannot be read."""
    try:
        return [(row.speaker, row.language) for row in LJSpeechDataset(place, config).corpus.rows()]
    except MyXTTSError as error:
        return type(error)


def clip(config, place):
    """The first clip as it is packed, or why it is not."""
    try:
        return LJSpeechDataset(place, config).audio_processor.load_audio(place / "wavs" / "utt00000.wav").tobytes()
    except RowError as error:
        return error.reason


def tokens(config, place):
    from myxtts.data.listing import list_corpus

    return list_corpus(LJSpeechDataset(place, config).corpus, config.data).tokens.tolist()


def number_symbols(config, place):
    return PackSettings.from_config(config.data).text.symbols(["21"], "en")


def english_reader(config, place):
    try:
        return PackSettings.from_config(config.data).text.english
    except MissingExtra as error:  # asked for, and not installed
        return str(error)


def feed_of(config, place) -> Feed:
    return Feed(Cache(place / "cached_features" / "voice.cache", config.data.cache_verification), config)


def plan(config, place):
    """Everything that decides the batches of an epoch."""
    made = Plan(Cache(place / "cached_features" / "voice.cache"), config)
    drawn = Counter(int(row) for step in range(made.steps_per_epoch) for row in made.order.batch(step).utterances)
    return [table.describe() for table in made.tables], sorted(drawn.items()), made.payload


def order(config, place):
    return feed_of(config, place).order.batch(0).utterances.tolist()


def in_shards(place) -> Path:
    """The corpus in twelve shards, packed once."""
    folder = place.parent / "shards" / "voice.cache"
    with ThreadPoolExecutor(1) as executor:
        corpus = LJSpeechDataset(place, feed_config()).corpus
        pack_shards(corpus, folder, PackSettings.from_config(feed_config().data), executor, shard_rows=2)
    return folder


def shard_order(config, place):
    """The shards that an epoch begins with."""
    made = Plan(open_cache(in_shards(place)), config)
    return made.describe()["windows"], made.order.batch(0).utterances.tolist()


def mirror(config, place):
    """Where shards of a cache at an address are kept, and how many bytes of them."""
    server = FolderServer(in_shards(place))
    try:
        cache = open_or_pack(server.address, config)
        return cache.folder.parent, json.loads((cache.folder / "remote.json").read_bytes())["limit_bytes"]
    finally:
        server.close()


def batch_fields(config, place):
    return {name: spec.shape.as_list() for name, spec in feed_of(config, place).dataset().element_spec.items()}


def feed_stages(config, place):
    dataset = feed_of(config, place).dataset(device="/CPU:0")
    buffers = [int(part._buffer_size) for part in walk(dataset) if hasattr(part, "_buffer_size")]
    return [stage.kind for stage in structure_of(dataset).stages], buffers


def walk(dataset):
    yield dataset
    for source in dataset._inputs():
        yield from walk(source)


def files_in_memory(config, place):
    """Whether the feed's tensors lie over a copy and not over the mapped file."""
    feed = feed_of(config, place)
    return not np.shares_memory(feed._sources[0]._maps["mel"], feed.caches[0].mel)


def made_ahead(config, place):
    """Whether a batch is there before it is asked for."""
    return feed_of(config, place).batches().__name__


def per_file(config, place):
    """Which loader reads the corpus file by file, with how many threads and what buffer."""
    monitor = start_monitor()
    dataset = LJSpeechDataset(place, config).create_tf_dataset(use_cache_files=False)
    buffers = [int(part._buffer_size) for part in walk(dataset) if "Shuffle" in type(part).__name__]
    return dict(monitor.counters), dataset.options().threading.private_threadpool_size, buffers


def damage_noticed(config, place):
    """What opening a cache with a damaged index says."""
    copy = place.parent / "damaged"
    shutil.copytree(place, copy / "voice", dirs_exist_ok=True)
    index = copy / "voice" / "cached_features" / "voice.cache" / "index.xxh3_mel.npy"
    index.write_bytes(index.read_bytes()[:-1] + b"\0")
    return outcome(lambda: LJSpeechDataset(copy / "voice", config).create_tf_dataset())


def rebuilt(change, config, place):
    """What becomes of a cache that was packed with other settings."""
    copy = place.parent / "rebuilt"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(place, copy / "voice")
    changed = dataclasses.replace(config, data=dataclasses.replace(config.data, **change))
    return outcome(lambda: LJSpeechDataset(copy / "voice", changed).create_tf_dataset())


def outcome(work) -> str:
    try:
        work()
    except MyXTTSError as error:
        return type(error).__name__
    return "done"


def examined(config, place):
    """What the doctor and `train` would read from."""
    return outcome(lambda: pipeline_of(config))


def train_verb(config, place):
    """What `myxtts train` trains with, where nothing but the key is given."""
    from myxtts.cli import main

    done = {"step": 0, "seconds": 0, "why": "", "best": None, "stall": 0, "interrupted": False}
    with mock.patch("myxtts.training.start.start_training", return_value=done) as started:
        chosen = f"data.auto_tune_performance={str(config.data.auto_tune_performance).lower()}"
        words = ["train", "--train-data", str(place), "--set", chosen, "--run", str(place.parent / "run")]
        assert main(words) == 0
    data = started.call_args.args[0].data
    return data.batch_size, data.num_workers, data.prefetch_buffer_size, data.num_buckets


def model(config, place):
    """Parameters of the model, and the terms of its loss."""
    made = build_model(config, feed_of(config, place))
    batch = {name: tf.constant(part) for name, part in make_batch(2, 16, 4).items()}
    losses, _ = made.losses_of(batch, tf.constant([0, 0]), tf.constant(0, tf.int64))
    return made.count_params(), sorted(losses)


def part(config, place):
    return type(model_for(config, feed_of(config, place))).__name__


def first_weights(config, place):
    made = build_model(config, feed_of(config, place))
    return made.decoder.leave.kernel.numpy().tobytes(), made.description.languages


def budget(config, place):
    return Budget.of(config.training, steps_per_epoch=10)


def run_place(config, place):
    return XTTSTrainer(config, StandInModel(describe())).run


def told_to_tensorflow(config, place):
    with (
        mock.patch.object(tf.config.experimental, "enable_op_determinism") as asked,
        mock.patch.object(tf.config.optimizer, "set_experimental_options") as switched,
        mock.patch.object(replica, "clock_runs", True),
    ):
        prepare_tensorflow(config)
        return asked.call_count, switched.call_args_list, replica.clock_runs


def precision(config, place):
    return precision_for(config)


def compiled_by_xla(config, place):
    step = Step(StandInModel(describe()), config.training, 10)
    return step._call._jit_compile


class Slow(StandInModel):
    """0.1 s a step, so that a run of eight takes more than the 0.6 s of the shortest checkpoint interval."""

    def losses_of(self, *arguments):
        time.sleep(0.1)
        return super().losses_of(*arguments)


def run(config, place, *, steps=6, kind=StandInModel, spoil=False, eager=True, validate=False):
    """A run of the stand-in on one batch: what the log and the run directory hold afterwards."""
    folder = place.parent / "runs"
    shutil.rmtree(folder, ignore_errors=True)
    batch = make_batch(8, 32, 8)
    batch["mel"] = batch["mel"] * (np.nan if spoil else 1)
    far = {**batch, "mel": np.full_like(batch["mel"], 20.0)}  # away from what is learnt: it gets worse and worse
    training = dataclasses.replace(config.training, steps=steps)
    if eager:
        training = dataclasses.replace(training, enable_graph_mode=False)
    trainer = XTTSTrainer(XTTSConfig(config.data, config.model, training), kind(describe()), folder)
    try:
        val = tf.data.Dataset.from_tensors(far) if validate else None
        summary = trainer.train(tf.data.Dataset.from_tensors(batch), val)
    except MyXTTSError as error:
        return str(error)[:20]
    lines = [{name: line.get(name) for name in ("kind", "step", "learning_rate")} for line in read_log(folder)]
    last = folder / "checkpoints" / "last"
    kept = {name: weights.load(last / f"{name}.safetensors") for name in ("weights", "ema", "optimiser")}
    bits = {f"{file}/{name}": value.tobytes() for file, each in kept.items() for name, value in each.items()}
    checkpoints = sorted(path.name for path in folder.glob("checkpoints/step-*"))
    return summary["step"], [line for line in lines if line["kind"] in ("step", "validation")], bits, checkpoints, {
        name: count for name, count in trainer.monitor.counters.items() if name.endswith("traces")
    }  # fmt: skip


def samples(config, place):
    """What the real model speaks during a run of one step."""
    folder = place.parent / "spoken"
    shutil.rmtree(folder, ignore_errors=True)
    training = dataclasses.replace(config.training, steps=1, enable_graph_mode=False)
    data = tf.data.Dataset.from_tensors(make_batch(2, 16, 4))
    XTTSTrainer(XTTSConfig(config.data, config.model, training), make_model(), folder).train(data)
    return sorted(path.name for path in folder.glob("samples/*"))


def judged(config, place):
    """When judges were asked in a run of four steps, and what its best checkpoint is best at."""
    folder, cache = place.parent / "judged", Cache(place / "cached_features" / "voice.cache")
    shutil.rmtree(folder, ignore_errors=True)
    training = dataclasses.replace(config.training, steps=4, enable_graph_mode=False)
    config, sides = XTTSConfig(config.data, config.model, training), split(cache)
    feeds = [Feed(cache, config, utterances=rows) for rows in (sides.train, sides.validation)]
    judge = EachSound("distillmos", lambda audio, rate: {"distillmos": 3.0})
    quick = mock.patch("myxtts.training.judging.DEFAULT_VOCODER", "griffin-lim")
    with quick, mock.patch("myxtts.training.judging.find_judges", return_value=([judge], {})):
        summary = XTTSTrainer(config, build_model(config, feeds[0]), folder).train(*feeds)
    return [line["step"] for line in read_log(folder) if line["kind"] == "evaluation"], sorted(summary["best"])


def devices(config, place):
    """How many logical devices TensorFlow would be told to make, where it has not begun yet."""
    made = []
    with (
        mock.patch.object(tf.config, "set_logical_device_configuration", side_effect=lambda _, all_: made.extend(all_)),
        mock.patch.object(tf.distribute, "MirroredStrategy", mock.MagicMock()),
    ):
        replicas_for(config.training.devices, None)
    return len(made)


def deadline(config, place):
    """After how many seconds of silence a worker is given up."""
    seen = []
    two = Cluster(("127.0.0.1:1", "127.0.0.1:2"), 0)
    cache = Cache(place / "cached_features" / "voice.cache")
    with (
        mock.patch(
            "myxtts.training.start.Heartbeat", side_effect=lambda _, seconds, *__: seen.append(seconds) or 1 / 0
        ),
        mock.patch("myxtts.training.start.open_port"),
        pytest.raises(ZeroDivisionError),
        assembled(config, Feed(cache, config), two, print),
    ):
        pass
    return seen


slow_run = functools.partial(run, steps=8, kind=Slow)
bad_run = functools.partial(run, steps=30, spoil=True)
validated_run = functools.partial(run, steps=8, validate=True)
compiled_run = functools.partial(run, steps=2, eager=False)

# key -> (another value, where to look, other settings that both sides have)
TABLE = {
    "data.dataset_path": ("PLACE", examined),
    "data.layout": ("manifest", rows),
    "data.speaker_pattern": (r"(?P<speaker>utt\d)", rows),
    "data.speaker": ("anna", rows),
    "data.language": ("de", rows),
    "data.trim_silence": (False, clip),
    "data.trim_db": (20.0, clip),
    "data.loudness_lufs": (-23.0, clip),
    "data.min_seconds": (5.0, clip),
    "data.max_seconds": (0.5, clip),
    "data.text_tokens": ("phonemes", tokens),
    "data.text_stress": (False, tokens, {"data.text_tokens": "phonemes"}),
    "data.text_bos": (False, tokens),
    "data.text_eos": (False, tokens),
    "data.text_blank": (True, tokens),
    "data.normalise_text": (False, number_symbols),
    "data.lexicon": ("LEXICON", number_symbols),
    "data.english_phonemes": ("misaki", english_reader),
    "data.token_table": ("TABLE", tokens),
    "data.preprocessing_mode": ("on_the_fly", plan),
    "data.batch_size": (4, plan),
    "data.num_buckets": (1, plan),
    "data.frame_budget": (200, plan),
    "data.speaker_temperature": (5.0, plan),
    "data.language_temperature": (5.0, plan),
    "data.reference_frames": (40, batch_fields),
    "data.max_mel_frames": (60, plan),
    "data.num_workers": (7, per_file),
    "data.prefetch_buffer_size": (5, feed_stages),
    "data.shuffle_buffer_multiplier": (3, per_file),
    "data.enable_memory_mapping": (False, files_in_memory),
    "data.cache_verification": (False, damage_noticed),
    "data.memory_cache": (True, files_in_memory),
    "data.use_tf_native_loading": (False, per_file),
    "data.enhanced_gpu_prefetch": (False, feed_stages),
    "data.optimize_cpu_gpu_overlap": (False, made_ahead),
    "data.prefetch_to_gpu": (False, feed_stages),
    "data.shuffle_shards": (2, shard_order),
    "data.mirror_dir": ("PLACE", mirror),
    "data.mirror_gb": (0.5, mirror),
    "data.auto_tune_performance": (False, train_verb),
    "data.auto_rebuild_token_cache": (False, functools.partial(rebuilt, {"text_blank": True})),
    "data.auto_rebuild_mel_cache": (False, functools.partial(rebuilt, {"trim_db": 20.0})),
    "model.size": ("small", model),
    "model.part": ("vocoder", part),
    "training.run_dir": ("elsewhere", run_place),
    "training.seed": (3, order),
    "training.start_from": ("START", first_weights),
    "training.epochs": (2, budget),
    "training.steps": (7, budget),
    "training.minutes": (0.5, budget),
    "training.learning_rate": (0.02, run),
    "training.schedule": ("noam", run),
    "training.warmup_steps": (0, run),
    "training.learning_rate_floor": (0.5, run),
    "training.beta1": (0.5, run),
    "training.beta2": (0.5, run),
    "training.clip_norm": (1e-3, run),
    "training.ema_decay": (0.0, run),
    "training.start_share": (0.5, run, {"training.start_from": "base"}),
    "training.gradient_accumulation_steps": (2, run),
    "training.vary_voices": (1.0, run),
    "training.devices": (2, devices),
    "training.worker_deadline_seconds": (6.0, deadline),
    "training.precision": ("bfloat16", precision),
    "training.deterministic": (True, told_to_tensorflow),
    "training.enable_graph_mode": (False, compiled_run),
    "training.enable_xla_compilation": (True, compiled_by_xla),
    "training.enable_eager_debug": (True, compiled_run),
    "training.validation_steps": (4, validated_run),
    "training.early_stopping": (1, validated_run, {"training.validation_steps": 2}),
    "training.checkpoint_minutes": (0.01, slow_run),
    "training.keep_checkpoints": (1, validated_run, {"training.validation_steps": 2}),
    "training.sample_steps": (1, samples),
    "training.evaluation_steps": (2, judged),
    "training.best_by": ("distillmos", judged, {"training.evaluation_steps": 4}),
    "training.max_bad_steps": (9, bad_run),
}

QUICK = {"validation_steps": 1000, "sample_steps": 0, "warmup_steps": 2, "learning_rate": 0.05, "precision": "float32"}


def test_every_key_is_in_the_table():
    assert set(TABLE) == set(KEYS), "a new key needs a line that shows what it does"


@pytest.fixture(scope="module")
def usual(place):
    """What is seen where no key is changed: looked at once for all keys that are seen at the same place."""
    return functools.cache(lambda look, others: look(config_with(dict(others)), place))


def config_with(settings: dict) -> XTTSConfig:
    config = feed_config()
    config.training = TrainingConfig(**QUICK)
    for name, value in settings.items():
        section, _, key = name.partition(".")
        setattr(getattr(config, section), key, value)
    return config


# One key for each place where to look
PLACES = {(look, tuple(common[0].items()) if common else ()): key for key, (_, look, *common) in TABLE.items()}


HEARD = ("training.evaluation_steps", "training.best_by")  # judges listen: 20 s


def _keys(keys):
    return [pytest.param(key, marks=pytest.mark.slow) if key in HEARD else key for key in keys]


@pytest.mark.parametrize("key", _keys(PLACES.values()))
def test_looking_twice_sees_the_same(key, place, usual, monkeypatch, tmp_path):
    """Or the test below would prove nothing."""
    monkeypatch.chdir(tmp_path)
    look, others = next(where for where, name in PLACES.items() if name == key)
    assert look(config_with(dict(others)), place) == usual(look, others)


@pytest.mark.parametrize("key", _keys(KEYS))
def test_a_key_changes_something(key, place, usual, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    value, look, *others = TABLE[key]
    files = {"PLACE": place, "TABLE": place.parent / "other.txt", "LEXICON": place.parent / "words.tsv",
             "START": place.parent / "start"}  # fmt: skip
    value = str(files.get(value, value)) if isinstance(value, str) else value
    common = others[0] if others else {}
    assert look(config_with(common | {key: value}), place) != usual(look, tuple(common.items()))
