"""The tuner on real feeds and datasets, `myxtts tune`, and where `train` begins; only the model is small."""

import contextlib
import io
import json
import time
from pathlib import Path

import pytest
import tensorflow as tf
from training.small_data import pack_voice, small_config
from training.stand_in import build_stand_in

from myxtts.cli import main
from myxtts.config.config import DataConfig, XTTSConfig, load
from myxtts.data.starting_points import for_this_machine, prefetch_for, starting_point, with_starting_point
from myxtts.errors import DiagnosisError
from myxtts.tuner.search import search
from myxtts.tuner.throughput import loop_trial, measure_loop
from myxtts.tuner.training_loop import TrainingLoop, check_margin, fill, mean_shape
from myxtts.tuner.trials import Row, TooLarge
from myxtts.tuner.tune import KNOBS, tune

GB = 10**9
NO_GPU = {"gpus": [], "cpus": 2, "memory_bytes": 8 * GB}
ONE_GPU = {"gpus": [{"name": "a stand-in", "memory_bytes": 25 * GB}], "cpus": 8, "memory_bytes": 64 * GB}


@pytest.fixture(scope="module")
def voice(tmp_path_factory) -> Path:
    return pack_voice(tmp_path_factory.mktemp("tune"), 160)


@pytest.fixture
def stand_in_model(monkeypatch):
    monkeypatch.setattr("myxtts.tuner.training_loop.build_model", build_stand_in)
    monkeypatch.setattr("myxtts.training.start.build_model", build_stand_in)


@pytest.fixture(autouse=True)
def briefly(monkeypatch):
    monkeypatch.setattr("myxtts.tuner.throughput.SLICE_SECONDS", 0.1)


class StandInForAFullDevice:
    """A step of 10 ms whatever the batch; one of more than `fits` utterances is what a device has no memory for."""

    def __init__(self, fits):
        self.fits, self.sizes = fits, []

    def __call__(self, batch):
        rows = len(batch["tokens"] if isinstance(batch, dict) else batch)
        self.sizes.append(rows)
        if rows > self.fits:
            raise tf.errors.ResourceExhaustedError(None, None, "stand-in: out of memory")
        time.sleep(0.01)


def with_certain_rate(measure):
    """The loop really runs, but how fast it was does not depend on what else this machine does: larger is better."""
    return lambda *of: measure(*of)._replace(rate=float(of[-1]["batch_size"]), wait_share=0.0)


# ---- starting points -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "batch"),
    [([25_769_803_776], 64), ([24_000_000_000], 64), ([16 * GB], 48), ([12_884_901_888], 48), ([11_811_160_064], 32),
     ([None], 32), ([25 * GB, 8 * GB], 32)],
)  # fmt: skip
def test_the_batch_begins_at_what_the_smallest_card_holds(memory, batch):
    cards = [{"name": "card", "memory_bytes": each} for each in memory]
    assert starting_point(ONE_GPU | {"gpus": cards})["batch_size"] == batch


def test_a_machine_without_a_gpu_begins_smaller_and_sets_nothing_for_one():
    small, least = starting_point(NO_GPU), starting_point(NO_GPU | {"memory_bytes": 3 * GB})
    assert (small["batch_size"], small["num_workers"], small["num_buckets"]) == (16, 2, 3)
    assert least["batch_size"] < small["batch_size"] < starting_point(ONE_GPU)["batch_size"]
    assert not {"prefetch_to_gpu", "enhanced_gpu_prefetch"} & set(small)


def test_prefetch_grows_with_workers_and_gpus():
    assert prefetch_for(18, 1) == 12  # the documented defaults
    assert prefetch_for(18, 1) < prefetch_for(24, 1) < prefetch_for(24, 2) <= prefetch_for(64, 8) == 64
    assert prefetch_for(1, 0) == 4


def test_several_gpus_of_which_one_is_used_are_prefetched_for_as_one():
    two = ONE_GPU | {"gpus": ONE_GPU["gpus"] * 2}
    assert starting_point(two) == starting_point(ONE_GPU)


@pytest.mark.parametrize("given", [20, 56])
def test_a_starting_point_leaves_what_somebody_gave(given):
    """The default too, if it was given."""
    config = XTTSConfig()
    config.data.batch_size = given
    begun = with_starting_point(config, ONE_GPU)
    assert (begun.data.batch_size, begun.data.num_workers) == (given, 8)
    assert (config.data.num_workers, "num_workers" in begun.data.given) == (18, False)


def test_what_training_begins_with_is_said_once_and_can_be_forbidden(monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.setattr("myxtts.data.starting_points.describe_machine", lambda: ONE_GPU)
    for _ in range(2):
        begun = for_this_machine(XTTSConfig(data=DataConfig(num_workers=18)))
    assert (begun.data.batch_size, begun.data.num_workers) == (64, 18)
    assert caplog.text.count("starting point for this machine: batch_size 64, prefetch_buffer_size 5;") == 1
    silent = XTTSConfig(data=DataConfig(auto_tune_performance=False))
    assert for_this_machine(silent) == silent


# ---- other pipelines -------------------------------------------------------------------------------------------------


def test_any_dataset_and_step_can_be_searched_and_running_out_of_memory_is_an_answer():
    step = StandInForAFullDevice(fits=8)
    space = {"batch_size": [2, 4, 8, 16, 32]}
    measure = measure_loop(lambda knobs: (tf.data.Dataset.range(64).batch(knobs["batch_size"]), step), 0.05)
    result = search(space, {"batch_size": 2}, with_certain_rate(measure), 90.0)
    assert result.settings == {"batch_size": 8}
    (refused,) = [row for row in result.rows if row.settings["batch_size"] > 8]
    assert refused.why == "does not fit: the device ran out of memory"
    assert max(step.sizes) == 16
    assert result.best.memory_bytes > 0


def test_a_loop_counts_utterances_and_begins_again_where_data_ends():
    seen = []
    trial = loop_trial([[0] * 3, [0] * 5], seen.append, 0.05, rows=len)
    assert len(seen) > 3
    assert 0 < trial.wait_share < 1
    with pytest.raises(DiagnosisError, match="gave no batch"):
        loop_trial([], seen.append)
    with pytest.raises(DiagnosisError, match="the step raised ZeroDivisionError"):
        loop_trial([[0]], lambda batch: 1 / 0, rows=len)


# ---- a config --------------------------------------------------------------------------------------------------------


def test_a_batch_grows_up_to_the_memory_of_the_device_and_the_config_is_left_alone(voice, monkeypatch):
    monkeypatch.setattr(TrainingLoop, "measure", with_certain_rate(TrainingLoop.measure))
    step, config = StandInForAFullDevice(fits=8), small_config({"batch_size": 4, "prefetch_buffer_size": 4})
    before = config.to_dict()
    tuned = tune(config, voice, 90.0, step=step, machine=NO_GPU, keep=set(KNOBS) - {"batch_size"})
    assert tuned.config.data.batch_size == 8, str(tuned)
    assert config.to_dict() == before
    assert {name for name, (old, new) in tuned.changed.items()} <= set(KNOBS)
    assert any("does not fit: the device ran out of memory" in row.why for row in tuned.outcome.rows)
    assert "batch_size 4 -> 8" in str(tuned)
    assert "changes what a step learns from" in str(tuned)
    assert "prefetch_to_gpu" not in tuned.outcome.settings  # there is no GPU to feel it


def test_what_is_to_be_kept_is_not_touched(voice):
    config = small_config({"batch_size": 4})
    tuned = tune(config, voice, 20.0, step=StandInForAFullDevice(1000), machine=NO_GPU, keep=KNOBS)
    assert tuned.config == config
    assert len(tuned.outcome.rows) == 1


def test_a_step_that_would_take_all_the_time_is_not_begun(voice, monkeypatch, stand_in_model):
    monkeypatch.setattr("myxtts.tuner.training_loop.measured_flops", lambda: 1e3)  # an abacus
    monkeypatch.setattr(TrainingLoop, "measure", lambda *_: pytest.fail("begun"))
    tuned = tune(small_config(), voice, 30.0, machine=NO_GPU)
    assert tuned.config == small_config()
    assert "not tuned: not measured: a step of this model and batch_size would take" in str(tuned)


def loop_of(voice, machine=NO_GPU, budget=10**12, **data):
    from myxtts.cache.reader import Cache

    return TrainingLoop(small_config(data), Cache(voice), StandInForAFullDevice(100), machine, budget)


def test_reasons_against_a_trial_need_no_measuring(voice):
    loop, base = loop_of(voice), {"num_workers": 18, "batch_size": 8, "num_buckets": 1, "prefetch_buffer_size": 2}
    best = Row(base)
    assert "threads either way" in loop.reason_against(base | {"num_workers": 400}, best)
    assert loop.reason_against(base | {"num_buckets": 6}, best) is None
    assert "would be useful" in loop.reason_against(base, Row(base | {"num_buckets": 6}))
    assert loop.reason_against(base | {"batch_size": 16}, best) is None


def test_a_batch_that_the_memory_budget_has_no_room_for_is_not_tried(voice):
    base = {"num_workers": 2, "batch_size": 8, "num_buckets": 1, "prefetch_buffer_size": 2}
    frames = mean_shape(loop_of(voice)._feed(base))[1]
    loop = loop_of(voice, budget=3 * 8 * frames * 160)
    assert loop.reason_against(base, Row(base | {"batch_size": 4})) is None
    for much in ({"batch_size": 16}, {"prefetch_buffer_size": 8}):
        assert "MB are allowed" in loop.reason_against(base | much, Row(base))


def test_the_stand_in_batch_has_the_mean_shape_of_the_plan(voice):
    feed = loop_of(voice)._feed({"num_buckets": 3, "batch_size": 8})
    batch, frames, tokens = mean_shape(feed)
    table = feed.tables[0]
    assert table.frames.min() <= frames <= table.frames.max() + 32
    assert (batch, frames % 32) == (8, 0)
    batches = feed.batches()
    real = next(batches)
    batches.close()
    made = fill(real, (5, frames, tokens))
    assert set(made) == set(real)
    assert made["mel"].shape == (5, frames, 80)
    assert made["tokens"].shape == (5, tokens)
    assert made["frame_lengths"].numpy().tolist() == [frames] * 5
    assert {name: part.dtype for name, part in made.items()} == {name: part.dtype for name, part in real.items()}


def test_on_a_gpu_the_longest_batch_is_tried_and_a_tenth_stays_free(voice, monkeypatch):
    """A CPU stands in for the GPU, a number for its memory."""
    peak = {"bytes": 0}
    monkeypatch.setattr("myxtts.tuner.training_loop.first_gpu", lambda: "/device:CPU:0")
    monkeypatch.setattr(tf.config.experimental, "reset_memory_stats", lambda device: None)
    monkeypatch.setattr(tf.config.experimental, "get_memory_info", lambda device: {"peak": peak["bytes"]})
    for staged in (True, False):
        loop = loop_of(voice, ONE_GPU, prefetch_to_gpu=staged, num_buckets=2)
        settings = {"batch_size": 8, "num_workers": 2, "prefetch_buffer_size": 2}
        peak["bytes"] = 22 * GB
        assert loop.measure(settings).memory_bytes == 22 * GB
        peak["bytes"] = 23 * GB
        assert loop.measure(settings).rate > 0  # known to fit
        with pytest.raises(TooLarge, match="takes 23.0 of 25.0 GB"):
            loop.measure(settings | {"batch_size": 16})
    check_margin(23 * GB, 0)  # a card that does not say


# ---- `myxtts tune` ---------------------------------------------------------------------------------------------------


def run(*words):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = main([*map(str, words)])
    return code, printed.getvalue()


def words_for(voice, *more):
    settings = ["data.text_tokens=characters", "data.batch_size=8", "data.num_buckets=1", "training.precision=float32"]
    return ["tune", "--data", voice, *(word for each in settings for word in ("--set", each)), *more]


def test_the_verb_prints_the_table_and_writes_a_config(voice, tmp_path, stand_in_model):
    file = tmp_path / "tuned.yaml"
    code, printed = run(*words_for(voice, "--seconds", 3, "-o", file, "--json"))
    result = json.loads(printed)
    assert code == 0
    assert set(result) == {"config", "cache", "changed", "gain", "given_utterances_per_second", "utterances_per_second",
                          "seconds", "table", "notes"}  # fmt: skip
    assert result["gain"] >= 1.0
    assert not {"batch_size", "num_buckets"} & set(result["changed"])  # given by hand
    written = load(file).data
    assert (written.batch_size, written.dataset_path) == (8, str(voice))
    assert "trim_db" not in written.given  # so the cache decides, whatever it is
    assert "prefetch_buffer_size" in written.given  # so no starting point does
    assert all(getattr(written, name) == new for name, (_, new) in result["changed"].items())
    kept = file.read_bytes()
    assert run(*words_for(voice, "-o", file))[0] == 2
    assert file.read_bytes() == kept
    code, printed = run(*words_for(voice, "--seconds", 2, "-o", file, "--force"))
    assert code == 0
    assert "utt/s" in printed
    assert f"the settings are in {file}" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no data is named"),
        (["--data", "nowhere.cache"], "nowhere.cache"),
        (["--data", "x", "--seconds", "0"], "--seconds 0: expected 1 to 3600"),
        (["--data", "x", "--seconds", "nan"], "expected 1 to 3600"),
        (["--data", "x", "-o", "there.yaml"], "there.yaml exists: name another file with -o, or add --force"),
        (["--data", "x", "-o", "no/where.yaml"], "there is no folder no"),
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_what_cannot_be_tuned_is_said(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("there.yaml").write_text("mine")
    assert main(["tune", *words]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert (printed.out, Path("there.yaml").read_text()) == ("", "mine")
    assert main(["tune", *words, "--json"]) == 2
    assert message in json.loads(capsys.readouterr().out)["error"]["message"]


# ---- at the start of training ----------------------------------------------------------------------------------------


QUICK = ["data.text_tokens=characters", "data.reference_frames=32", "training.enable_graph_mode=false",
         "training.precision=float32", "training.sample_steps=0"]  # fmt: skip
TRAIN = [word for each in QUICK for word in ("--set", each)]


def train(voice, run_dir, *more):
    return run("train", "--train-data", voice, "--run", run_dir, *TRAIN, *more)


def test_train_begins_at_the_starting_point_and_resumes_as_it_began(
    voice, tmp_path, stand_in_model, monkeypatch, caplog
):
    caplog.set_level("INFO")
    machine = {"gpus": [], "cpus": 3, "memory_bytes": 3 * GB}
    monkeypatch.setattr("myxtts.data.starting_points.describe_machine", lambda: machine)
    file = tmp_path / "my.yaml"
    file.write_text("data: {num_buckets: 8}")  # the default, but given
    assert train(voice, tmp_path / "run", "--config", file, "--steps", 2)[0] == 0
    used = load(tmp_path / "run" / "config.yaml").data
    assert (used.batch_size, used.num_workers, used.num_buckets) == (8, 3, 8)
    assert "starting point for this machine: batch_size 8, num_workers 3, prefetch_buffer_size 4" in caplog.text
    machine["memory_bytes"] = 64 * GB
    assert train(voice, tmp_path / "run", "--steps", 3)[0] == 0
    assert load(tmp_path / "run" / "config.yaml").data.batch_size == 8
    assert train(voice, tmp_path / "off", "--set", "data.auto_tune_performance=false", "--steps", 1)[0] == 0
    assert load(tmp_path / "off" / "config.yaml").data.batch_size == 56


def test_what_was_tuned_is_given_and_no_starting_point_replaces_it(voice, monkeypatch):
    monkeypatch.setattr(TrainingLoop, "measure", with_certain_rate(TrainingLoop.measure))
    tuned = tune(XTTSConfig(), voice, 20.0, step=StandInForAFullDevice(1000), machine=NO_GPU,
                 keep=set(KNOBS) - {"batch_size"}).config  # fmt: skip
    assert tuned.data.given["batch_size"] == "the tuner"
    assert with_starting_point(tuned, ONE_GPU).data.batch_size == tuned.data.batch_size
