"""Which frames belong to which token: monotonic alignment search without a teacher (Glow-TTS, Kim et al. 2020)."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from myxtts.models.layers import lengths_of

_UNREACHABLE = -1e9  # finite, so that a clip with fewer frames than tokens gives a poor path and not NaN
PRIOR_STEPS = 600  # the diagonal is believed less and less during this many steps
_PRIOR_STRENGTH = 40.0
_PRIOR_WIDTH = 0.2


def align(mel: Any, mu: Any, token_lengths: Any, frame_lengths: Any, step: Any | None = None) -> Any:
    """Frames per token, int32 [batch, tokens]: the best monotonic path of mel [batch, frames, mels] through mu.

    With `step`, paths near the diagonal are preferred during the first PRIOR_STEPS steps.
    """
    scores = match(tf.stop_gradient(mel), tf.stop_gradient(mu))
    if step is not None:
        scores += diagonal(token_lengths, frame_lengths, lengths_of(scores)) * _faded(step)
    return tf.stop_gradient(search(scores, token_lengths, frame_lengths))


def match(mel: Any, mu: Any) -> Any:
    """Log-likelihood of each frame under each token's unit Gaussian, [batch, frames, tokens], up to what depends on
    the frame alone, which no path can change."""
    columns = tf.transpose(mu, [0, 2, 1])
    return tf.matmul(mel, columns) - 0.5 * tf.reduce_sum(tf.square(columns), axis=1, keepdims=True)


def diagonal(token_lengths: Any, frame_lengths: Any, shape: list[Any]) -> Any:
    """A static prior: how far from the diagonal a token and a frame are, as a log-probability."""
    place = [
        (tf.range(longest, dtype=tf.float32) + 0.5)[None] / tf.cast(tf.maximum(lengths, 1), tf.float32)[:, None]
        for longest, lengths in ((shape[1], frame_lengths), (shape[2], token_lengths))
    ]
    away = (place[0][:, :, None] - place[1][:, None]) / _PRIOR_WIDTH
    return -0.5 * _PRIOR_STRENGTH * tf.square(away)


def _faded(step: Any) -> Any:
    return tf.maximum(0.0, 1.0 - tf.cast(step, tf.float32) / PRIOR_STEPS)


# XLA for this function alone: [16, 320, 80] takes 1.4 CPU-ms against 14 as an ordinary while loop, [16, 448, 110] 1.8
# against 22; compiling takes 0.3 s per shape. Its two loops have no convolution, which is what XLA is slow at on CPUs.
@tf.function(jit_compile=True, autograph=False)
def search(scores: Any, token_lengths: Any, frame_lengths: Any) -> Any:
    """The path of highest total score that starts at the first token, ends at the last and skips none.

    scores float32 [batch, frames, tokens] -> frames per token, int32 [batch, tokens]; 0 for padding.
    """
    _, frames, tokens = lengths_of(scores)
    advanced = _best_advances(tf.transpose(scores, [1, 0, 2]))
    token = _walk_back(advanced, token_lengths, frame_lengths)
    real = tf.range(frames)[None] < frame_lengths[:, None]
    chosen = (token[..., None] == tf.range(tokens)) & real[..., None]
    return tf.ensure_shape(tf.reduce_sum(tf.cast(chosen, tf.int32), axis=1), [scores.shape[0], scores.shape[2]])


def _best_advances(scores: Any) -> Any:
    """bool [frames, batch, tokens]: whether the best path to a token at a frame came from the token before it."""
    frames, batch, tokens = lengths_of(scores)
    before_first = tf.fill([batch, 1], 2 * _UNREACHABLE)

    def step(frame: Any, best: Any, advanced: Any) -> list[Any]:
        advance = tf.concat([before_first, best[:, :-1]], axis=1)
        return [frame + 1, scores[frame] + tf.maximum(best, advance), advanced.write(frame, advance > best)]

    first = tf.concat([scores[0, :, :1], tf.fill([batch, tokens - 1], _UNREACHABLE)], axis=1)
    advanced = tf.TensorArray(tf.bool, frames, element_shape=scores.shape[1:])
    advanced = advanced.write(0, tf.zeros([batch, tokens], tf.bool))
    start = [tf.constant(1), first, advanced]
    return tf.while_loop(lambda frame, *_: frame < frames, step, start, maximum_iterations=frames)[2].stack()


def _walk_back(advanced: Any, token_lengths: Any, frame_lengths: Any) -> Any:
    """int32 [batch, frames]: the token of each frame on the best path, from the end to the beginning."""
    frames = lengths_of(advanced)[0]

    def step(frame: Any, token: Any, path: Any) -> list[Any]:
        came_from_before = tf.gather(advanced[frame], token, batch_dims=1) & (frame < frame_lengths)
        return [frame - 1, token - tf.cast(came_from_before, tf.int32), path.write(frame, token)]

    path = tf.TensorArray(tf.int32, frames, element_shape=token_lengths.shape)
    start = [tf.constant(frames - 1) if isinstance(frames, int) else frames - 1, tf.maximum(token_lengths - 1, 0), path]
    path = tf.while_loop(lambda frame, *_: frame >= 0, step, start, maximum_iterations=frames)[2]
    return tf.transpose(path.stack())
