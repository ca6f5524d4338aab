"""Judges during training: what they say is logged, shown, and may choose the best checkpoint."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from small_data import pack_voice, small_config
from small_run import SMALL

from myxtts.cache.reader import Cache
from myxtts.data.pipeline import Feed
from myxtts.errors import CheckpointError, ConfigError, SpeechError, TrainingError
from myxtts.evaluation.judges import EachSound, Sharp
from myxtts.models import sizes
from myxtts.report.run import write_run_report
from myxtts.report.run_data import read_run
from myxtts.training.run_log import read_log
from myxtts.training.setup import build_model
from myxtts.training.split import split
from myxtts.training.trainer import XTTSTrainer

MEASURED = ("validation", "evaluation", "rated")
FAST = {"enable_graph_mode": False, "evaluation_steps": 2, "validation_steps": 3}


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return pack_voice(tmp_path_factory.mktemp("judged"), 24)


@pytest.fixture
def marks(monkeypatch) -> list[float]:
    """What a judge will say of the sentences of each evaluation; recordings and copies have been heard before."""
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)
    monkeypatch.setattr("myxtts.training.judging.DEFAULT_VOCODER", "griffin-lim")  # the quickest
    marks = []

    def judges(names, gallery, languages, among):
        assert set(gallery) == {"speaker0", "speaker1"}
        judge = EachSound("distillmos", lambda audio, rate: {"distillmos": marks[0]})
        return [judge, Sharp()], {"dnsmos": "hearing needs the package 'speechmos': run pip install speechmos"}

    monkeypatch.setattr("myxtts.training.judging.find_judges", judges)
    return marks


def train(cache: Path, run: Path, marks: list[float], **settings) -> dict:
    """Each evaluation takes the next mark."""
    config = small_config(**{"steps": 6} | FAST | settings)
    opened = Cache(cache)
    sides = split(opened)
    feeds = [Feed(opened, config, utterances=rows) for rows in (sides.train, sides.validation)]
    trainer = XTTSTrainer(config, build_model(config, feeds[0]), run)
    with mock.patch("myxtts.training.judging.evaluate", _in_turn(marks)):
        return trainer.train(*feeds)


def _in_turn(marks: list[float]):
    from myxtts.evaluation.evaluate import evaluate

    def one_more(*arguments):
        evaluation = evaluate(*arguments)
        marks[:] = marks[1:] or marks
        return evaluation

    return one_more


@pytest.mark.slow
def test_the_best_checkpoint_is_the_one_that_a_judge_likes_best(cache, tmp_path, marks, capsys):
    marks += [2.0, 4.0, 3.0]
    summary = train(cache, tmp_path / "run", marks, best_by="distillmos")
    assert summary["best"] == {"step": 4, "distillmos": 4.0}
    lines = [line for line in read_log(tmp_path / "run") if line["kind"] == "evaluation"]
    assert [line["step"] for line in lines] == [2, 4, 6]
    assert [line["scores"]["distillmos"]["synthetic"] for line in lines] == [2.0, 4.0, 3.0]
    assert set(lines[0]["scores"]["sharpness_bins"]) == {"synthetic", "copy"}
    printed = capsys.readouterr().err
    assert "run pip install speechmos" in printed
    assert "judges distillmos 4.000" in printed
    page = write_run_report(tmp_path / "run").read_text(encoding="utf-8")
    assert 'id="judged"' in page
    with pytest.raises(CheckpointError, match="chose its best by distillmos, not mel_error"):
        train(cache, tmp_path / "run", marks)


def test_without_it_validation_chooses_and_judges_are_only_logged(cache, tmp_path, marks):
    marks += [4.0, 3.0]
    summary = train(cache, tmp_path / "run", marks, steps=2, evaluation_steps=1, validation_steps=2)
    assert set(summary["best"]) == {"step", "mel_error"}
    assert summary["best"]["step"] == 2
    assert _evaluated(tmp_path / "run") == [1, 2]


def test_a_last_step_that_is_judged_the_best_stays_the_best(cache, tmp_path, marks):
    marks += [2.0, 4.0]
    best = {"step": 4, "distillmos": 4.0}
    for _ in range(2):  # the second time nothing is left to do
        assert train(cache, tmp_path / "run", marks, steps=4, best_by="distillmos")["best"] == best


@pytest.mark.slow
def test_a_run_that_makes_its_start_worse_says_so(cache, tmp_path, marks, capsys, monkeypatch):
    monkeypatch.setattr("myxtts.training.complaints.WORSE", {"distillmos": 0.1})
    marks += [3.0]
    train(cache, tmp_path / "start", marks, steps=2)
    capsys.readouterr()
    marks[:] = [3.0, 3.2, 2.5, 2.4]
    train(cache, tmp_path / "run", marks, steps=4, start_from=str(tmp_path / "start"))
    assert "2.50 and was 3.00 before this training" in (first := capsys.readouterr().err)
    assert "3.20 and was" not in first
    train(cache, tmp_path / "run", marks, steps=6, start_from=str(tmp_path / "start"))
    assert "2.40 and was 3.00" in capsys.readouterr().err  # resumed, it still knows
    train(cache, tmp_path / "new", [3.0, 2.0], steps=4)
    assert "before this training" not in capsys.readouterr().err


@pytest.fixture
def guarded(cache, tmp_path, marks, monkeypatch) -> Callable[..., tuple[Path, dict]]:
    """Trains from another voice; nobody asks for judges. They hear every third step, and say these of similarity."""
    monkeypatch.setattr("myxtts.training.listening._GUARD_STEPS", 3)
    marks += [0.5]
    train(cache, tmp_path / "start", marks, steps=2, evaluation_steps=None)
    assert not _evaluated(tmp_path / "start")

    def go(*said: float, run: str = "run", **settings) -> tuple[Path, dict]:
        marks[:] = said or marks
        begun = {"start_from": str(tmp_path / "start"), "evaluation_steps": None}
        return tmp_path / run, train(cache, tmp_path / run, marks, **begun | settings)

    def guards(names, gallery, languages, among):
        return [EachSound("similarity", lambda audio, rate: {"similarity": marks[0]})], {}

    monkeypatch.setattr("myxtts.training.judging.find_judges", guards)
    return go


@pytest.mark.slow
def test_a_voice_that_starts_from_another_is_guarded_unasked(guarded, capsys):
    """What is worse than its start is said, and is not the best, also where it is heard only at its end."""
    run, summary = guarded(0.8, 0.79, 0.7, steps=4)
    said = capsys.readouterr().err
    assert _evaluated(run) == [3, 4]
    assert "0.70 and was 0.80 before this training" in said
    assert "0.79 and was" not in said
    assert set(summary["best"]) == {"step", "mel_error"}
    assert summary["best"]["step"] == 3
    _, late = guarded(0.8, 0.81, 0.7, steps=5, run="late", validation_steps=1)
    assert late["best"]["step"] == 3  # the validations in between were not heard
    unheard, _ = guarded(0.8, steps=2, evaluation_steps=0, run="unheard")
    assert not _evaluated(unheard)


@pytest.mark.slow
def test_patience_goes_by_every_validation_also_by_those_that_no_guard_has_heard(guarded, monkeypatch):
    monkeypatch.setattr("myxtts.training.trainer.Validator.run", lambda *_: {"mel_error": 1.0})
    run, summary = guarded(0.8, 0.9, validation_steps=1, early_stopping=2, steps=15)
    assert (summary["step"], summary["why"]) == (3, "no better for 2 validations")
    assert summary["best"] == {"step": 3, "mel_error": 1.0}  # the only one that was heard
    assert read_run(run).best == (3, "mel_error", 1.0)


@pytest.mark.slow
def test_a_run_that_is_made_longer_counts_its_last_validation_once(guarded, monkeypatch):
    """Its end hears a step that was validated before: no second time that it is no better."""
    errors = {2: 3.0, 4: 2.0, 6: 1.0, 8: 1.5, 10: 0.5, 12: 0.4}
    monkeypatch.setattr(XTTSTrainer, "_validate", lambda trainer: {"mel_error": errors[trainer._at]})
    patience = {"validation_steps": 2, "early_stopping": 2}
    assert guarded(0.8, 0.9, steps=6, **patience)[1]["why"] == "done"
    assert guarded(0.9, steps=12, **patience)[1]["why"] == "done"


@pytest.mark.slow
def test_what_was_due_at_the_step_of_a_signal_is_made_up_for(guarded, monkeypatch):
    step, stopped = XTTSTrainer._one_step, []

    def stop_at_3(trainer, *arguments):
        done = step(trainer, *arguments)
        if trainer._at == 3 and not stopped:
            stopped.append(trainer)
            os.kill(os.getpid(), signal.SIGTERM)
        return done

    whole, _ = guarded(0.8, 0.9, steps=5, run="whole")
    monkeypatch.setattr(XTTSTrainer, "_one_step", stop_at_3)
    run, summary = guarded(0.8, 0.9, steps=5)
    assert (summary["step"], summary["interrupted"], _evaluated(run)) == (3, True, [])
    _, summary = guarded(0.9, steps=5)
    assert measured(run) == measured(whole)
    assert measured(run)[:3] == [("validation", 3), ("evaluation", 3), ("rated", 3)]
    assert summary["best"]["step"] == read_run(whole).best.step


def measured(run: Path) -> list[tuple[str, int]]:
    return [(line["kind"], line["step"]) for line in read_log(run) if line["kind"] in MEASURED]


@pytest.mark.slow
def test_guards_that_fall_ill_let_validation_choose(guarded, monkeypatch, capsys):
    """Whatever their packages raise: here what numpy has no longer."""

    def ill(*_):
        raise AttributeError("module 'numpy' has no attribute 'float'")

    monkeypatch.setattr("myxtts.training.judging.Judging.run", ill)
    run, summary = guarded(0.8, steps=4, validation_steps=1)
    said = capsys.readouterr().err
    assert "step 3: the judges could not hear this voice, so validation alone decides: module 'numpy' has no" in said
    assert "no step was as good" not in said
    assert summary["best"]["step"] in (3, 4)


@pytest.mark.slow
def test_what_is_left_of_a_beginning_is_not_before_another_one(guarded, monkeypatch):
    def leave(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(XTTSTrainer, "_watch_feed", leave)
        with pytest.raises(KeyboardInterrupt):
            guarded(0.8, steps=4, sample_steps=2)
    run, _ = guarded(0.8, steps=4, sample_steps=2, start_from="scratch")
    assert not (run / "start_scores.json").exists()
    assert not list((run / "samples").glob("step-0-*"))


@pytest.mark.slow
def test_a_similarity_below_zero_keeps_its_sign(guarded, capsys):
    run, summary = guarded(-0.2, -0.3, -0.4, steps=4, evaluation_steps=2, best_by="similarity")
    assert "similarity to the same speaker is -0.30 and was -0.20" in capsys.readouterr().err
    assert summary["best"] == {"step": 2, "similarity": -0.3}
    assert read_run(run).best == (2, "similarity", -0.3)


@pytest.mark.slow
def test_a_voice_that_stays_worse_than_its_start_is_not_trained_on(guarded, capsys):
    """Nor is it when it was resumed in between; and none of its checkpoints is the best."""
    run, _ = guarded(0.8, 0.7, steps=3)
    _, summary = guarded(0.7, steps=15)
    assert summary["why"] == "worse than what it started from, heard 3 times in a row"
    assert _evaluated(run) == [3, 6, 9]
    assert summary["best"] is None
    assert read_run(run).best is None
    assert "no step was as good as what this voice started from: the last one speaks" in capsys.readouterr().err
    _, summary = guarded(0.7, steps=12, evaluation_steps=0)
    assert (summary["step"], summary["best"]["step"]) == (12, 12)  # nobody watches, nobody refuses


@pytest.mark.slow
def test_guards_that_cannot_hear_do_not_keep_a_voice_from_training(guarded, monkeypatch, capsys):
    missing = {name: f"{name} is missing" for name in ("intelligibility", "similarity")}
    with monkeypatch.context() as patched:
        patched.setattr("myxtts.training.judging.find_judges", lambda *_, **__: ([], missing))
        assert _evaluated(guarded(0.8, steps=3, run="missing")[0]) == []
    assert "becomes worse than what it starts from: similarity is missing" in capsys.readouterr().err
    assert _evaluated(guarded(0.8, steps=6, run="missing")[0]) == []  # found later, there is nothing to compare with
    assert "nobody heard it before the first step" in capsys.readouterr().err

    def deaf(*_, **__):
        raise SpeechError("an ear is full")

    with monkeypatch.context() as patched:
        patched.setattr("myxtts.training.judging.find_judges", deaf)
        assert guarded(0.8, steps=3, run="deaf")[1]["step"] == 3
    assert "nobody watches whether this voice becomes worse than what it starts from: an ear is full" in (
        capsys.readouterr().err
    )


def _evaluated(run: Path) -> list[int]:
    return [line["step"] for line in read_log(run) if line["kind"] == "evaluation"]


def test_a_number_that_is_never_measured_is_refused(cache, tmp_path, marks):
    with pytest.raises(ConfigError, match="training.best_by is 'mos', expected one of: mel_error, distillmos"):
        _train_unvalidated(cache, tmp_path, best_by="mos")
    with pytest.raises(ConfigError, match=r"best_by=wer is heard by judges: set training.evaluation_steps too"):
        _train_unvalidated(cache, tmp_path, best_by="wer", evaluation_steps=0)
    with pytest.raises(TrainingError, match="holds sentences back"):
        _train_unvalidated(cache, tmp_path)


def test_a_start_without_sentences_to_judge_by_is_trained_on_and_that_is_said(cache, tmp_path, capsys):
    _train_unvalidated(cache, tmp_path / "start", evaluation_steps=None)
    unguarded = "nobody watches whether this voice becomes worse than what it starts from: no sentences of it are held"
    assert unguarded not in capsys.readouterr().err
    _train_unvalidated(cache, tmp_path / "run", evaluation_steps=None, start_from=str(tmp_path / "start"))
    assert not _evaluated(tmp_path / "run")
    assert unguarded in capsys.readouterr().err


def _train_unvalidated(cache: Path, run: Path, **settings) -> None:
    config = small_config(steps=2, **FAST | settings)
    feed = Feed(Cache(cache), config)
    XTTSTrainer(config, build_model(config, feed), run).train(feed)
