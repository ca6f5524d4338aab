"""What the worker does for a request: jobs that yield bytes of sound, or what a model hears in a clip."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from myxtts.errors import SpeechError
from myxtts.features.mel import SAMPLE_RATE
from myxtts.inference.reference import Reference
from myxtts.inference.request import check_seed
from myxtts.serving.encoding import Audio, Limiter, check_format, make_encoder, to_pcm
from myxtts.serving.metrics import Metrics
from myxtts.serving.order import OWN_VOICE, Order
from myxtts.serving.problems import invalid
from myxtts.serving.served import Loaded, Served
from myxtts.serving.voices import Tensors, Voices, to_tensors


class Speaking:
    """The generators run on the worker's thread; `check` is for before that."""

    def __init__(self, served: Served, voices: Voices, metrics: Metrics):
        self.served, self.voices, self._metrics = served, voices, metrics

    def check(self, order: Order) -> None:
        """What can be known without the model."""
        known = self.served.find(order.model)
        check_format(order.response_format)
        if order.voice != OWN_VOICE:
            self.voices.find(order.voice, order.model)
        elif not known.has_voice:
            raise invalid(f"{order.model} has no voice of its own: add one at /v1/audio/voices", "voice")
        try:
            check_seed(order.seed, self.served.vocoder_of(order.model))
        except SpeechError as error:
            raise invalid(str(error), "seed") from None

    def encoded(self, order: Order) -> Iterator[bytes | None]:
        """The file, piece by piece; None where an encoder waits for more."""
        return self._encoded(order, time.perf_counter())

    def pcm(self, order: Order) -> Iterator[bytes]:
        """16-bit samples at the voice's own rate."""
        asked = time.perf_counter()
        return (to_pcm(audio) for audio in self._sound(order, asked))

    def heard(self, model: str, reference: Reference) -> Iterator[tuple[str, Tensors]]:
        """Once: the fingerprint of the model's weights, and the voice."""
        with self.served.use(model) as loaded:
            yield loaded.fingerprint, to_tensors(loaded.synthesizer.hear(reference))

    def _encoded(self, order: Order, asked: float) -> Iterator[bytes | None]:
        encoder = make_encoder(order.response_format)
        for audio in self._sound(order, asked):
            yield encoder.encode(audio) or None
        if rest := encoder.finish():
            yield rest

    def _sound(self, order: Order, asked: float) -> Iterator[Audio]:
        limit, samples, worked = Limiter(), 0, 0.0
        with self.served.use(order.model) as loaded:
            started = time.perf_counter()
            vocoder = self.served.vocoder_of(order.model)
            options: dict[str, Any] = {"language": order.language, "speed": order.speed, "seed": order.seed}
            for audio in loaded.synthesizer.sound(order.text, self._voice(order, loaded), vocoder=vocoder, **options):
                if not samples:
                    self._metrics.first_audio(time.perf_counter() - asked)
                samples += len(audio)
                worked += time.perf_counter() - started
                yield limit(audio)
                started = time.perf_counter()
        if samples:
            self._metrics.spoken(samples / SAMPLE_RATE, worked)

    def _voice(self, order: Order, loaded: Loaded) -> Any:
        if order.voice == OWN_VOICE:
            return loaded.own_voice
        from myxtts.models.voice import Voice

        return Voice(**self.voices.tensors(self.voices.find(order.voice, order.model), loaded.fingerprint))
