"""Tells what a run does: every step and event to log.jsonl, curves to TensorBoard, the live line to the eye."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from myxtts.monitor import Monitor
from myxtts.training.budget import Budget
from myxtts.training.run_log import LiveLine, RunLog, Status
from myxtts.training.tensorboard import Board

_BOARD_SECONDS = 1.0  # a point of each curve, at most; log.jsonl has every step
_MACHINE_SECONDS = 60.0  # samples of the machine are kept for an hour: long before that they are in the log
_NOT_CURVES = ("finite", "predicted_frames", "true_frames")


class Recorder:
    def __init__(
        self, run: Path, monitor: Monitor, budget: Budget, steps_per_epoch: int | None, resumed_at: int | None
    ):
        self._monitor, self._budget, self._steps_per_epoch = monitor, budget, steps_per_epoch
        self._log, self._live = RunLog(run), LiveLine()
        self.board = Board(run / "tensorboard", resumed_at)
        self._board_at = self._machine_at = 0.0
        if resumed_at is not None:
            self._log.resume(resumed_at)
            self.say(f"resuming {run} at step {resumed_at}")
        elif not self._log.is_new:  # a life that ended before its first checkpoint has left its steps there
            self._log.resume(0)

    def step(self, step: int, seconds: float, shape: tuple[int, int], numbers: dict[str, float], data_ms: float,
             compute_ms: float, ranks: dict[str, list[float]]) -> None:  # fmt: skip
        """One step: rows and frames of its batch, its loss terms, norm and rate, how long what took, on each device
        where there are several."""
        rows, frames = shape
        self._monitor.log_step_timing(data_ms / 1e3, compute_ms / 1e3, rows)
        epoch = step / self._steps_per_epoch if self._steps_per_epoch else 0.0
        status = Status(
            step, self._budget.total_steps(step, seconds), epoch, numbers["loss"], numbers["learning_rate"],
            numbers["grad_norm"], data_ms, compute_ms, rows / max(data_ms + compute_ms, 1e-3) * 1e3,
            self._budget.eta_seconds(step, seconds),
        )  # fmt: skip
        curves = {name: value for name, value in numbers.items() if name not in _NOT_CURVES}
        timing = {"data_ms": round(data_ms, 3), "compute_ms": round(compute_ms, 3), "stall": round(status.stall, 5)}
        self._log.write("step", step=step, epoch=round(epoch, 4), **curves, **timing, batch=rows, frames=frames,
                        utterances_per_second=round(status.utterances_per_second, 1),
                        eta_seconds=status.eta_seconds, **ranks)  # fmt: skip
        self._live.show(status)
        if time.monotonic() >= self._board_at:
            self._board_at = time.monotonic() + _BOARD_SECONDS
            self.board.scalars({f"train/{name}": value for name, value in (curves | timing).items()}, step)
        if time.monotonic() >= self._machine_at:
            self._machine_at = time.monotonic() + _MACHINE_SECONDS
            if columns := self._monitor.take_samples():
                self._log.write("machine", step=step, **columns)

    def validation(self, step: int, measured: dict[str, float]) -> None:
        self._log.write("validation", step=step, **measured)
        self.board.scalars({f"validation/{name}": value for name, value in measured.items()}, step)
        self.say(f"step {step}: validation " + "  ".join(f"{name} {value:.4f}" for name, value in measured.items()))

    def evaluation(self, step: int, scores: dict[str, dict[str, float]]) -> None:
        """What the judges said, by measure and kind; curves and the line to the eye are of what was spoken."""
        self._log.write("evaluation", step=step, scores=scores)
        spoken = {name: kinds["synthetic"] for name, kinds in scores.items() if "synthetic" in kinds}
        self.board.scalars({f"evaluation/{name}": value for name, value in spoken.items()}, step)
        self.say(f"step {step}: judges " + "  ".join(f"{name} {value:.3f}" for name, value in spoken.items()))

    def report(self, step: int, late_traces: int) -> None:
        """What the monitor makes of the run so far."""
        records = self._monitor.to_records()
        records["report"]["traces_after_start"] = late_traces
        for kind, fields in records.items():
            self.write(kind, step, **fields)
        self.say(self._monitor.get_summary_report())

    def write(self, kind: str, step: int, **fields: Any) -> None:
        self._log.write(kind, step=step, **fields)

    def event(self, event: str, step: int, **fields: Any) -> None:
        self._log.write("event", step=step, event=event, **fields)

    def gone_back(self, step: int, **fields: Any) -> None:
        self._log.resume(step, **fields)
        self.board.resume(step)

    def say(self, text: str) -> None:
        self._live.say(text)

    def sync(self) -> None:
        self._log.sync()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self._live.close()
        self.board.close()
        self._log.close()


class Follower(Recorder):
    """Of a worker that follows the chief, which has all of it: times its own steps, and says nothing."""

    def __init__(self, monitor: Monitor):
        self._monitor = monitor

    def step(self, step: int, seconds: float, shape: tuple[int, int], numbers: dict[str, float], data_ms: float,
             compute_ms: float, ranks: dict[str, list[float]]) -> None:  # fmt: skip
        self._monitor.log_step_timing(data_ms / 1e3, compute_ms / 1e3, shape[0])

    def write(self, kind: str, step: int, **fields: Any) -> None:
        pass

    def event(self, event: str, step: int, **fields: Any) -> None:
        pass

    def gone_back(self, step: int, **fields: Any) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass
