"""Adam (Kingma & Ba 2015) with a running average of the weights, as few graph operations as it takes.

A model that is trained on may keep a share of what it was before in the average (Wortsman et al. 2022, "Robust
fine-tuning"): between the two lies one that has learnt the new and forgotten less.

TensorFlow's fused update is one operation a variable; Keras' AdamW took 3.9 s of tracing and 8 ms a step for 120.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np
import tensorflow as tf

from myxtts.errors import CheckpointError

_EPSILON = 1e-8


# Variables are changed by their handles: under a strategy that is the variable of the replica at hand, whereas `assign`
# would call all replicas together, which is forbidden inside a condition. All replicas assign the same.


def add_to(variable: Any, value: Any) -> None:
    tf.raw_ops.AssignAddVariableOp(resource=variable.handle, value=tf.cast(value, variable.dtype))


def put(variable: Any, value: Any) -> None:
    tf.raw_ops.AssignVariableOp(resource=variable.handle, value=tf.cast(value, variable.dtype))


def _share(variable: Any, share: float, new_rows: Sequence[int]) -> Any:
    """Of a variable, or of each of its rows."""
    if not share or not len(new_rows):
        return share
    shares = np.full([variable.shape[0]] + [1] * (len(variable.shape) - 1), share, np.float32)
    shares[list(new_rows)] = 0.0
    return shares


class Adam(tf.Module):
    """Moments and averages of some Keras variables. Everything it knows goes through `state` and `restore`."""

    def __init__(
        self,
        variables: Sequence[Any],
        beta1: float,
        beta2: float,
        ema_decay: float,
        start_share: float = 0.0,
        new_rows: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ):
        """`variables` hold what the training starts from, but for `new_rows` of some, which have nothing to keep."""
        super().__init__(name="adam")
        self.paths = [variable.path for variable in variables]
        self.variables_ = [variable.value for variable in variables]
        self.beta1, self.beta2, self.ema_decay = beta1, beta2, ema_decay
        zeros = [np.zeros(variable.shape, np.float32) for variable in variables]
        self.first = [tf.Variable(zero, trainable=False) for zero in zeros]
        self.second = [tf.Variable(zero, trainable=False) for zero in zeros]
        self.average = [tf.Variable(tf.convert_to_tensor(variable), trainable=False) for variable in self.variables_]
        self.shares = [_share(variable, start_share, new_rows.get(variable.path, ())) for variable in variables]
        kept = self.variables_ if start_share else []
        self.start = [tf.Variable(tf.convert_to_tensor(variable), trainable=False) for variable in kept]
        self.updates = tf.Variable(0, dtype=tf.int64, trainable=False)

    def apply(self, gradients: Sequence[Any], learning_rate: Any) -> None:
        """One update, and the averages after it."""
        add_to(self.updates, 1)
        count = tf.cast(tf.convert_to_tensor(self.updates), tf.float32)
        # The average follows closely at first: its own beginning would otherwise weigh for 1 / (1 - decay) updates.
        share = 1.0 - tf.minimum(self.ema_decay, (1.0 + count) / (10.0 + count))
        powers = tf.pow(self.beta1, count), tf.pow(self.beta2, count)
        starts = self.start or self.variables_
        for variable, first, second, average, gradient, start, kept in zip(
            self.variables_, self.first, self.second, self.average, gradients, starts, self.shares, strict=True
        ):
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle, m=first.handle, v=second.handle, beta1_power=powers[0], beta2_power=powers[1],
                lr=learning_rate, beta1=self.beta1, beta2=self.beta2, epsilon=_EPSILON, grad=gradient,
            )  # fmt: skip
            wanted = variable + kept * (start - variable) if self.start else variable
            tf.raw_ops.AssignSubVariableOp(resource=average.handle, value=(average - wanted) * share)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Within, the model has the averaged weights; afterwards its own again, bit for bit."""
        own = [tf.identity(variable) for variable in self.variables_]
        try:
            for variable, average in zip(self.variables_, self.average, strict=True):
                variable.assign(average)
            yield
        finally:
            for variable, value in zip(self.variables_, own, strict=True):
                variable.assign(value)

    def averages(self) -> dict[str, np.ndarray]:
        return {path: average.numpy() for path, average in zip(self.paths, self.average, strict=True)}

    def state(self) -> dict[str, np.ndarray]:
        """The moments by name; the averages are kept beside the weights."""
        moments = {f"first/{path}": value.numpy() for path, value in zip(self.paths, self.first, strict=True)}
        moments |= {f"second/{path}": value.numpy() for path, value in zip(self.paths, self.second, strict=True)}
        started = zip(self.paths, self.start, strict=True) if self.start else ()
        moments |= {f"start/{path}": value.numpy() for path, value in started}
        return moments | {"updates": self.updates.numpy()}

    def restore(self, state: Mapping[str, np.ndarray], averages: Mapping[str, np.ndarray]) -> None:
        wanted = {f"{kind}/{path}" for kind in ("first", "second") for path in self.paths} | {"updates"}
        starts = {f"start/{path}" for path in self.paths}  # of a run that keeps none of its start, there are none
        missing = sorted(wanted.symmetric_difference(state.keys() - starts)) or sorted(set(self.paths) - set(averages))
        if missing:
            raise CheckpointError(
                f"the optimiser's state does not fit the model ({missing[0]}): start over with --reset"
            )
        for at, path in enumerate(self.paths):
            self.first[at].assign(state[f"first/{path}"])
            self.second[at].assign(state[f"second/{path}"])
            self.average[at].assign(averages[path])
            if self.start and f"start/{path}" in state:
                self.start[at].assign(state[f"start/{path}"])
        self.updates.assign(state["updates"])
