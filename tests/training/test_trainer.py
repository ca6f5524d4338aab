"""The loop: what it logs and keeps, and what it does when data, device or luck are bad.

The real model, made small, trains in `trained_run`; where only the loop matters, a stand-in does, which costs nothing.
"""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile
import tensorflow as tf
from small_data import pack_voice, small_config, write_nan
from small_models import describe, make_batch, make_model
from small_run import SMALL
from stand_in import MockOutOfMemoryDevice, StandInModel, build_stand_in

from myxtts.cache.reader import Cache
from myxtts.config.config import XTTSConfig
from myxtts.data.pipeline import Feed
from myxtts.errors import CacheMismatch, CheckpointError, ConfigError, TrainingError
from myxtts.inference.synthesizer import Synthesizer
from myxtts.models import sizes, weights
from myxtts.models.xtts import LOSS_WEIGHTS
from myxtts.training.checkpoint import RunLock, load
from myxtts.training.run_log import read_log
from myxtts.training.schedule import learning_rate
from myxtts.training.setup import build_model
from myxtts.training.start import feeds_for
from myxtts.training.trainer import XTTSTrainer

EAGER = {"enable_graph_mode": False}  # where neither shapes nor speed matter: nothing to compile


def train(run: Path, data, val=None, model=None, kind=StandInModel, replan=False, **training) -> dict:
    """A run of the stand-in over a feed (or a cache), or of `model` over anything."""
    config = training.pop("config", None) or small_config(**training)
    data = Feed(Cache(data), config) if isinstance(data, Path) else data
    model = model or build_stand_in(config, data, kind)
    return XTTSTrainer(config, model, run, "the same", replan).train(data, val)


def plain(steps: int = 1) -> tf.data.Dataset:
    """A dataset of the same batch over and over: where it does not matter what is learnt."""
    return tf.data.Dataset.from_tensors(make_batch(8, 32, 8)).repeat(steps)


def train_plain(run: Path, val=None, kind=StandInModel, **training) -> dict:
    return train(run, plain(), val, kind(describe()), **training)


def lines(run: Path, kind: str, **wanted) -> list[dict]:
    chosen = (line for line in read_log(run) if line["kind"] == kind)
    return [line for line in chosen if all(line[name] == value for name, value in wanted.items())]


def config_of(trained: tuple[Path, dict]) -> XTTSConfig:
    return XTTSConfig.from_yaml(trained[0] / "config.yaml")


def bits(folder: Path) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in weights.load(folder / "weights.safetensors").items()}


# ---- a whole run -----------------------------------------------------------------------------------------------------


def test_the_loss_falls(trained_run):
    run, _ = trained_run
    losses = [line["loss"] for line in lines(run, "step")]
    assert np.mean(losses[-8:]) < 0.8 * np.mean(losses[:8])
    metrics = [line["mel_error"] for line in lines(run, "validation")]
    assert metrics[-1] < 0.9 * metrics[0]


def test_everything_is_compiled_before_the_first_step(trained_run):
    config, (run, summary) = config_of(trained_run), trained_run
    shapes = {(line["batch"], line["frames"]) for line in lines(run, "step")}
    (compiled,) = lines(run, "event", event="compiled")
    assert compiled["shapes"] == len(shapes) == config.data.num_buckets
    assert compiled["step"] == 0
    kinds = [(line["kind"], line.get("event")) for line in read_log(run)]
    assert kinds[:3] == [("start", None), ("event", "compiled"), ("step", None)]
    assert summary["traces_after_start"] == 0
    assert lines(run, "report")[-1]["counters"]["step.traces"] == len(shapes)


def test_each_step_is_logged_with_all_its_numbers(trained_run):
    config, (run, _) = config_of(trained_run), trained_run
    events = lines(run, "step")
    assert [line["step"] for line in events] == list(range(1, 46))
    training = config.training
    for line in events:
        assert line["loss"] == pytest.approx(sum(line[term] for term in LOSS_WEIGHTS), rel=1e-5)
        waited, computed = line["data_ms"], line["compute_ms"]
        assert line["stall"] == pytest.approx(waited / (waited + computed), abs=1e-3)
        assert line["utterances_per_second"] == pytest.approx(line["batch"] * 1e3 / (waited + computed), rel=0.01)
        assert line["grad_norm"] > 0
        assert line["learning_rate"] == learning_rate(
            line["step"] - 1, training.schedule, training.learning_rate, training.warmup_steps, 45,
            training.learning_rate_floor,
        )  # fmt: skip
        assert line["eta_seconds"] is None if line["step"] == 1 else line["eta_seconds"] >= 0
    assert events[-1]["eta_seconds"] == 0
    assert events[3]["epoch"] == pytest.approx(4 / lines(run, "start")[0]["feed"]["steps_per_epoch"], abs=1e-4)


def test_a_run_directory_has_what_the_design_says(trained_run):
    config, (run, summary) = config_of(trained_run), trained_run
    checkpoints = run / "checkpoints"
    kept = sorted(int(path.name[5:]) for path in checkpoints.glob("step-*"))
    assert kept[-2:] == [40, 45]
    assert summary["best"]["step"] in kept
    assert os.readlink(checkpoints / "last") == "step-45"
    assert os.readlink(checkpoints / "best") == f"step-{summary['best']['step']}"
    files = {"weights.safetensors", "ema.safetensors", "optimiser.safetensors", "voice.safetensors", "model.json"}
    assert {path.name for path in (checkpoints / "last").iterdir()} == files | {"state.json"}
    assert lines(run, "start")[0]["config"] == config.to_dict()
    assert [line["step"] for line in lines(run, "validation")] == [10, 20, 30, 40, 45]
    assert sorted(path.name for path in (run / "samples").iterdir()) == ["step-40-1.wav", "step-40-2.wav"]
    audio, rate = soundfile.read(run / "samples" / "step-40-1.wav")
    assert rate == 22050
    assert len(audio) % 256 == 0
    assert np.isfinite(audio).all()


def test_tensorboard_has_curves_pictures_and_sound(trained_run):
    run, _ = trained_run
    (path,) = (run / "tensorboard").iterdir()
    tags = set()
    for record in tf.data.TFRecordDataset(str(path)):
        tags |= {value.tag for value in tf.compat.v1.Event.FromString(record.numpy()).summary.value}
    assert {"train/loss", "train/mel", "train/stall", "train/learning_rate", "validation/mel_error"} <= tags
    assert {"sentence 1", "sentence 1/alignment", "sentence 2/real above spoken"} <= tags


def test_the_averaged_weights_are_what_is_spoken(trained_run, monkeypatch):
    """ema.safetensors has every variable of the model: averages, and of the rest the model's own."""
    run, _ = trained_run
    kept = load(run / "checkpoints" / "last").tensors
    assert kept["ema"].keys() == kept["weights"].keys()
    same = {name for name, value in kept["ema"].items() if np.array_equal(value, kept["weights"][name])}
    assert {name.rsplit("/")[-1] for name in same} == {"mel_mean", "mel_std", "duration_scale"}
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)
    spoken = weights.weights_of(Synthesizer.load(run / "checkpoints" / "last").model)
    assert all(np.array_equal(value, kept["ema"][name]) for name, value in spoken.items())
    scale = float(kept["ema"]["xtts/duration_scale"])
    assert lines(run, "validation")[-1]["duration_scale"] == pytest.approx(scale)


def test_the_averaged_weights_are_what_is_validated(tmp_path):
    batch = make_batch(4, 32, 8)
    val = tf.data.Dataset.from_tensors(batch)
    train_plain(tmp_path, val, steps=20, validation_steps=20, learning_rate=0.05, schedule="constant", ema_decay=0.9)
    kept = load(tmp_path / "checkpoints" / "last").tensors
    measured = {}
    for name in ("weights", "ema"):
        model = StandInModel(describe())
        weights.set_weights(model, kept[name])
        measured[name] = float(model.validation_of(batch)["mel_error"])
    assert lines(tmp_path, "validation")[-1]["mel_error"] == pytest.approx(measured["ema"], rel=1e-5)
    assert measured["weights"] != pytest.approx(measured["ema"], rel=1e-3)


# ---- beginnings and ends ---------------------------------------------------------------------------------------------


def test_a_run_goes_on_by_itself_and_can_be_made_longer(tmp_path):
    train_plain(tmp_path, steps=7, validation_steps=5)
    (path,) = (tmp_path / "checkpoints").glob("step-7")
    before = bits(path)
    assert train_plain(tmp_path, steps=7, validation_steps=5)["step"] == 7  # nothing left to do
    assert bits(path) == before
    assert train_plain(tmp_path, steps=12, validation_steps=5)["step"] == 12
    assert [line["step"] for line in lines(tmp_path, "step")] == list(range(1, 13))
    assert [line["step"] for line in lines(tmp_path, "resume")] == [7, 7]


@pytest.mark.parametrize("accumulation", [1, 4])
def test_a_run_in_two_lives_is_the_run_in_one(tmp_path, accumulation):
    settings = {"schedule": "constant", "gradient_accumulation_steps": accumulation}
    train_plain(tmp_path / "one", steps=12, **settings)
    for steps in (7, 12):
        train_plain(tmp_path / "two", steps=steps, **settings)
    assert bits(tmp_path / "one" / "checkpoints" / "last") == bits(tmp_path / "two" / "checkpoints" / "last")


class Dies(StandInModel):
    """In the middle of a step."""

    def losses_of(self, batch, seed, step):
        if int(step) == 3:
            raise KeyboardInterrupt
        return super().losses_of(batch, seed, step)


def test_a_life_without_a_checkpoint_leaves_no_steps_in_the_history(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train_plain(tmp_path, kind=Dies, steps=6, **EAGER)
    assert [line["step"] for line in lines(tmp_path, "step")] == [1, 2, 3]
    train_plain(tmp_path, steps=6, **EAGER)
    assert [line["step"] for line in lines(tmp_path, "step")] == [1, 2, 3, 4, 5, 6]


class FakeClock:
    """Named a fake: each look at it takes ten milliseconds, however busy this machine is."""

    perf_counter = staticmethod(time.perf_counter)

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 0.01
        return self.now


def test_minutes_end_a_run_and_the_schedule_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr("myxtts.training.trainer.time", FakeClock())
    summary = train_plain(tmp_path, minutes=0.03, learning_rate=0.01)
    assert summary["why"] == "done"
    assert summary["seconds"] == pytest.approx(1.8, abs=0.03)
    rates = [line["learning_rate"] for line in lines(tmp_path, "step")]
    assert len(rates) > 50
    assert max(rates) == pytest.approx(0.01, rel=0.01)
    assert rates[20] > 0.009  # it does not begin at the floor
    assert rates[-1] < 0.1 * 0.01


def test_epochs_end_a_run(tmp_path):
    summary = train(tmp_path, plain(5), model=StandInModel(describe()), epochs=2, steps=1000)
    assert summary["step"] == 10
    assert [line["epoch"] for line in lines(tmp_path, "step")] == pytest.approx([n / 5 for n in range(1, 11)])


def test_early_stopping_ends_a_run_that_no_longer_gets_better(tmp_path):
    """What is validated on is the opposite of what is learnt, so the first validation is the best."""
    wrong = make_batch(4, 32, 8)
    wrong["mel"] = np.full_like(wrong["mel"], 20.0)
    val = tf.data.Dataset.from_tensors(wrong)
    summary = train_plain(tmp_path, val, steps=500, validation_steps=5, early_stopping=3)
    assert (summary["step"], summary["why"]) == (20, "no better for 3 validations")
    assert summary["best"]["step"] == 5
    again = train_plain(tmp_path, val, steps=500, validation_steps=5, early_stopping=4)
    assert again["step"] == 25  # the count outlived the process


def test_sigterm_saves_after_the_step_and_says_how_to_go_on(tmp_path, capsys):
    class Interrupted(StandInModel):
        calls = 0

        def losses_of(self, *arguments):
            self.calls += 1
            if self.calls == 4:
                os.kill(os.getpid(), signal.SIGTERM)
            return super().losses_of(*arguments)

    handler = signal.getsignal(signal.SIGTERM)
    summary = train_plain(tmp_path, kind=Interrupted, steps=50, **EAGER)
    assert (summary["step"], summary["interrupted"], summary["why"]) == (4, True, "stopped by SIGTERM")
    assert "Resume with: the same" in capsys.readouterr().err
    assert load(tmp_path / "checkpoints" / "last").step == 4
    assert signal.getsignal(signal.SIGTERM) is handler
    assert train_plain(tmp_path, steps=6)["step"] == 6


def test_a_run_has_one_trainer(tmp_path):
    with RunLock(tmp_path), pytest.raises(TrainingError, match=f"in use by process {os.getpid()}"):
        train_plain(tmp_path, steps=2)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_other_data_or_batches_need_a_replan(feed, voice_cache, tmp_path):
    train(tmp_path / "run", feed, steps=3, **EAGER)
    kept = (tmp_path / "run" / "config.yaml").read_bytes()
    smaller = small_config({"batch_size": 4}, steps=6, **EAGER)
    with pytest.raises(CacheMismatch, match="batch size.*--replan"):
        train(tmp_path / "run", voice_cache, config=smaller)
    assert (tmp_path / "run" / "config.yaml").read_bytes() == kept
    other = pack_voice(tmp_path / "other", 20)
    with pytest.raises(CacheMismatch, match="the run was on cache .*--replan"):
        train(tmp_path / "run", other, config=smaller)
    assert train(tmp_path / "run", voice_cache, config=smaller, replan=True)["step"] == 6
    assert lines(tmp_path / "run", "step")[-1]["batch"] == 4
    smaller.training.steps = 8
    assert train(tmp_path / "run", voice_cache, config=smaller)["step"] == 8  # from now on this is the plan


def test_a_model_with_other_symbols_does_not_go_on_silently(tmp_path):
    train_plain(tmp_path, steps=2)
    model = StandInModel(describe())
    model.description.token_table[5:7] = ["s6", "s5"]
    with pytest.raises(CheckpointError, match=r"another token_table .*--set data.token_table"):
        train(tmp_path, plain(), model=model, steps=4, replan=True)


# ---- other data ------------------------------------------------------------------------------------------------------


def four(batch: dict):
    return batch["tokens"], batch["mel"], batch["token_lengths"], batch["frame_lengths"]


def test_a_plain_dataset_of_four_tensors_trains_the_real_model(tmp_path, monkeypatch, caplog):
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)
    data = tf.data.Dataset.from_tensor_slices(four(make_batch(4, 32, 8))).batch(2)
    summary = train(tmp_path, data, data.take(1), make_model(), steps=3, validation_steps=3, sample_steps=3,
                    enable_graph_mode=False)  # fmt: skip
    assert (summary["step"], summary["best"]["step"]) == (3, 3)
    assert len(list((tmp_path / "samples").iterdir())) == 2
    assert [record.message for record in caplog.records if "a plain dataset from its beginning" in record.message]


def test_what_a_run_starts_from_is_heard_once_before_the_first_step(tmp_path, monkeypatch):
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)
    data, model = tf.data.Dataset.from_tensor_slices(four(make_batch(4, 32, 8))).batch(2), make_model()
    begun = {"model": model, "start_from": "base", "sample_steps": 3, "enable_graph_mode": False}
    own, spoken_by = model.synthesize, []

    def synthesize(*arguments):
        spoken_by.append(weights.weights_of(model)[model.decoder.leave.kernel.path])
        return own(*arguments)

    monkeypatch.setattr(model, "synthesize", synthesize)
    start = weights.weights_of(model)[model.decoder.leave.kernel.path]
    train(tmp_path, data, steps=2, **begun)
    spoken = sorted((tmp_path / "samples").iterdir())
    assert [path.name for path in spoken] == ["step-0-1.wav", "step-0-2.wav"]
    assert all(np.array_equal(weight, start) for weight in spoken_by)
    spoken[0].write_bytes(b"of before")
    train(tmp_path, data, steps=3, **begun)
    assert spoken[0].read_bytes() == b"of before"
    assert len(list((tmp_path / "samples").iterdir())) == 4


def test_a_dataset_without_end_trains_and_is_no_validation(tmp_path):
    assert train(tmp_path / "a", plain(-1), model=StandInModel(describe()), steps=4, validation_steps=2)["step"] == 4
    with pytest.raises(TrainingError, match="repeats without end"):
        train_plain(tmp_path / "b", plain(-1), steps=4, validation_steps=2)


def test_what_is_no_data_is_said(tmp_path):
    with pytest.raises(TrainingError, match="cannot train on a list: give a Feed or a tf.data.Dataset"):
        train(tmp_path, [1, 2], model=StandInModel(describe()))
    data = tf.data.Dataset.from_tensors((1, 2, 3))
    with pytest.raises(TrainingError, match="batches of 3 parts"):
        train(tmp_path, data, model=StandInModel(describe()))
    empty = plain().take(0)
    with pytest.raises(TrainingError, match="it is empty"):
        train(tmp_path, empty, model=StandInModel(describe()), steps=2)
    with pytest.raises(ConfigError, match="does not know its length"):
        train(tmp_path, empty, model=StandInModel(describe()), epochs=2)


def test_caches_are_mixed_in_one_feed(voice_cache, tmp_path):
    second = pack_voice(tmp_path / "second", 16)
    config = small_config({"num_buckets": 2}, epochs=2, **EAGER)
    mixed = Feed([Cache(voice_cache), Cache(second)], config)
    assert train(tmp_path / "run", mixed, config=config)["step"] == 2 * mixed.steps_per_epoch
    assert {mixed.order.batch(step).cache for step in range(mixed.steps_per_epoch)} == {0, 1}
    assert [line["step"] for line in lines(tmp_path / "run", "step")] == list(range(1, 2 * mixed.steps_per_epoch + 1))


@pytest.mark.parametrize("setting", [{"enable_eager_debug": True}, {"enable_graph_mode": False}])
def test_eager_runs_trace_nothing(tmp_path, setting):
    train_plain(tmp_path, steps=2, validation_steps=2, **setting)
    assert not [name for name in lines(tmp_path, "report")[-1]["counters"] if name.endswith("traces")]
    assert [line["shapes"] for line in lines(tmp_path, "event", event="compiled")] == [0]


# ---- bad luck --------------------------------------------------------------------------------------------------------


def test_a_damaged_utterance_is_named_and_its_steps_change_nothing(own_cache, tmp_path, capsys):
    """NaN on the disk, in one utterance, which comes as itself and as somebody's reference."""
    name = Cache(own_cache).utterance_id(7)
    write_nan(own_cache, 7)
    config = small_config(epochs=3, validation_steps=1, keep_checkpoints=100, max_bad_steps=50,
                          **EAGER)  # fmt: skip
    feed = Feed(Cache(own_cache), config)
    train(tmp_path / "run", feed, config=config)
    events = lines(tmp_path / "run", "event", event="not_finite")
    assert len(events) >= 3  # once an epoch at the least
    for event in events:
        assert event["damaged"] == [name]
        assert event["utterances"] == feed.utterance_ids(event["step"] - 1)
        if event["step"] > 1:
            places = [tmp_path / "run" / "checkpoints" / f"step-{event['step'] - n}" for n in (1, 0)]
            assert bits(places[0]) == bits(places[1])
    assert any(name in event["utterances"] for event in events)
    assert lines(tmp_path / "run", "report")[-1]["counters"]["step.not_finite"] == len(events)
    assert f"DAMAGED in the cache: {name}: run 'myxtts verify'" in capsys.readouterr().err
    good = [line for line in lines(tmp_path / "run", "step") if line["step"] not in {event["step"] for event in events}]
    assert all(np.isfinite(line["loss"]) for line in good)


def test_a_damaged_utterance_spoils_neither_statistics_nor_voice(own_cache, monkeypatch, caplog):
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)
    longest = int(np.argmax(Cache(own_cache).columns["n_frames"]))
    write_nan(own_cache, longest)
    feed = Feed(Cache(own_cache), small_config())
    model = build_model(small_config(), feed)
    assert np.isfinite(model.mel_mean.numpy()).all()
    assert Cache(own_cache).utterance_id(longest) in caplog.text
    from myxtts.training.voice import voice_of_feed

    assert np.isfinite(voice_of_feed(feed, 32)["reference"]).all()


def test_a_damaged_utterance_is_left_out_of_validation_and_named(own_cache, tmp_path):
    config = small_config(steps=4, validation_steps=4, **EAGER)
    data, val = feeds_for(config, own_cache, None)
    row = int(val.tables[0].members[0])
    write_nan(own_cache, row)
    summary = train(tmp_path / "run", data, val, config=config)
    (event,) = lines(tmp_path / "run", "event", event="not_finite")
    assert (event["where"], event["damaged"]) == ("validation", [Cache(own_cache).utterance_id(row)])
    assert summary["best"] is None  # its only batch


def test_too_many_bad_steps_go_back_with_half_the_rate_and_then_end_the_run(own_cache, tmp_path):
    run, sound = tmp_path / "run", (own_cache / "mel.npy").read_bytes()
    settings = {"max_bad_steps": 2, "schedule": "constant", "warmup_steps": 0, "learning_rate": 0.04} | EAGER
    train(run, own_cache, steps=5, **settings)
    write_nan(own_cache)
    with pytest.raises(
        TrainingError, match=r"3 steps in a row .* going back 3 times .*damaged utterances: utt.*log\.jsonl"
    ):
        train(run, own_cache, steps=20, **settings)
    returns = [line for line in read_log(run, given_up=True) if "learning_rate_scale" in line]
    assert [(line["kind"], line["step"], line["learning_rate_scale"]) for line in returns] == [
        ("resume", 5, 0.5), ("resume", 5, 0.25), ("resume", 5, 0.125)
    ]  # fmt: skip
    assert [line["step"] for line in lines(run, "step")] == [1, 2, 3, 4, 5, 6, 7, 8]  # those after the last return
    (own_cache / "mel.npy").write_bytes(sound)
    assert train(run, own_cache, steps=8, **settings)["step"] == 8
    rates = [line["learning_rate"] for line in lines(run, "step")]
    assert rates == pytest.approx([0.04] * 5 + [0.005] * 3)


def test_bad_steps_before_the_first_checkpoint_end_the_run(own_cache, tmp_path):
    write_nan(own_cache)
    with pytest.raises(TrainingError, match=r"2 steps in a row had no finite loss.*training\.learning_rate"):
        train(tmp_path / "run", own_cache, steps=20, max_bad_steps=1, **EAGER)


def test_a_nan_in_float16_is_no_overflow(own_cache, tmp_path):
    """An overflow mends itself; what is NaN before the loss is scaled is reported as everywhere."""
    name = Cache(own_cache).utterance_id(7)
    write_nan(own_cache, 7)
    config = small_config(epochs=1, max_bad_steps=50, **EAGER)
    feed = Feed(Cache(own_cache), config)
    model = build_stand_in(config, feed)
    model.precision = "float16"
    train(tmp_path / "run", feed, model=model, config=config)
    assert [event["damaged"] for event in lines(tmp_path / "run", "event", event="not_finite")][0] == [name]


def test_out_of_memory_makes_micro_batches_and_is_recorded(voice_cache, tmp_path, capsys):
    """The shorter of two shapes fits in halves, the longer in quarters: both are compiled in quarters before step 1."""
    config = small_config({"num_buckets": 2}, steps=6)
    feed = Feed(Cache(voice_cache), config)
    shapes = [rows * frames for table in feed.tables for rows, frames, _ in table.shapes]
    kind = type("MockSmallDevice", (MockOutOfMemoryDevice,), {"fits": max(shapes) // 4 + 100})
    assert min(shapes) // 2 <= kind.fits < min(shapes)
    summary = train(tmp_path / "cut", feed, kind=kind, config=config)
    assert summary["micro_batches"] == 4
    events = lines(tmp_path / "cut", "event", event="out_of_memory")
    assert [(event["where"], event["micro_batches"], event["step"]) for event in events] == [
        ("step", 2, 0), ("step", 4, 0), ("validation", 2, 0), ("validation", 4, 0)
    ]  # fmt: skip
    assert "mock: out of memory" in events[0]["what"]
    assert "in 4 parts" in capsys.readouterr().err
    assert summary["traces_after_start"] == 0
    train(tmp_path / "whole", feed, config=config)
    parts, whole = (load(tmp_path / name / "checkpoints" / "last").tensors["weights"] for name in ("cut", "whole"))
    for name, value in whole.items():
        np.testing.assert_allclose(parts[name], value, atol=1e-4)


def test_out_of_memory_in_the_middle_of_a_run_loses_no_step(tmp_path):
    class MockFullAtTheThird(StandInModel):
        calls = 0

        def losses_of(self, *arguments):
            self.calls += 1
            if self.calls == 3:
                raise tf.errors.ResourceExhaustedError(None, None, "mock: out of memory")
            return super().losses_of(*arguments)

    summary = train_plain(tmp_path, kind=MockFullAtTheThird, steps=5, **EAGER)
    assert (summary["step"], summary["micro_batches"]) == (5, 2)
    assert load(tmp_path / "checkpoints" / "last").tensors["optimiser"]["updates"] == 5


def test_a_device_too_small_for_one_utterance_is_a_clear_end(tmp_path):
    with pytest.raises(TrainingError, match="no memory for a single utterance: set a smaller model.size"):
        train_plain(tmp_path, kind=type("MockHopelessDevice", (MockOutOfMemoryDevice,), {"fits": 0}), steps=5)


def test_a_damaged_checkpoint_costs_the_steps_since_the_one_before(tmp_path, caplog):
    train_plain(tmp_path, steps=10, validation_steps=5)
    before = [line["loss"] for line in lines(tmp_path, "step")]
    with open(tmp_path / "checkpoints" / "step-10" / "ema.safetensors", "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    assert train_plain(tmp_path, steps=10, validation_steps=5)["step"] == 10
    assert "CHECKPOINT DAMAGED" in caplog.text
    assert [line["step"] for line in lines(tmp_path, "resume")] == [5]
    assert [line["loss"] for line in lines(tmp_path, "step")] == pytest.approx(before)
