"""Conditional flow matching along straight lines from noise to mel (Lipman et al. 2023; for speech, Matcha-TTS)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from myxtts.models.layers import fold, lengths_of

_LEFT_OVER = 1e-4  # the noise that is still there at time 1


def noisy_pair(mel: Any, seed: Any) -> tuple[Any, Any, Any]:
    """A point on the way from noise to each mel, its time float32 [batch], and the velocity there, to be learnt."""
    noise = tf.random.stateless_normal(lengths_of(mel), fold(seed, 0), alg="philox")
    time = tf.random.stateless_uniform([lengths_of(mel)[0]], fold(seed, 1), alg="philox")
    at = time[:, None, None]
    return (1 - (1 - _LEFT_OVER) * at) * noise + at * mel, time, mel - (1 - _LEFT_OVER) * noise


def flow_through(velocity: Callable[[Any, Any], Any], start: Any, steps: int) -> Any:
    """Follow a velocity field from time 0 to 1 in equal Euler steps."""
    x = start
    for step in range(steps):
        time = tf.fill([lengths_of(x)[0]], step / steps)
        x += velocity(x, time) / steps
    return x
