"""One training step: from a batch, as it crossed to the device, to an update. Compiled once per batch shape.

The step is skipped, and says so, where its loss or gradient is not finite: a bad batch costs its own time only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.config.config import TrainingConfig
from myxtts.data.device import widen
from myxtts.errors import ConfigError
from myxtts.models.layers import fold
from myxtts.models.variation import vary
from myxtts.monitor import current_monitor
from myxtts.training.optimiser import Adam, add_to, put
from myxtts.training.replicas import Notice, Replicas
from myxtts.training.schedule import learning_rate
from myxtts.training.start_from import new_rows_of, starts_from_another

# Float16 gradients below 6e-8 vanish: the loss is scaled up, halved on overflow and doubled after this many good steps.
_FIRST_LOSS_SCALE, _GOOD_STEPS, _LARGEST_LOSS_SCALE = 2.0**15, 2000, 2.0**24
_VARIATION = 1 << 20  # of a step's seeds, one that no model uses

Batch = Mapping[str, Any]
Numbers = dict[str, float]


class Step:
    """`run(batch, step)` trains the model on one batch and returns its numbers.

    With `replicas` a batch is a list of parts, one for each device of this process; make it within their scope.
    """

    def __init__(self, model: Any, training: TrainingConfig, total_steps: int, replicas: Replicas | None = None):
        self.model, self.training, self.replicas = model, training, replicas
        if training.start_share and not starts_from_another(training):
            raise ConfigError(
                f"training.start_share is {training.start_share:g}, but there is nothing that it starts from: give "
                "training.start_from (--from) too, or leave it out"
            )
        memory = training.beta1, training.beta2, training.ema_decay
        self.optimiser = Adam(model.trainable_variables, *memory, training.start_share, new_rows_of(model))
        self.micro_batches, self.largest_batch = 1, 0  # the largest that was tried
        # Variables, because they change during a run and a constant would be compiled in.
        self.total_steps = tf.Variable(total_steps, dtype=tf.int64, trainable=False)
        self.rate_scale = tf.Variable(1.0, trainable=False)
        self.loss_scale = tf.Variable(_FIRST_LOSS_SCALE if model.precision == "float16" else 1.0, trainable=False)
        self._good_steps = tf.Variable(0, dtype=tf.int64, trainable=False)
        accumulates = training.gradient_accumulation_steps > 1
        zeros = [tf.zeros(variable.shape) for variable in self.optimiser.variables_] if accumulates else []
        self._sums = [tf.Variable(zero, trainable=False) for zero in zeros]
        self._summed = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.names: list[str] = []
        self.eager = training.enable_eager_debug or not training.enable_graph_mode
        xla = training.enable_xla_compilation and replicas is None  # XLA cannot compile what several devices exchange
        work: Any = self._step if replicas is None else self._step_on_replicas
        self._call = work if self.eager else tf.function(work, jit_compile=xla, autograph=False)

    def compile(self, spec: Mapping[str, tf.TensorSpec]) -> None:
        """Get ready for a batch shape. A batch of nothing goes through, because half of the work is done by the first
        call; it changes no variable."""

        def nothing() -> Batch:
            return {name: tf.zeros(part.shape, part.dtype) for name, part in spec.items()}

        self.run(nothing() if self.replicas is None else self.replicas.on_each(nothing), 0, apply=False)

    def run(self, batch: Batch | list[Batch], step: int, apply: bool = True, notice: Notice | None = None) -> Numbers:
        """Train on one batch; the numbers are here when it returns, so its time is the step's. `notice`: what this
        worker tells the others."""
        now = tf.constant(step, tf.int64), tf.constant(apply), self.micro_batches
        if self.replicas is None:
            return self._named(self._call(dict(self._noted(batch)), *now))
        parts = self.replicas.distribute([dict(self._noted(part)) for part in batch])
        return self._named(self._call(parts, *now, self.replicas.tell(notice or Notice())))

    def _noted(self, batch: Any) -> Batch:
        self.largest_batch = max(self.largest_batch, int(batch["tokens"].shape[0]))
        return batch

    def _named(self, numbers: Any) -> Numbers:
        return dict(zip(self.names, numbers.numpy().tolist(), strict=True))

    def _step_on_replicas(self, parts: Any, step: Any, apply: Any, micro_batches: int, notice: Any) -> Any:
        replicas: Any = self.replicas
        return replicas.first_of(replicas.run(self._step, (parts, step, apply, micro_batches, notice)))

    def _step(self, batch: dict[str, Any], step: Any, apply: Any, micro_batches: int, notice: Any = None) -> Any:
        """What is compiled, once for each shape of batch and each number of parts that it is cut into."""
        if tf.inside_function():
            current_monitor().count("step.traces")
        losses, outputs, gradients = self._gradients(parts_of(widen(batch), micro_batches), step)
        ranks: dict[str, Any] = {}
        if self.replicas is not None:
            losses, outputs, gradients, ranks = self.replicas.add_up(losses, outputs, gradients, notice)
        if self.model.precision == "float16":
            gradients = [gradient / self.loss_scale for gradient in gradients]
        norm, loss = tf.linalg.global_norm(gradients), tf.add_n(list(losses.values()))
        finite = tf.math.is_finite(norm) & tf.math.is_finite(loss)
        rate = self._learning_rate(step)
        tf.cond(apply & finite, lambda: self._update(gradients, norm, rate, step), tf.no_op)
        if self.model.precision == "float16":
            tf.cond(apply, lambda: self._rescale(finite), tf.no_op)
        numbers = losses | {"loss": loss, "grad_norm": norm, "learning_rate": rate, "finite": finite}
        numbers |= {name: outputs[name] for name in self.model.summed_outputs} | ranks
        self.names = list(numbers)
        return tf.stack([tf.cast(value, tf.float32) for value in numbers.values()])

    def _gradients(self, cut: list[dict[str, Any]], step: Any) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
        """Losses and gradients of a batch, if need be in parts that fit into memory: then means over the parts, in
        which each counts as much as it has utterances (the rows that only fill up are all in the last one)."""
        parts = [self._part_gradients(part, step, at) for at, part in enumerate(cut)]
        if len(parts) == 1:
            return parts[0]
        filled = tf.stack([tf.reduce_sum(part["weight"]) for part in cut])
        if self.replicas is not None:
            filled = self.replicas.sum(filled)
        shares = tf.unstack(filled / tf.maximum(tf.reduce_sum(filled), 1.0))
        losses = {name: _mix([losses[name] for losses, _, _ in parts], shares) for name in parts[0][0]}
        summed = self.model.summed_outputs
        outputs = {name: tf.add_n([outputs[name] for _, outputs, _ in parts]) for name in summed}
        return losses, outputs, [_mix(same, shares) for same in zip(*(each for _, _, each in parts), strict=True)]

    def _part_gradients(self, batch: dict[str, Any], step: Any, at: int) -> tuple[Any, Any, Any]:
        seed = tf.stack([tf.constant(self.training.seed ^ at << 20, tf.int32), tf.cast(step, tf.int32)])
        with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
            tape.watch(self.optimiser.variables_)
            varied = vary(batch, self.training.vary_voices, fold(seed, _VARIATION))
            losses, outputs = self.model.losses_of(varied, seed, step)
            if self.replicas is not None:
                losses = self.replicas.weigh(losses, outputs, batch)
            objectives = [(loss * self.loss_scale, trained) for loss, trained in self.model.objectives(losses)]
        gradients: dict[str, Any] = {}
        for loss, trained in objectives:
            zero = tf.UnconnectedGradients.ZERO
            made = tape.gradient(loss, [variable.value for variable in trained], unconnected_gradients=zero)
            gradients |= {variable.path: gradient for variable, gradient in zip(trained, made, strict=True)}
        return losses, outputs, [tf.convert_to_tensor(gradients[path]) for path in self.optimiser.paths]

    def _learning_rate(self, step: Any) -> Any:
        training = self.training
        rate = learning_rate(step, training.schedule, training.learning_rate, training.warmup_steps,
                             self.total_steps, training.learning_rate_floor)  # fmt: skip
        return rate * self.rate_scale

    def _update(self, gradients: Sequence[Any], norm: Any, rate: Any, step: Any) -> Any:
        if not self._sums:
            self.optimiser.apply(self._clipped(gradients, norm), rate)
            return tf.no_op()
        for total, gradient in zip(self._sums, gradients, strict=True):
            add_to(total, gradient)
        add_to(self._summed, 1)
        count = tf.convert_to_tensor(self._summed)
        last = tf.equal((step + 1) % self.training.gradient_accumulation_steps, 0)
        return tf.cond(last, lambda: self._update_by_sums(count, rate), tf.no_op)

    def _update_by_sums(self, count: Any, rate: Any) -> Any:
        """With the mean of the gradients that were finite."""
        means = [total / tf.cast(count, tf.float32) for total in self._sums]
        self.optimiser.apply(self._clipped(means, tf.linalg.global_norm(means)), rate)
        for total in self._sums:
            put(total, tf.zeros_like(total))
        put(self._summed, 0)
        return tf.no_op()

    def _clipped(self, gradients: Sequence[Any], norm: Any) -> list[Any]:
        most = self.training.clip_norm
        shrink = most / tf.maximum(norm, most) if most else 1.0
        return [gradient * shrink for gradient in gradients]

    def _rescale(self, finite: Any) -> Any:
        good = tf.where(finite, self._good_steps + 1, 0)
        put(self._good_steps, good)
        grown = tf.where(good % _GOOD_STEPS == _GOOD_STEPS - 1, self.loss_scale * 2.0, self.loss_scale)
        put(self.loss_scale, tf.clip_by_value(tf.where(finite, grown, self.loss_scale / 2.0), 1.0, _LARGEST_LOSS_SCALE))
        return tf.no_op()

    # ---- what a checkpoint keeps ----

    @property
    def variables(self) -> list[Any]:
        """All that changes during a run, of the model and of this."""
        optimiser = self.optimiser
        own = [self.total_steps, self.rate_scale, self.loss_scale, self._good_steps, self._summed, *self._sums]
        model = [variable.value for variable in self.model.variables]
        return [*model, *optimiser.first, *optimiser.second, *optimiser.average, optimiser.updates, *own]

    def state(self) -> dict[str, np.ndarray]:
        scalars = {"rate_scale": self.rate_scale, "loss_scale": self.loss_scale, "good_steps": self._good_steps,
                   "total_steps": self.total_steps}  # fmt: skip
        kept = self.optimiser.state() | {f"step/{name}": variable.numpy() for name, variable in scalars.items()}
        if self._summed.numpy():  # in the middle of an accumulation
            kept |= {f"sum/{path}": total.numpy() for path, total in zip(self.optimiser.paths, self._sums, strict=True)}
            kept["step/summed"] = self._summed.numpy()
        return kept

    def restore(self, state: Mapping[str, np.ndarray], averages: Mapping[str, np.ndarray]) -> None:
        own = {name.removeprefix("step/"): value for name, value in state.items() if name.startswith("step/")}
        sums = {name.removeprefix("sum/"): value for name, value in state.items() if name.startswith("sum/")}
        moments = {name: value for name, value in state.items() if not name.startswith(("step/", "sum/"))}
        self.optimiser.restore(moments, averages)
        self.rate_scale.assign(own["rate_scale"])
        self.loss_scale.assign(own["loss_scale"])
        self._good_steps.assign(own["good_steps"])
        self.total_steps.assign(own["total_steps"])
        for path, total in zip(self.optimiser.paths if self._sums else [], self._sums, strict=True):
            total.assign(sums.get(path, tf.zeros_like(total)))
        self._summed.assign(own.get("summed", 0) if self._sums else 0)


def _mix(values: Sequence[Any], shares: Sequence[Any]) -> Any:
    return tf.add_n([value * share for value, share in zip(values, shares, strict=True)])


def parts_of(batch: Mapping[str, Any], n: int) -> list[dict[str, Any]]:
    """The batch cut into n parts along its rows; what has no rows goes into each. The last may be smaller."""
    rows = int(batch["tokens"].shape[0])
    size = -(-rows // n)
    whole = {name: part for name, part in batch.items() if part.shape.rank == 0}
    cut = {name: part for name, part in batch.items() if part.shape.rank}
    return [whole | {name: part[first : first + size] for name, part in cut.items()} for first in range(0, rows, size)]
