"""A model in place of XTTS where only the loop around it is tested: it learns at once and compiles in 0.2 s."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

from myxtts.training.setup import describe_model


class StandInModel(keras.Model):
    """Guesses the same frame everywhere, plus one for each symbol of the text; both begin at 0."""

    def __init__(self, description, precision="float32"):
        super().__init__(name="stand_in")
        self.description, self.precision = description, precision
        self.frame = self.add_weight((80,), "zeros", name="frame")
        self.symbols = self.add_weight((len(description.token_table), 80), "zeros", name="symbols")
        self.duration_scale = self.add_weight((), "ones", trainable=False, name="duration_scale")
        self.built = True

    summed_outputs = ("predicted_frames", "true_frames")

    @property
    def texts(self):
        return self.description

    def objectives(self, losses):
        return [(losses["mel"], self.trainable_variables)]

    def losses_of(self, batch, seed, step):
        guess = self.frame + tf.reduce_mean(tf.gather(self.symbols * 1.0, batch["tokens"]), axis=1)
        away = tf.reduce_mean(tf.abs(batch["mel"] - guess[:, None]), axis=[1, 2])
        if "reference" in batch:  # what is wrong with a reference is wrong with its row
            away += 0.0 * tf.reduce_mean(batch["reference"], axis=[1, 2])
        mel = tf.reduce_sum(away * batch["weight"]) / tf.maximum(tf.reduce_sum(batch["weight"]), 1.0)
        frames = tf.reduce_sum(tf.cast(batch["frame_lengths"], tf.float32) * batch["weight"])
        return {"mel": mel}, {"predicted_frames": frames * 0.8, "true_frames": frames}

    def validation_of(self, batch):
        losses, outputs = self.losses_of(batch, None, None)
        ratio = self.duration_scale * 0.8
        return {"mel_error": losses["mel"], "duration_ratio": ratio, "frames": outputs["true_frames"]}


class MockOutOfMemoryDevice(StandInModel):
    """Behaves like a device whose memory holds `fits` frames at a time."""

    fits = 300

    def losses_of(self, batch, seed, step):
        if np.prod(batch["mel"].shape[:2]) > self.fits:
            raise tf.errors.ResourceExhaustedError(None, None, "mock: out of memory")
        return super().losses_of(batch, seed, step)


def build_stand_in(config, feed, kind=StandInModel) -> StandInModel:
    """What `setup.build_model` does, for the stand-in."""
    return kind(describe_model(config, feed))
