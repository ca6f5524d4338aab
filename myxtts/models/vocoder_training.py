"""What a vocoder is trained with: pieces of clips and their frames, a distance, later discriminators.

With an acoustic model the frames are partly that model's own, over the real sound they belong to: so the vocoder learns
to put back what such frames have lost.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from myxtts.features.mel import HOP_SAMPLES, INT16_SCALE, LOG_FLOOR
from myxtts.features.mel_tensorflow import log_mel
from myxtts.models.discriminators import Discriminators
from myxtts.models.excitation import samples_of
from myxtts.models.layers import fold, lengths_of
from myxtts.models.replica import drawn
from myxtts.models.spectral import distance, spectrograms
from myxtts.models.upsample import crop_frames
from myxtts.models.vocoder import Vocoder
from myxtts.models.vocoder_description import VocoderDescription

CROP_FRAMES = 40
_EDGE_FRAMES = 4  # at each end of a piece, where the network and the windows lack what is beyond
_WHOLE_FRAMES = 128  # of each clip, for validation
_OWN_SHARE = 0.6  # of the pieces that begin with an acoustic model's frames, where there is one
_GAINS_DB = (-8.0, 3.0)  # pieces are made louder or softer, since nobody's recordings are as loud as the corpus
SPECTRAL_STEPS = 2000  # until the discriminators count in full: at first they would only see that nothing fits
LOSS_WEIGHTS = {"distance": 5.0, "deceived": 1.0, "features": 2.0, "caught": 1.0}
_CROP, _GAIN, _NOISE, _OWN = range(4)

Tensors = dict[str, Any]


class VocoderTraining(keras.Model):
    """The vocoder, its discriminators, and the losses of both."""

    summed_outputs: tuple[str, ...] = ()

    def __init__(self, description: VocoderDescription, acoustic: Any = None, spectral_steps: int = SPECTRAL_STEPS):
        super().__init__(name="vocoder_training", dtype="float32")
        self.description, self.precision, self._spectral_steps = description, "float32", spectral_steps
        self.vocoder, self.discriminators = Vocoder(), Discriminators(name="discriminators")
        self.discriminators.build()
        self._acoustic = lambda: acoustic  # behind a function, so that its variables are not this model's
        self.built = True

    @property
    def texts(self) -> Any:
        """Whose texts a batch must have: those of the model whose frames are used, if any."""
        acoustic = self._acoustic()
        return None if acoustic is None else acoustic.description

    def objectives(self, losses: Tensors) -> list[tuple[Any, list[Any]]]:
        """Each side's loss with the variables that it trains."""
        made = tf.add_n([losses[name] for name in ("distance", "deceived", "features")])
        return [
            (made, self.vocoder.trainable_variables),
            (losses["caught"], self.discriminators.trainable_variables),
        ]

    def losses_of(self, batch: Tensors, seed: Any, step: Any) -> tuple[Tensors, Tensors]:
        mel, audio = self._piece(batch, seed)
        pitch = self.vocoder.pitch(mel)
        filters = self.vocoder.filters(mel, pitch)
        real, made = _inner(audio), self._draw(pitch, filters, fold(seed, _NOISE))
        losses = {"distance": distance(spectrograms(real), spectrograms(made))}
        losses |= self.discriminators(real, made)._asdict()
        share = {name: self._share(step) for name in ("deceived", "features")}
        rows = tf.cast(lengths_of(mel)[0], tf.float32)  # all count, those that only fill up as silence
        outputs = {"weights": dict.fromkeys(losses, rows)}
        return {name: loss * LOSS_WEIGHTS[name] * share.get(name, 1.0) for name, loss in losses.items()}, outputs

    def _share(self, step: Any) -> Any:
        """How much the judges count by now. Not a condition around them: its gradient took a minute to compile."""
        return tf.clip_by_value(tf.cast(step, tf.float32) / max(self._spectral_steps, 1), 0.0, 1.0)

    def validation_of(self, batch: Tensors) -> Tensors:
        """Over the first frames of each clip: `copy_mel_l1` between frames and those of the sound made from them, and
        the distance of that sound from the recording."""
        longest = min(_WHOLE_FRAMES, batch["mel"].shape[1] or _WHOLE_FRAMES)
        mel, audio = batch["mel"][:, :longest], batch["audio"][:, :longest]
        made = self.vocoder(mel)
        again = log_mel(tf.reshape(made, [lengths_of(mel)[0], longest, HOP_SAMPLES]))
        real = _flat(tf.cast(audio, tf.float32) * INT16_SCALE)
        away = tf.reduce_mean(tf.abs(again - mel))
        apart = distance(spectrograms(real), spectrograms(made))
        return {"copy_mel_l1": away, "distance": apart, "frames": tf.reduce_sum(batch["weight"])}

    def _draw(self, pitch: Any, filters: tuple[Any, Any], seed: Any) -> Any:
        pulses, noise = self.vocoder.excite(pitch, seed)
        return _inner(samples_of(pulses * filters[0] + noise * filters[1]))

    def _piece(self, batch: Tensors, seed: Any) -> tuple[Any, Any]:
        """Frames [batch, CROP_FRAMES, mels] and their sound [batch, CROP_FRAMES * hop]; silence in rows without weight,
        which only fill up."""
        longest = lengths_of(batch["mel"])[1]
        numbers = crop_frames(batch["frame_lengths"], longest, CROP_FRAMES, fold(seed, _CROP))
        inside = tf.cast(numbers < batch["frame_lengths"][:, None], tf.float32)[..., None]
        inside *= batch["weight"][:, None, None]
        at = tf.minimum(numbers, longest - 1)
        mel = self._frames(batch, numbers, tf.gather(batch["mel"], at, batch_dims=1), seed)
        gain = tf.pow(10.0, _uniform(lengths_of(mel)[0], fold(seed, _GAIN), *_GAINS_DB) / 20)
        sound = tf.cast(tf.gather(batch["audio"], at, batch_dims=1), tf.float32) * INT16_SCALE * gain * inside
        frames = tf.maximum(mel + tf.math.log(gain), LOG_FLOOR)
        return tf.where(inside > 0, frames, LOG_FLOOR), _flat(sound)

    def _frames(self, batch: Tensors, numbers: Any, real: Any, seed: Any) -> Any:
        acoustic = self._acoustic()
        if acoustic is None:
            return real
        own = _uniform(lengths_of(real)[0], fold(seed, _OWN)) < _OWN_SHARE
        return tf.where(own, tf.stop_gradient(acoustic.copy(batch, numbers)), real)


def _uniform(rows: Any, seed: Any, low: float = 0.0, high: float = 1.0) -> Any:
    """[rows, 1, 1]"""
    return drawn(lambda shape: tf.random.stateless_uniform(shape, seed, low, high), [rows, 1, 1])


def _inner(audio: Any) -> Any:
    return audio[:, _EDGE_FRAMES * HOP_SAMPLES : -_EDGE_FRAMES * HOP_SAMPLES]


def _flat(rows: Any) -> Any:
    batch, frames, _ = lengths_of(rows)
    return tf.reshape(rows, [batch, frames * HOP_SAMPLES])
