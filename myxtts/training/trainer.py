"""The training loop: take a batch, step, record; validate, save and speak now and then; survive what goes wrong.

    feed = Feed(Cache("voice.cache"), config)
    XTTSTrainer(config, build_model(config, feed), run="runs/voice").train(feed)

A run directory that already holds a run is gone on with. What one step needs and returns is in `step.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from myxtts.config.config import XTTSConfig
from myxtts.data.pipeline import Feed
from myxtts.errors import TrainingError
from myxtts.models import weights
from myxtts.monitor import Monitor, start_monitor
from myxtts.training.budget import Budget
from myxtts.training.checkpoint import Checkpoints, Loaded
from myxtts.training.damage import damaged_utterances
from myxtts.training.pictures import Board
from myxtts.training.run_log import LiveLine, RunLog, Status
from myxtts.training.samples import Samples
from myxtts.training.setup import example_voice, prepare_tensorflow
from myxtts.training.signals import StopSignals
from myxtts.training.source import source_of
from myxtts.training.step import Step
from myxtts.training.validate import METRIC, Validator

log = logging.getLogger(__name__)

_RETURNS = 3  # to an earlier checkpoint, one after the other, before a run is given up
_REPORT_EPOCHS = 10
_REPLAN_STEPS = 25  # with a budget of minutes: how often the end of the schedule is worked out again
_CALIBRATION_STEPS = 8  # training batches that stand in where there is no validation
_BOARD_SECONDS = 1.0


class XTTSTrainer:
    """Trains a model on a feed, in a run directory."""

    def __init__(self, config: XTTSConfig, model: Any, run: Path | str | None = None, resume_command: str = ""):
        self.config, self.model, self.training = config, model, config.training
        self.run = Path(run or config.training.run_dir)
        self.resume_command = resume_command or "the same command"
        self.monitor: Monitor = start_monitor()

    def train(self, train_dataset: Feed | tf.data.Dataset, val_dataset: Feed | tf.data.Dataset | None = None) -> dict[str, Any]:
        """Train until the budget is spent, a signal comes or validation stops improving. Returns a summary."""
        prepare_tensorflow(self.config)
        self._source = source_of(train_dataset)
        self._validation = None if val_dataset is None else source_of(val_dataset)
        self._budget = Budget.of(self.training, self._source.steps_per_epoch)
        self.step_, self.seconds, self._spent_before = 0, 0.0, 0.0
        self._bad_in_a_row = self._returns = self._worse_in_a_row = 0
        with Checkpoints(self.run, self.training.keep_checkpoints) as self._checkpoints, RunLog(self.run) as self._log:
            self.config.to_yaml(self.run / "config.yaml")
            self._live = LiveLine()
            self._step = Step(self.model, self.training, self._budget.steps or 1)
            self._validator = Validator(self.model, self._step.eager)
            self._voice = example_voice(train_dataset) if isinstance(train_dataset, Feed) else None
            found = self._checkpoints.latest_sound()
            if found is not None:
                self._restore(found)
            with Board(self.run / "tensorboard", None if found is None else self.step_) as self._board, StopSignals() as stop:
                self._begin(resumed=found is not None)
                return self._loop(stop)

    # ---- beginning ----------------------------------------------------------------------------------------------

    def _begin(self, resumed: bool) -> None:
        if resumed:
            self._log.resume(self.step_)
            self._live.say(f"going on from step {self.step_} of {self.run}")
        self._log.write("start", step=self.step_, config=self.config.to_dict(), feed=self._source.describe(),
                        parameters=self.model.count_params(), precision=self.model.precision)  # fmt: skip
        specs = self._source.specs()
        checks = self._validation.specs() if self._validation is not None else specs[:1]
        started = time.perf_counter()
        if not self._step.eager:
            work: list[tuple[Callable[[Any], None], Any]] = [(self._compile, spec) for spec in specs]
            work += [(self._validator.compile, spec) for spec in checks]
            for function, spec in tqdm(work, desc="compiling", unit="shape", leave=False):
                function(spec)
        self._log.write("event", step=self.step_, event="compiled", shapes=len(specs), seconds=time.perf_counter() - started)
        self.monitor.count("step.traces_before_start", self.monitor.counters["step.traces"])
        self._samples = None
        if self.training.sample_steps:
            batches = (self._validation or self._source).batches(0, 1)
            self._samples = Samples(self.model, next(batches), self.run / "samples")
            batches.close()  # type: ignore[attr-defined]

    def _compile(self, spec: Any) -> None:
        self._within_memory(lambda: self._step.compile(spec))

    def _within_memory(self, work: Callable[[], Any]) -> Any:
        """Do it; where the device runs out of memory, in twice as many parts, down to single utterances."""
        while True:
            try:
                return work()
            except tf.errors.ResourceExhaustedError as error:
                self._step.micro_batches *= 2
                if self._step.micro_batches > self.config.data.batch_size:
                    raise TrainingError(
                        "the device has no memory for a single utterance: set a smaller model.size or data.max_mel_frames"
                    ) from error
                self._event("out_of_memory", micro_batches=self._step.micro_batches, what=str(error)[:300])
                self._live.say(f"out of memory: batches go through in {self._step.micro_batches} parts from here on")

    # ---- the loop -----------------------------------------------------------------------------------------------

    def _loop(self, stop: StopSignals) -> dict[str, Any]:
        started = self._saved_at = time.monotonic()
        self._spent_before = self.seconds
        batches, why = self._source.batches(self.step_), "done"
        try:
            while not self._budget.is_spent(self.step_, self.seconds):
                if not self._one_step(batches):
                    batches.close()  # type: ignore[attr-defined]
                    batches = self._source.batches(self.step_)
                self.seconds = self._spent_before + time.monotonic() - started
                if stop.name:
                    why = f"stopped by {stop.name}"
                    break
                if not self._now_and_then():
                    why = f"no better for {self.training.early_stopping} validations"
                    break
        finally:
            batches.close()  # type: ignore[attr-defined]
            self._live.close()
        return self._end(why, stopped=bool(stop.name))

    def _one_step(self, batches: Iterator[dict[str, Any]]) -> bool:
        """One batch through; False if the run went back to an earlier step."""
        asked = time.perf_counter()
        batch = next(batches)
        came = time.perf_counter()
        numbers = self._within_memory(lambda: self._step.run(batch, self.step_))
        done = time.perf_counter()
        self.step_ += 1
        self._record(batch, numbers, (came - asked) * 1e3, (done - came) * 1e3)
        if numbers["finite"]:
            self._bad_in_a_row = 0
            return True
        return self._bad_step(batch, numbers)

    def _record(self, batch: dict[str, Any], numbers: dict[str, float], data_ms: float, compute_ms: float) -> None:
        rows = int(batch["tokens"].shape[0])
        self.monitor.log_step_timing(data_ms, compute_ms, rows)
        per_epoch = self._source.steps_per_epoch
        epoch = self.step_ / per_epoch if per_epoch else 0.0
        eta = self._budget.eta_seconds(self.step_, self.seconds)
        timing = {"data_ms": round(data_ms, 3), "compute_ms": round(compute_ms, 3)}
        speed = rows / max(data_ms + compute_ms, 1e-3) * 1e3
        losses = {name: value for name, value in numbers.items() if name not in ("finite", "predicted_frames", "true_frames")}
        stall = data_ms / max(data_ms + compute_ms, 1e-9)
        self._log.write("step", step=self.step_, epoch=round(epoch, 4), **losses, **timing, stall=round(stall, 5),
                        utterances_per_second=round(speed, 1), eta_seconds=eta, shape=batch["mel" if "mel" in batch else "audio"].shape[:2])  # fmt: skip
        total = self._budget.total_steps(self.step_, self.seconds)
        self._live.show(Status(self.step_, total, epoch, numbers["loss"], numbers["learning_rate"],
                               numbers["grad_norm"], data_ms, compute_ms, speed, eta))  # fmt: skip
        if time.monotonic() >= getattr(self, "_board_at", 0.0):
            self._board_at = time.monotonic() + _BOARD_SECONDS
            self._board.scalars({f"train/{name}": value for name, value in (losses | timing).items()}, self.step_)

    def _now_and_then(self) -> bool:
        """What is due after a step; False if validation says that the run may end."""
        training, step = self.training, self.step_
        if self._budget.seconds is not None and step % _REPLAN_STEPS == 0:
            self._step.total_steps.assign(self._budget.total_steps(step, self.seconds) or step)
        if self._samples is not None and step % training.sample_steps == 0:
            self._samples.write(step, self._step.optimiser, self._board)
        per_epoch = self._source.steps_per_epoch
        if per_epoch and step % (per_epoch * _REPORT_EPOCHS) == 0:
            self._report()
        whole = step % training.gradient_accumulation_steps == 0  # between updates there would be half a sum to keep
        if step % training.validation_steps == 0:
            self._validate_and_save(save=whole)
            return training.early_stopping is None or self._worse_in_a_row < training.early_stopping
        if whole and time.monotonic() - self._saved_at >= training.checkpoint_minutes * 60:
            self._save(None)
        return True

    def _end(self, why: str, stopped: bool) -> dict[str, Any]:
        """The last checkpoint. A signal's is saved at once: whoever sent it may not wait for a validation."""
        if stopped:
            self._save(None)
            self._live.say(f"{why} at step {self.step_}; saved. Go on with: {self.resume_command}")
        elif self.step_ % self.training.validation_steps or not self._checkpoints.best():
            self._validate_and_save()
        self._report()
        best = self._checkpoints.best()
        self._log.write("end", step=self.step_, why=why)
        return {"run": str(self.run), "step": self.step_, "seconds": round(self.seconds, 2), "why": why,
                "interrupted": stopped, "best": None if best is None else {"step": best[0], METRIC: best[1]},
                "stall": round(self.monitor.stall(), 5), "traces_after_start": self._late_traces(),
                "micro_batches": self._step.micro_batches}  # fmt: skip

    def _late_traces(self) -> int:
        counters = self.monitor.counters
        return counters["step.traces"] - counters["step.traces_before_start"]

    def _report(self) -> None:
        summary = self.monitor.summary()
        self._log.write("report", step=self.step_, **summary, traces_after_start=self._late_traces())

    # ---- validation and checkpoints -----------------------------------------------------------------------------

    def _validate_and_save(self, save: bool = True) -> None:
        if self._validation is None:
            self._validator.run(self._source.batches(0, _CALIBRATION_STEPS), self._step.optimiser)
            metric = None
        else:
            batches = self._validation.batches(0, self._validation.steps_per_epoch)
            found = self._validator.run(batches, self._step.optimiser)
            metric = found.get(METRIC)
            scale = float(self.model.duration_scale)
            self._log.write("validation", step=self.step_, **found, duration_scale=scale)
            self._board.scalars({f"validation/{name}": value for name, value in found.items()}, self.step_)
            self._live.say(f"step {self.step_}: validation " + "  ".join(f"{k} {v:.4f}" for k, v in found.items()))
            best = self._checkpoints.best()
            better = best is None or (metric is not None and metric < best[1])
            self._worse_in_a_row = 0 if better else self._worse_in_a_row + 1
        if save:
            self._save(metric)

    def _save(self, metric: float | None) -> None:
        own = weights.weights_of(self.model)
        tensors = {"weights": own, "ema": own | self._step.optimiser.averages(), "optimiser": self._step.state()}
        if self._voice is not None:
            tensors["voice"] = self._voice
        state = {"feed": self._source.state(self.step_), "seconds": self.seconds, "seed": self.training.seed,
                 "worse_in_a_row": self._worse_in_a_row}  # fmt: skip
        self._log.sync()
        self._checkpoints.save(self.step_, tensors, state, self.model.description, metric)
        self._saved_at = time.monotonic()

    def _restore(self, found: Loaded) -> None:
        self.step_ = self._source.resume(found.state["feed"])
        weights.set_weights(self.model, found.tensors["weights"])
        self._step.restore(found.tensors["optimiser"], found.tensors["ema"])
        if self._budget.seconds is None and self._budget.steps is not None:
            self._step.total_steps.assign(self._budget.steps)
        self.seconds = float(found.state["seconds"])
        self._worse_in_a_row = int(found.state["worse_in_a_row"])

    # ---- what goes wrong ----------------------------------------------------------------------------------------

    def _bad_step(self, batch: dict[str, Any], numbers: dict[str, float]) -> bool:
        """The step was skipped by itself; say which utterances it had, and go back if it was one too many."""
        self.monitor.count("step.not_finite")
        if self.model.precision == "float16" and self._step.loss_scale.numpy() > 1.0:
            return True  # an overflow of the scaled loss, which float16 meets now and then and which mends itself
        self._bad_in_a_row += 1
        ids = self._source.utterance_ids(self.step_ - 1)
        damaged = damaged_utterances(self._source, self.step_ - 1)
        self._event("not_finite", loss=numbers["loss"], grad_norm=numbers["grad_norm"], utterances=ids, damaged=damaged)
        hint = f"; DAMAGED in the cache: {', '.join(damaged)}: run 'myxtts verify'" if damaged else ""
        self._live.say(f"step {self.step_} skipped: its loss or gradient is not finite{hint}")
        if self._bad_in_a_row <= self.training.max_bad_steps:
            return True
        self._go_back(damaged)
        return False

    def _go_back(self, damaged: list[str]) -> None:
        """To the last good checkpoint with half the learning rate; a clear end if that was tried often enough."""
        found = self._checkpoints.latest_sound()
        self._returns += 1
        if found is None or self._returns > _RETURNS:
            names = f"; the cache holds damaged utterances: {', '.join(damaged)}" if damaged else ""
            raise TrainingError(
                f"{self._bad_in_a_row} steps in a row had no finite loss or gradient, and going back "
                f"{self._returns - 1} times did not help{names}: see 'not_finite' in {self.run / 'log.jsonl'}, then try "
                "a smaller training.learning_rate or training.precision=float32"
            )
        scale = float(self._step.rate_scale.numpy()) / 2
        self._restore(found)
        self._step.rate_scale.assign(scale)
        self._bad_in_a_row = 0
        self._log.resume(self.step_, learning_rate_scale=scale)
        self._board.resume(self.step_)
        self._live.say(f"back to step {self.step_}, with {scale:g} of the learning rate")

    def _event(self, event: str, **fields: Any) -> None:
        self._log.write("event", step=self.step_, event=event, **fields)
