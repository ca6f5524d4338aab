"""The whole model: from a batch to its losses, from a text and a voice to mel frames.

reference -> voice        tokens -> hidden, mu        mel, mu -> durations (search)
hidden -> predicted durations        hidden, durations -> predicted pitch        all of them -> decoder -> mel

In training the decoder is shown the pitch of the real frames: it need not guess where the harmonics are, which it
would do by blurring them (naturalness by DistillMOS through HiFi-GAN, same steps: 2.89 without, 4.15 with).
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from myxtts.features.mel import LOG_FLOOR, N_MELS
from myxtts.models.aligner import align
from myxtts.models.decoder import Decoder
from myxtts.models.definition import PLACE_FEATURES, STRIDE
from myxtts.models.description import ModelDescription
from myxtts.models.duration import DurationPredictor, whole_frames
from myxtts.models.frame_discriminator import FrameDiscriminator
from myxtts.models.layers import fold, inside_of, lengths_of, policy_of
from myxtts.models.pitch import PitchPredictor, harmonics_of, pitch_of, pitch_terms, typical_pitch
from myxtts.models.reference_encoder import ReferenceEncoder
from myxtts.models.sharpness import sharpness_of
from myxtts.models.sizes import size_named
from myxtts.models.text_encoder import TextEncoder
from myxtts.models.upsample import crop_frames, tokens_at
from myxtts.models.voice import Voice
from myxtts.models.voice_terms import voice_term

CROP_FRAMES = 128  # what the decoder is trained on at a time: its cost no longer depends on the clips' lengths
LOSS_WEIGHTS = {"mel": 1.0, "prior": 1.0, "duration": 0.3, "pitch": 0.6, "voicing": 0.1, "voice": 0.1, "spoken": 0.1,
                "deceived": 0.1, "features": 0.1, "caught": 1.0}  # fmt: skip
# In what a checkpoint is chosen by. Distance alone prefers blur: of one run step 1,000 had 0.574, sharpness 0.84 and
# naturalness 3.21 (DistillMOS), step 4,000 had 0.580, 0.89 and 3.58.
BLUR_WEIGHT = 0.5
_SEEN_FRAMES = 48  # to each side of a frame: ten blocks of `small` see 60, six of `tiny` 36, and little of it counts
_DISCRIMINATOR_STEPS = 500  # until it counts in full: at first it would only see that nothing fits
# The random draws of a step, each from its own seed.
_TEXT, _DURATION, _DECODER, _CROP, _REFERENCE, _PITCH = range(6)

Tensors = dict[str, Any]


class XTTS(keras.Model):
    """Every variable is there, float32, once the constructor returns."""

    summed_outputs = ("predicted_frames", "true_frames")  # of a batch in parts: the sum of the parts'
    unspoken = ("xtts/frame_discriminator/",)  # variables that speaking does not need: weights may lack them

    def __init__(self, description: ModelDescription, precision: str = "float32"):
        super().__init__(name="xtts", dtype="float32")
        size, policy, mels = size_named(description.size), policy_of(precision), N_MELS
        symbols, languages = len(description.token_table), len(description.languages)
        self.description, self.precision = description, precision
        self.text_encoder = TextEncoder(size, symbols, languages, mels, name="text_encoder", dtype=policy)
        self.reference_encoder = ReferenceEncoder(size, mels, name="reference_encoder", dtype=policy)
        self.duration_predictor = DurationPredictor(size, name="duration_predictor", dtype=policy)
        self.pitch_predictor = PitchPredictor(size, PLACE_FEATURES, STRIDE, name="pitch_predictor", dtype=policy)
        self.decoder = Decoder(size, mels, name="decoder", dtype=policy)
        self.frame_discriminator = FrameDiscriminator(name="frame_discriminator", dtype="float32")
        self.build()

    @property
    def texts(self) -> ModelDescription:
        """Whose texts a batch must have."""
        return self.description

    def build(self, input_shape: Any = None) -> None:
        mels = (N_MELS,)
        self.mel_mean = self.add_weight(mels, "zeros", trainable=False, name="mel_mean")
        self.mel_std = self.add_weight(mels, "ones", trainable=False, name="mel_std")
        self.duration_scale = self.add_weight((), "ones", trainable=False, name="duration_scale")
        predictors = (self.duration_predictor, self.pitch_predictor)
        parts = (self.text_encoder, self.reference_encoder, *predictors, self.decoder, self.frame_discriminator)
        for part in parts:
            part.build()

    def set_statistics(self, mean: Any, std: Any) -> None:
        """The corpus' log-mel mean and spread: one number each (what was tried) or one per mel bin."""
        shape = (N_MELS,)
        self.mel_mean.assign(np.broadcast_to(np.asarray(mean, np.float32), shape))
        self.mel_std.assign(np.broadcast_to(np.asarray(std, np.float32), shape))

    # ------------------------------------------------------------------------------------------------ training

    def objectives(self, losses: Tensors) -> list[tuple[Any, list[Any]]]:
        """Each side's loss with the variables that it trains."""
        judging = self.frame_discriminator.trainable_variables
        judges = {variable.path for variable in judging}
        speaking = [variable for variable in self.trainable_variables if variable.path not in judges]
        spoken = tf.add_n([loss for name, loss in losses.items() if name != "caught"])
        return [(spoken, speaking), (losses["caught"], judging)]

    def losses_of(self, batch: Tensors, seed: Any, step: Any) -> tuple[Tensors, Tensors]:
        """The weighted loss terms of a batch, whose sum is minimised, and what is worth logging.

        Outputs: durations int32 [batch, tokens], alignment int32 [batch, frames] (the token of each frame),
        predicted_frames and true_frames (sums over the batch; their ratio calibrates `duration_scale`), and weights:
        of how much each term is the mean, by which the terms of a batch's parts make those of the batch.
        """
        encoded = self._read(batch, seed, step)
        losses = {"prior": encoded["prior"], "duration": encoded["duration"]}
        piece = self._piece(encoded, fold(seed, _CROP))
        losses |= pitch_terms(*self._predict_pitch(piece, fold(seed, _PITCH)), piece["pitch"], piece["weight"])
        frames = piece["mu"] + self._decode(piece, fold(seed, _DECODER))
        losses["mel"] = _mean(tf.abs(frames - piece["mel"]), piece["weight"])
        losses |= self._voice_terms(encoded, piece, frames) | self._verdicts(piece, frames, batch["weight"], step)
        outputs = {name: encoded[name] for name in ("durations", "alignment", "predicted_frames", "true_frames")}
        outputs["weights"] = {name: tf.reduce_sum(weight) for name, weight in _weights(encoded, piece, losses).items()}
        return {name: loss * LOSS_WEIGHTS[name] for name, loss in losses.items()}, outputs

    def _voice_terms(self, encoded: Tensors, piece: Tensors, frames: Any) -> Tensors:
        """Whether real and spoken pieces have the reference's voice; nothing to tell where there is one speaker."""
        batch = encoded["batch"]
        if "reference" not in batch or len(self.description.speakers) < 2:
            return {}
        lengths = tf.cast(tf.reduce_sum(piece["inside"], axis=[1, 2]), tf.int32)
        heard = {"voice": piece["mel"], "spoken": frames}
        vectors = {name: self.reference_encoder(mel, lengths).vector for name, mel in heard.items()}
        timbres = [self._timbre(vector) for vector in (encoded["voice"].vector, *vectors.values())]
        return {
            name: voice_term(timbres[0], timbre, batch["speaker"], batch["weight"])
            for name, timbre in zip(vectors, timbres[1:], strict=True)
        }

    def _verdicts(self, piece: Tensors, frames: Any, weight: Any, step: Any) -> Tensors:
        """What the discriminator makes of real and made frames; to the decoder it counts more and more at first."""
        verdicts = self.frame_discriminator(piece["mel"] * piece["inside"], frames * piece["inside"], weight)
        share = tf.clip_by_value(tf.cast(step, tf.float32) / _DISCRIMINATOR_STEPS, 0.0, 1.0)
        return {
            "deceived": verdicts.deceived * share,
            "features": verdicts.features * share,
            "caught": verdicts.caught,
        }

    def validation_of(self, batch: Tensors) -> Tensors:
        """Deterministic, over whole clips: mel_l1 in log-mel units, mel_error (with what blur adds), prior, duration,
        duration_ratio (predicted frames, calibrated, over true), pitch (octaves), voicing, sharpness_bins and
        sharpness_time, and what to weigh batches by: frames."""
        encoded = self._read(batch)
        whole = self._piece(encoded, None)
        made = whole["mu"] + self._decode(whole)
        away = tf.abs(made - whole["mel"]) * tf.convert_to_tensor(self.mel_std)
        ratio = self.duration_scale * encoded["predicted_frames"] / tf.maximum(encoded["true_frames"], 1.0)
        measured = {"mel_l1": _mean(away, whole["weight"]), "duration_ratio": ratio, "frames": encoded["true_frames"]}
        std = tf.convert_to_tensor(self.mel_std)
        measured |= sharpness_of(made * std, whole["mel"] * std, whole["weight"])
        blur = tf.maximum(1.0 - measured["sharpness_bins"], 0.0)
        measured["mel_error"] = measured["mel_l1"] + BLUR_WEIGHT * blur
        measured |= pitch_terms(*self._predict_pitch(whole), whole["pitch"], whole["weight"])
        return measured | {name: encoded[name] for name in ("prior", "duration")}

    def copy(self, batch: Tensors, numbers: Any) -> Any:
        """The clips' frames of these numbers, int32 [batch, even n], as this model draws them with their own durations
        and pitch: log-mel. The decoder is shown what lies around them, so they are those of the whole clip."""
        around = numbers[:, :1] + tf.range(-_SEEN_FRAMES, numbers.shape[1] + _SEEN_FRAMES)[None]
        piece = self._piece_at(self._read(batch), around)
        made = (piece["mu"] + self._decode(piece))[:, _SEEN_FRAMES:-_SEEN_FRAMES]
        return made * tf.convert_to_tensor(self.mel_std) + tf.convert_to_tensor(self.mel_mean)

    def _read(self, batch: Tensors, seed: Any = None, step: Any = None) -> Tensors:
        """A batch up to the decoder: voice, text, alignment, and the losses that need no decoder."""
        mel = self._normalise(batch["mel"])
        frame_lengths, token_lengths = batch["frame_lengths"], batch["token_lengths"]
        inside = inside_of(token_lengths, lengths_of(batch["tokens"])[1])
        voice = self._voice_of(batch, mel, fold(seed, _REFERENCE))
        hidden, mu = self.text_encoder(batch["tokens"], inside, batch["language"], voice, fold(seed, _TEXT))
        durations = align(mel, mu, token_lengths, frame_lengths, step)
        log_frames = self.duration_predictor(hidden, inside, voice.vector, fold(seed, _DURATION))
        pitch = pitch_of(tf.cast(batch["mel"], tf.float32), inside_of(frame_lengths, lengths_of(mel)[1]))
        encoded = {"mel": mel, "pitch": pitch, "voice": voice, "hidden": hidden, "mu": mu, "durations": durations,
                "batch": batch}  # fmt: skip
        weight = inside[..., 0] * batch["weight"][:, None]
        return encoded | self._prior(encoded) | _duration_terms(log_frames, durations, weight)

    def _prior(self, encoded: Tensors) -> Tensors:
        """How well each token's one frame fits the frames it was aligned with: what teaches `mu`."""
        batch, mel = encoded["batch"], encoded["mel"]
        longest = lengths_of(mel)[1]
        numbers = tf.broadcast_to(tf.range(longest)[None], lengths_of(mel)[:2])
        token, _ = tokens_at(encoded["durations"], numbers)
        away = tf.square(tf.gather(encoded["mu"], token, batch_dims=1) - mel)
        weight = inside_of(batch["frame_lengths"], longest) * batch["weight"][:, None, None]
        return {"prior": 0.5 * _mean(away, weight), "alignment": token}

    def _piece(self, encoded: Tensors, seed: Any | None) -> Tensors:
        """What the decoder sees: a crop of each clip with a seed, else whole clips; always an even number of frames."""
        batch, mel = encoded["batch"], encoded["mel"]
        longest = lengths_of(mel)[1]
        even = longest + longest % STRIDE
        length = even if seed is None or not isinstance(even, int) else min(CROP_FRAMES, even)
        return self._piece_at(encoded, crop_frames(batch["frame_lengths"], longest, length, seed))

    def _piece_at(self, encoded: Tensors, numbers: Any) -> Tensors:
        """The frames of these numbers; those that a clip does not have, before it or behind it, are outside."""
        batch, mel = encoded["batch"], encoded["mel"]
        real = (numbers >= 0) & (numbers < batch["frame_lengths"][:, None])
        real, numbers = tf.cast(real, tf.float32)[..., None], tf.maximum(numbers, 0)
        at = tf.minimum(numbers, lengths_of(mel)[1] - 1)
        target, pitch = (tf.gather(each, at, batch_dims=1) for each in (mel, encoded["pitch"]))
        piece = self._upsample(encoded["hidden"], encoded["mu"], encoded["durations"], numbers, encoded["voice"])
        return piece | {"mel": target, "pitch": pitch, "inside": real, "weight": real * batch["weight"][:, None, None]}

    def _voice_of(self, batch: Tensors, mel: Any, seed: Any | None) -> Voice:
        """The voice to speak a batch in: of its reference clips, or without them of a piece of each clip itself."""
        if "reference" in batch:
            return self._hear(batch["reference"], batch["reference_lengths"])
        longest = lengths_of(mel)[1]
        length = min(self.description.reference_frames, longest) if isinstance(longest, int) else longest
        numbers = crop_frames(batch["frame_lengths"], longest, length, seed)
        own = tf.gather(batch["mel"], tf.minimum(numbers, longest - 1), batch_dims=1)
        return self._hear(own, tf.clip_by_value(batch["frame_lengths"] - numbers[:, 0], 0, length))

    # ------------------------------------------------------------------------------------------------ speaking

    def voice(self, reference: Any, lengths: Any) -> Voice:
        """The voice of log-mel clips [clips, frames, mels], averaged over them: vector [1, dim], tokens [1, n, dim].

        Their pitch is that of all sure frames together, since a clip may have hardly any."""
        voices = self.reference_encoder(self._normalise(reference), lengths)
        vector, tokens = (tf.reduce_mean(each, axis=0, keepdims=True) for each in (voices.vector, voices.tokens))
        clips, frames, mels = lengths_of(reference)
        inside = tf.reshape(inside_of(lengths, frames), [1, clips * frames, 1])
        return self._pitched(Voice(vector, tokens), tf.reshape(reference, [1, clips * frames, mels]), inside)

    def synthesize(
        self,
        tokens: Any,
        token_lengths: Any,
        language: Any,
        voice: Voice,
        speed: Any = 1.0,
        octaves_up: Any = 0.0,
    ) -> tuple[Any, Any, Any]:
        """Log-mel [batch, frames, mels], frame lengths [batch] and durations [batch, tokens] of a text in a voice."""
        inside = inside_of(token_lengths, lengths_of(tokens)[1])
        hidden, mu = self.text_encoder(tokens, inside, language, voice.reader)
        frames = tf.exp(self.duration_predictor(hidden, inside, voice.reader.vector)) * self.duration_scale / speed
        durations = whole_frames(frames, inside[..., 0])
        frame_lengths = tf.reduce_sum(durations, axis=1)
        piece = self._speak(hidden, mu, durations, frame_lengths, voice)
        octaves, logit = self._predict_pitch(piece)
        piece["pitch"] = tf.stack([octaves + octaves_up, tf.sigmoid(logit)], axis=-1)
        made = piece["mu"] + self._decode(piece)
        mel = made * tf.convert_to_tensor(self.mel_std) + tf.convert_to_tensor(self.mel_mean)
        return tf.where(piece["inside"] > 0, mel, LOG_FLOOR), frame_lengths, durations

    def _speak(self, hidden: Any, mu: Any, durations: Any, frame_lengths: Any, voice: Voice) -> Tensors:
        longest = tf.reduce_max(frame_lengths)
        numbers = tf.range(longest + longest % STRIDE)[None]
        numbers = tf.broadcast_to(numbers, [lengths_of(durations)[0], tf.shape(numbers)[1]])
        real = tf.cast(numbers < frame_lengths[:, None], tf.float32)[..., None]
        return self._upsample(hidden, mu, durations, numbers, voice) | {"inside": real}

    # ------------------------------------------------------------------------------------------------ shared

    def _hear(self, log_mel: Any, lengths: Any) -> Voice:
        """What the encoder makes of each clip."""
        voice = self.reference_encoder(self._normalise(log_mel), lengths)
        return self._pitched(voice, log_mel, inside_of(lengths, lengths_of(log_mel)[1]))

    def _pitched(self, voice: Voice, log_mel: Any, inside: Any) -> Voice:
        """Where pitch is followed, the vector's last number is that of the clip instead."""
        if not self.description.follows_pitch:
            return voice
        pitch = typical_pitch(tf.cast(log_mel, tf.float32), inside)
        return Voice(tf.concat([self._timbre(voice.vector), pitch], axis=-1), voice.tokens)

    def _timbre(self, vector: Any) -> Any:
        return vector[:, :-1] if self.description.follows_pitch else vector

    def _normalise(self, mel: Any) -> Any:
        return (tf.cast(mel, tf.float32) - tf.convert_to_tensor(self.mel_mean)) / tf.convert_to_tensor(self.mel_std)

    def _upsample(self, hidden: Any, mu: Any, durations: Any, numbers: Any, voice: Voice) -> Tensors:
        """The decoder's inputs at frames `numbers`. It starts from mu but may not bend it: the aligner relies on it."""
        token, place = tokens_at(durations, numbers)
        spread = {"hidden": tf.gather(hidden, token, batch_dims=1), "place": place, "voice": voice}
        return spread | {"mu": tf.gather(tf.stop_gradient(mu), token, batch_dims=1)}

    def _predict_pitch(self, piece: Tensors, seed: Any = None) -> tuple[Any, Any]:
        """Where pitch is followed, what is predicted is octaves from the reference's: also those that nobody in the
        training had."""
        seen = (piece[name] for name in ("hidden", "place", "inside", "voice"))
        octaves, logit = self.pitch_predictor(*seen, seed)
        return octaves + piece["voice"].vector[:, -1:] if self.description.follows_pitch else octaves, logit

    def _decode(self, piece: Tensors, seed: Any = None) -> Any:
        shown = piece | {"harmonics": harmonics_of(piece["pitch"])}
        return self.decoder(*(shown[name] for name in ("hidden", "mu", "place", "harmonics", "inside", "voice")), seed)


def _weights(encoded: Tensors, piece: Tensors, losses: Tensors) -> Tensors:
    """What each term is a mean over."""
    batch = encoded["batch"]
    frames = inside_of(batch["frame_lengths"], lengths_of(encoded["mel"])[1]) * batch["weight"][:, None, None]
    tokens = inside_of(batch["token_lengths"], lengths_of(batch["tokens"])[1]) * batch["weight"][:, None, None]
    known = {"prior": frames, "duration": tokens} | dict.fromkeys(("pitch", "voicing", "mel"), piece["weight"])
    return {name: known.get(name, batch["weight"]) for name in losses}  # those that compare or judge, over utterances


def _duration_terms(log_frames: Any, durations: Any, weight: Any) -> Tensors:
    """The loss in log frames, and sums of frames over the batch without the calibration. All are [batch, tokens]."""
    wanted = tf.cast(durations, tf.float32)
    away = tf.square(log_frames - tf.math.log(tf.maximum(wanted, 1.0)))
    loss = tf.reduce_sum(away * weight) / tf.maximum(tf.reduce_sum(weight), 1.0)
    predicted = tf.reduce_sum(tf.stop_gradient(tf.exp(log_frames)) * weight)
    return {"duration": loss, "predicted_frames": predicted, "true_frames": tf.reduce_sum(wanted * weight)}


def _mean(values: Any, weight: Any) -> Any:
    """Mean of [batch, frames, mels] with weight [batch, frames, 1]; 0 where nothing has weight."""
    total = tf.reduce_sum(weight) * lengths_of(values)[2]
    return tf.reduce_sum(values * weight) / tf.maximum(total, 1.0)
