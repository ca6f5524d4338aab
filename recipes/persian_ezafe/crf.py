"""A linear-chain CRF with two labels, trained by L-BFGS; what is not known of a sentence's labels is summed over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
from scipy.sparse import csr_matrix


@dataclass
class Chains:
    """Sentences of different lengths, longest first, so that those that reach word t are the first `alive[t]`."""

    first: np.ndarray  # [sentences] row of each sentence's first word
    alive: list[int]

    @classmethod
    def of(cls, lengths: list[int]) -> Chains:
        order = np.argsort(-np.array(lengths), kind="stable")
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        sizes = np.array(lengths)[order]
        return cls(starts[order], [int((sizes > t).sum()) for t in range(max(lengths))])


def expect(chains: Chains, scores: np.ndarray, transitions: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """log Z, the probability of each label [words, 2], the expected transitions [2, 2]; `scores` are exponentials."""
    steps, log_z = np.exp(transitions), 0.0
    forward: list[np.ndarray] = []
    for t, alive in enumerate(chains.alive):
        here = scores[chains.first[:alive] + t]
        if t:
            here = here * (forward[-1][:alive] @ steps)
        total = here.sum(1, keepdims=True)
        log_z += float(np.log(total).sum())
        forward.append(here / total)
    labels, pairs = np.empty_like(scores), np.zeros((2, 2))
    after = np.empty((0, 2))
    for t in range(len(chains.alive) - 1, -1, -1):
        alive, following = chains.alive[t], len(after)
        backward = np.ones((alive, 2))
        backward[:following] = after @ steps.T
        both = forward[t] * backward
        total = both.sum(1, keepdims=True)
        pairs += steps * ((forward[t] / total)[:following].T @ after)
        labels[chains.first[:alive] + t] = both / total
        after = scores[chains.first[:alive] + t] * backward / backward.sum(1, keepdims=True)
    return log_z, labels, pairs


def train(
    features: csr_matrix, lengths: list[int], known: np.ndarray, penalty: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the features for label 1, and transitions [2, 2]. `known` [words]: 0, 1, or -1 where nobody knows."""
    chains, transposed, size = Chains.of(lengths), features.T.tocsr(), features.shape[1]
    allowed = np.stack([known != 1, known != 0], 1)

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        weights, transitions = values[:size], values[size:].reshape(2, 2)
        score = features @ weights
        scores = np.exp(np.stack([-np.maximum(score, 0), np.minimum(score, 0)], 1))
        z, free, free_pairs = expect(chains, scores, transitions)
        z_known, bound, bound_pairs = expect(chains, np.maximum(scores, 1e-30) * allowed, transitions)
        slope = np.concatenate([transposed @ (free - bound)[:, 1], (free_pairs - bound_pairs).ravel()])
        return z - z_known + penalty / 2 * float(values @ values), slope + penalty * values

    result = scipy.optimize.minimize(
        loss, np.zeros(size + 4), jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 6}
    )
    return result.x[:size], result.x[size:].reshape(2, 2)
