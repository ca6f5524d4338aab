"""The training loop: take a batch, step, record; validate, save and speak now and then; survive what goes wrong.

    feed = Feed(Cache("voice.cache"), config)
    XTTSTrainer(config, build_model(config, feed), run="runs/voice").train(feed)

A run directory that already holds a run is resumed. What one step needs and returns is in `step.py`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf
from tqdm import tqdm

from myxtts.config.config import XTTSConfig
from myxtts.data.device import first_gpu
from myxtts.data.pipeline import Feed
from myxtts.data.tuples import feed_behind
from myxtts.errors import CheckpointError, TrainingError
from myxtts.models import weights
from myxtts.monitor import Monitor, current_monitor, start_monitor
from myxtts.training.best import Best, Rating
from myxtts.training.budget import DEFAULT_STEPS, Budget
from myxtts.training.checkpoint import Loaded
from myxtts.training.crew import Crew
from myxtts.training.damage import tell_not_finite
from myxtts.training.feed_search import KNOBS
from myxtts.training.feed_tuning import FeedTuning
from myxtts.training.fitting import within_memory
from myxtts.training.hearing import Hearing
from myxtts.training.judging import as_metric, check_best_by, of_metric
from myxtts.training.listening import Begun, choose_judges, choose_samples, forget_start, judge_steps, speaks
from myxtts.training.replicas import Notice, Replicas
from myxtts.training.setup import prepare_tensorflow
from myxtts.training.signals import StopSignals
from myxtts.training.source import Batch, DatasetSource, FeedSource, as_batch, source_of
from myxtts.training.start_from import starts_from_another
from myxtts.training.step import Step
from myxtts.training.validate import METRIC, Validator

_RETURNS = 3  # to an earlier checkpoint, one after the other, before a run is given up
_REPORT_EPOCHS = 10
_REPLAN_STEPS = 25  # with a budget of minutes: how often the end of the schedule is worked out again
_CALIBRATION_STEPS = 8  # training batches that stand in where there is no validation

Data = Any  # a Feed or a tf.data.Dataset


class XTTSTrainer:
    """Trains a model on a feed, in a run directory."""

    def __init__(
        self,
        config: XTTSConfig,
        model: Any,
        run: Path | str | None = None,
        resume_command: str = "the same command",
        replan: bool = False,
        crew: Crew | None = None,
    ):
        """`replan`: resume a run although its data or batches have changed. `crew`: where several devices train, in
        whose scope the model was built."""
        self.config, self.model, self.training = config, model, config.training
        self.run, self._replan = Path(run or config.training.run_dir or "runs/voice"), replan
        self._resume_command, self._crew = resume_command, crew or Crew()
        # The current one has seen the feed being made; one that has seen steps belongs to an earlier training.
        seen = current_monitor().steps or current_monitor().counters["step.traces"]
        self.monitor: Monitor = start_monitor() if seen else current_monitor()
        self._step: Any = None
        self._at = 0

    def train(self, train_dataset: Data, val_dataset: Data | None = None) -> dict[str, Any]:
        """Train until the budget is spent, a signal comes or validation stops improving. Returns a summary."""
        check_best_by(self.training.best_by, self.training.evaluation_steps)
        prepare_tensorflow(self.config)
        self._may_tune = self.config.data.auto_tune_performance  # the feed's settings may say the same or not
        if (feed := feed_behind(train_dataset)) is not None:
            self.config = dataclasses.replace(self.config, data=feed.data)  # with what the caches have settled
        self._source = self._source_of(train_dataset, self._crew.replicas)
        self._validation = None if val_dataset is None else self._source_of(val_dataset)
        self._voice = self._source.voice(self.model.description.reference_frames) if speaks(self.model) else None
        self._budget = Budget.of(self.training, self._source.steps_per_epoch)
        with self._crew.scope():
            most = self._budget.steps or DEFAULT_STEPS
            self._step = Step(self.model, self.training, most, self._crew.replicas)
        self._validator = Validator(self.model, self._step.eager)
        self._at, self._seconds = 0, 0.0  # steps and seconds that the run has behind it
        self._owes = False  # what was due after the last step, at which a signal came
        self._bad_in_a_row = self._returns = 0
        self._saved: tuple[int, Rating] = -1, None  # the last step that was saved, and what is known of it
        every = judge_steps(self.training, self.model, self._source, self._validation)
        self._hearing = Hearing(self.training, every)
        self._best = Best(self.training, self._hearing)
        with self._crew.checkpoints(self.run, self.training.keep_checkpoints) as self._checkpoints:
            checkpoint = self._checkpoints.latest_intact()
            if checkpoint is not None:
                self._restore(checkpoint)
            self._follow_chief()
            self._keep_config()  # not before: a run that may not be resumed keeps its own
            resumed_at = None if checkpoint is None else self._at
            details = self.monitor, self._budget, self._source.steps_per_epoch, resumed_at
            with self._crew.recorder(self.run, *details) as self._recorder:
                self._traced = self._traces()
                if self._budget.is_spent(self._at, self._seconds) and not self._owes:
                    self._recorder.say("this run is finished: give more --steps, --epochs or --minutes to resume it")
                    return self._summary("already done", interrupted=False)
                self._compile_all()
                self._tuning = self._watch_feed()
                with StopSignals() as stop:
                    return self._loop(stop)

    def train_step(self, *batch: Any) -> dict[str, float]:
        """One step by hand on a batch, a feed's or (tokens, mel, text_len, mel_len), given whole or part by part.
        Returns its losses. Checkpoints, validation and the log are what `train` does besides."""
        parts = as_batch(batch[0] if len(batch) == 1 else batch)
        parts = {name: tf.convert_to_tensor(part) for name, part in parts.items()}
        if self._step is None:
            self._step = Step(self.model, self.training, self.training.steps or DEFAULT_STEPS)
        numbers = self._step.run(parts, self._at)
        self._at += 1
        return numbers

    @property
    def performance_monitor(self) -> Monitor:
        return self.monitor

    def _source_of(self, data: Data, replicas: Replicas | None = None) -> FeedSource | DatasetSource:
        return source_of(data, self.config.data, self.model.texts, replicas)

    # ---- beginning --------------------------------------------------------------------------------------------------

    def _compile_all(self) -> None:
        """Everything that a step or a validation will need, before the first one."""
        self._recorder.write("start", self._at, config=self.config.to_dict(), feed=self._source.describe(),
                             parameters=self.model.count_params(), precision=self.model.precision)  # fmt: skip
        started = time.perf_counter()
        self._crew.enter(self._at, "compiling")
        specs = [] if self._step.eager else self._source.step_specs
        checks = [] if self._step.eager or not self._crew.chief else (self._validation or self._source).specs
        work: list[tuple[Step | Validator, Any]] = [(self._step, spec) for spec in specs]
        work += [(self._validator, spec) for spec in checks]
        sizes = None
        while sizes != (sizes := (self._step.micro_batches, self._validator.micro_batches)):  # more parts, other shapes
            for part, spec in tqdm(work, desc="compiling", unit="shape", leave=False):
                self._within_memory(part, functools.partial(part.compile, spec))
        self._traced = self._traces()
        self._recorder.event("compiled", self._at, shapes=len(specs), seconds=round(time.perf_counter() - started, 2))
        self._samples = None
        if self._crew.chief and self._at == 0:
            forget_start(self.run)
        if self._crew.chief and self.training.sample_steps:
            self._samples = choose_samples(self.model, self._validation or self._source, self.run / "samples")
            if self._at == 0 and starts_from_another(self.training):
                self._samples.write(0, self._step.optimiser, self._recorder.board)  # to hear what it is made from
        if self._crew.chief:
            heard = self._source, self._validation, self._voice, Begun(self.run, self._at)
            self._hearing.judging = choose_judges(self.training, self.model, *heard, self._recorder.say)

    def _watch_feed(self) -> FeedTuning | None:
        """Only a feed can have its settings changed in between: it reaches any step, so no batch is lost."""
        feed = getattr(self._source, "feed", None)
        if self._crew.several or not isinstance(feed, Feed):
            return None
        if not (self._may_tune and feed.data.auto_tune_performance):
            return None
        return FeedTuning(feed, self.config, first_gpu() is not None, self._recorder.say)

    # ---- the loop ---------------------------------------------------------------------------------------------------

    def _loop(self, stop: StopSignals) -> dict[str, Any]:
        began = self._saved_at = time.monotonic()
        before = self._seconds
        if self._owes and (reason := self._now_and_then()):
            return self._end(reason, interrupted=False)
        batches, why = self._source.batches(self._at), "done"
        try:
            while not self._budget.is_spent(self._at, self._seconds):
                notice = Notice(bool(stop.name), before + time.monotonic() - began)
                if not self._one_step(batches, notice) or self._feed_changed():
                    batches.close()
                    batches = self._source.batches(self._at)
                self._seconds = self._crew.seconds if self._crew.several else before + time.monotonic() - began
                if self._crew.stop if self._crew.several else stop.name:
                    why = f"stopped by {stop.name or 'another worker'}"
                    break
                if reason := self._now_and_then():
                    why = reason
                    break
        finally:
            batches.close()
        return self._end(why, why.startswith("stopped"))

    def _feed_changed(self) -> bool:
        """Whether waiting for data has led to other settings of the feed, which then are the run's."""
        if self._tuning is None or not self._tuning.after_step(*self._took):
            return False
        self.config = dataclasses.replace(self.config, data=self._tuning.data)
        self._keep_config()
        self._recorder.event("feed_settings", self._at, **{name: getattr(self.config.data, name) for name in KNOBS})
        return True

    def _one_step(self, batches: Iterator[Batch], notice: Notice) -> bool:
        """One batch through; False if the run went back to an earlier step."""
        self._crew.enter(self._at, "data")
        asked = time.perf_counter()
        batch = next(batches, None)
        if batch is None:
            raise TrainingError("the dataset gave no batch: it is empty")
        came = time.perf_counter()
        notice = dataclasses.replace(notice, data_ms=(came - asked) * 1e3)
        numbers = self._within_memory(self._step, lambda: self._crew.run(self._step, batch, self._at, notice))
        done = time.perf_counter()
        self._at += 1
        self._took = (came - asked) * 1e3, (done - came) * 1e3
        shape = self._source.shape(batch)
        self._recorder.step(self._at, self._seconds, shape, numbers, *self._took, self._crew.ranks)
        if numbers["finite"]:
            self._bad_in_a_row = 0
            return True
        return self._bad_step(numbers)

    def _now_and_then(self) -> str | None:
        """What is due after a step; why the run shall end, if validation or the guards say so."""
        training, step, self._owes = self.training, self._at, False
        if self._budget.seconds is not None and step % _REPLAN_STEPS == 0:
            self._step.total_steps.assign(self._budget.total_steps(step, self._seconds) or step)
        if self._samples is not None and step % training.sample_steps == 0:
            self._samples.write(step, self._step.optimiser, self._recorder.board)
        per_epoch = self._source.steps_per_epoch
        if per_epoch and step % (per_epoch * _REPORT_EPOCHS) == 0:
            self._recorder.report(self._at, self._late_traces())
        metric, validated = self._measure(), step % training.validation_steps == 0
        if judged := metric is not None or validated:
            self._save(metric)
        elif time.monotonic() - self._saved_at >= training.checkpoint_minutes * 60:
            self._save(None)
        reason = self._best.why_enough(step) if judged else None
        may_end = self._hearing.guards or training.early_stopping is not None
        if may_end and (validated or self._hearing.is_due(step)):
            return (reason or "the chief has ended it") if self._crew.agree(step, reason is not None) else None
        return reason

    def _end(self, why: str, interrupted: bool) -> dict[str, Any]:
        """The last checkpoint. A signal's is saved at once: whoever sent it may not wait for a validation."""
        if interrupted:
            self._owes = True
            self._save(None)
            self._recorder.say(f"{why} at step {self._at}; saved. Resume with: {self._resume_command}")
        elif (metric := self._measure(last=True)) is not None or self._was_unmeasured():
            self._save(metric)
        if self._hearing.watches and not interrupted and self._checkpoints.best() is None:
            self._recorder.say("no step was as good as what this voice started from: the last one speaks")
        self._recorder.report(self._at, self._late_traces())
        self._recorder.write("end", self._at, why=why)
        self._crew.agree(self._at, 0.0)  # nobody leaves while others still need it
        return self._summary(why, interrupted)

    def _was_unmeasured(self) -> bool:
        """Whether the last step has not been saved with what its validation has set."""
        return self._saved[0] != self._at or self._at % self.training.validation_steps != 0

    def _summary(self, why: str, interrupted: bool) -> dict[str, Any]:
        best = self._checkpoints.best()
        shown = (
            None
            if best is None
            else {"step": best[0], self.training.best_by: of_metric(self.training.best_by, best[1])}
        )
        return {"run": str(self.run), "step": self._at, "seconds": round(self._seconds, 2), "why": why,
                "interrupted": interrupted, "best": shown,
                "stall": round(self.monitor.stall(), 5), "traces_after_start": self._late_traces(),
                "micro_batches": self._step.micro_batches}  # fmt: skip

    def _late_traces(self) -> int:
        return self._traces() - self._traced

    def _traces(self) -> int:
        return self.monitor.counters["step.traces"] + self.monitor.counters["validation.traces"]

    # ---- validation and checkpoints ---------------------------------------------------------------------------------

    def _measure(self, last: bool = False) -> Rating:
        """What is due of validation and judges, or all of it; the number that the best is chosen by, if it is new."""
        training = self.training
        metrics: dict[str, Rating] = {}
        if not self._crew.chief:
            return None
        self._crew.enter(self._at, "validating")
        hears = self._hearing.is_due(self._at) != last  # the last step may have had its turn
        if (self._at % training.validation_steps == 0) != last or (hears and self._hearing.watches):
            metrics |= self._validate()
        scores = self._hearing.hear(self._at, self._step.optimiser, self._recorder) if hears else {}
        if scores and training.best_by != METRIC:
            metrics[training.best_by] = as_metric(training.best_by, scores)
        metric = self._best.rate(self._at, metrics)
        if training.best_by in metrics:
            self._recorder.write("rated", self._at, by=training.best_by, value=metric)
        return metric

    def _validate(self) -> dict[str, Rating]:
        """Measure the averaged weights; without data to do so only set the length of what they say."""
        source, most = (self._source, _CALIBRATION_STEPS) if self._validation is None else (self._validation, None)
        optimiser = self._step.optimiser
        measured = self._within_memory(self._validator, lambda: self._validator.run(source.one_pass(most), optimiser))
        if self._validation is None:
            return {}
        for step in self._validator.left_out:
            tell_not_finite(self._recorder, self._validation, step, self._at, "validation")
        scale = {"duration_scale": float(self.model.duration_scale.numpy())} if speaks(self.model) else {}
        self._recorder.validation(self._at, measured | scale)
        return {METRIC: measured.get(METRIC)}

    def _keep_config(self) -> None:
        if self._crew.chief:
            self.config.to_yaml(self.run / "config.yaml")

    def _save(self, metric: Rating) -> None:
        if not self._crew.chief:
            return
        self._crew.enter(self._at, "saving")
        if metric is None and self._saved[0] == self._at:
            metric = self._saved[1]  # who saves a step again has not measured it again
        own = weights.weights_of(self.model)
        tensors = {"weights": own, "ema": own | self._step.optimiser.averages(), "optimiser": self._step.state()}
        if self._voice is not None:
            tensors["voice"] = self._voice
        state = {"feed": self._source.state(self._at), "seconds": self._seconds, "seed": self.training.seed}
        state |= self._best.state() | {"owes": self._owes}
        self._recorder.sync()
        self._checkpoints.save(self._at, tensors, state, self.model.description, metric)
        self._saved_at, self._saved = time.monotonic(), (self._at, metric)

    def _follow_chief(self) -> None:
        """What the chief has restored, everybody has."""
        state = self._at, self._seconds, self._best.worse_in_a_row, float(self._owes)
        at, self._seconds, worse, owes = self._crew.follow(self._step, state)
        self._at, self._best.worse_in_a_row, self._owes = int(at), int(worse), bool(owes)

    def _restore(self, checkpoint: Loaded) -> None:
        self.model.description.check_continues(checkpoint.description, self.run)
        if (was := checkpoint.state.get("best_by", METRIC)) != self.training.best_by:
            raise CheckpointError(
                f"{self.run} chose its best by {was}, not {self.training.best_by}: leave training.best_by as it was, "
                "choose another --run, or start over with --reset"
            )
        state = checkpoint.state["feed"]
        self._at = int(state["step"]) if self._replan else self._source.resume(state)
        weights.set_weights(self.model, checkpoint.tensors["weights"])
        self._step.restore(checkpoint.tensors["optimiser"], checkpoint.tensors["ema"])
        if self._budget.seconds is None and self._budget.steps is not None:
            self._step.total_steps.assign(self._budget.steps)  # a run may be made longer when it is resumed
        self._saved = self._at, checkpoint.metric
        self._seconds, self._owes = float(checkpoint.state["seconds"]), bool(checkpoint.state.get("owes", False))
        self._best.restore(checkpoint.state, self._checkpoints.best())

    # ---- what goes wrong --------------------------------------------------------------------------------------------

    def _within_memory(self, part: Step | Validator, work: Callable[[], Any]) -> Any:
        def report(error: Exception) -> None:
            where = "step" if part is self._step else "validation"
            fields = {"where": where, "micro_batches": part.micro_batches, "what": str(error)[:300]}
            self._recorder.event("out_of_memory", self._at, **fields)
            self._recorder.say(f"{where} out of memory: in {part.micro_batches} parts from here on")

        shared = part is self._step
        return within_memory(part, lambda: self._crew.together(work) if shared else work(), report)

    def _bad_step(self, numbers: dict[str, float]) -> bool:
        """The step was skipped by itself; say which utterances it had, and go back if it was one too many."""
        self.monitor.count("step.not_finite")
        overflow = self.model.precision == "float16" and math.isfinite(numbers["loss"])
        if overflow and self._step.loss_scale.numpy() > 1.0:
            return True  # of the scaled gradient, which float16 meets now and then and which mends itself
        self._bad_in_a_row += 1
        norms = {name: numbers[name] for name in ("loss", "grad_norm")}
        damaged = tell_not_finite(self._recorder, self._source, self._at - 1, self._at, "step", **norms)
        if self._bad_in_a_row <= self.training.max_bad_steps:
            return True
        self._go_back(damaged)
        return False

    def _go_back(self, damaged: list[str]) -> None:
        """To the last good checkpoint with half the learning rate; a clear end if that was tried often enough."""
        checkpoint = self._checkpoints.latest_intact()
        self._returns += 1
        if (checkpoint is None and self._crew.chief) or self._returns > _RETURNS:
            names = f"; the cache holds damaged utterances: {', '.join(damaged)}" if damaged else ""
            raise TrainingError(
                f"{self._bad_in_a_row} steps in a row had no finite loss or gradient, and going back "
                f"{self._returns - 1} times did not help{names}: see 'not_finite' in {self.run / 'log.jsonl'}, then "
                "try a smaller training.learning_rate or training.precision=float32"
            )
        scale = float(self._step.rate_scale.numpy()) / 2
        if checkpoint is not None:
            self._restore(checkpoint)
            self._step.rate_scale.assign(scale)
            self._save(checkpoint.metric)  # so that the smaller rate outlives a kill
        self._follow_chief()
        self._bad_in_a_row = 0
        self._recorder.gone_back(self._at, learning_rate_scale=scale)
        self._recorder.say(f"back to step {self._at}, with {scale:g} of the learning rate")
