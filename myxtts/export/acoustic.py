"""Text and a voice to mel frames, as `XTTS.synthesize` does it for one text: one graph, durations included."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from myxtts.export.graph import Graph
from myxtts.export.layers import block, convolution, latent_attention, linear, voice_norm
from myxtts.export.pitch import harmonics_of
from myxtts.features.mel import N_MELS
from myxtts.models.definition import LONGEST_LOG, PLACE_FEATURES, STRIDE, TYPICAL_FRAMES
from myxtts.models.sizes import Size

_PREDICTOR_BLOCKS = 3
_INT, _FLOAT = TensorProto.INT64, TensorProto.FLOAT


def add_acoustic(graph: Graph, size: Size, follows_pitch: bool) -> None:
    """tokens int64 [tokens], language int64 [1], vector [1, dim], latents [n, dim], reading_vector and
    reading_latents (for reading the text, of the same shapes), speed [1], octaves_up [1] -> mel [frames, mels]."""
    tokens, language = graph.input("tokens", np.int64, "tokens"), graph.input("language", np.int64, 1)
    vector, reading_vector = (graph.input(name, np.float32, 1, size.voice_dim) for name in ("vector", "reading_vector"))
    latents, reading_latents = (
        graph.input(name, np.float32, size.latent_tokens, size.voice_dim) for name in ("latents", "reading_latents")
    )
    speed, octaves_up = graph.input("speed", np.float32, 1), graph.input("octaves_up", np.float32, 1)
    hidden, mu = _read(graph, tokens, language, reading_vector, reading_latents, size)
    token, place, frames = _places(graph, _durations(graph, hidden, reading_vector, speed))
    hidden, mu = graph("Gather", hidden, token), graph("Gather", mu, token)
    if follows_pitch:
        octaves_up = graph("Add", octaves_up, graph("Slice", vector, [-1], [size.voice_dim], [1]))
    harmonics = _harmonics(graph, hidden, place, vector, octaves_up, size)
    seen = graph("Concat", hidden, mu, place, harmonics, axis=1)
    added = _decode(graph, seen, vector, latents, size)
    std, mean = graph.weight("xtts/mel_std"), graph.weight("xtts/mel_mean")
    mel = graph("Add", graph("Mul", graph("Add", mu, added), std), mean)
    graph.output(graph("Slice", mel, [0], frames, [0]), "mel", np.float32, "frames", N_MELS)


def _read(graph: Graph, tokens: str, language: str, vector: str, latents: str, size: Size) -> tuple[str, str]:
    path = "xtts/text_encoder"
    tables = [graph.matrix(graph.weight(f"{path}/{name}")) for name in ("symbols", "languages")]
    x = graph("Mul", graph("Add", graph("Gather", tables[0], tokens), graph("Gather", tables[1], language)), 10.0)
    x = latent_attention(graph, x, f"{path}/attention", latents)
    for number in range(size.encoder_blocks):
        x = block(graph, x, f"{path}/block_{number}", vector)
    return x, linear(graph, x, f"{path}/to_mu")


def _durations(graph: Graph, hidden: str, vector: str, speed: str) -> str:
    """Whole frames of each token, float32 [tokens]; ends are rounded, so that the errors do not add up."""
    path, x = "xtts/duration_predictor", hidden
    for number in range(2):
        x = graph("Relu", convolution(graph, x, f"{path}/along_{number}"))
        x = voice_norm(graph, x, f"{path}/norm_{number}", vector)
    log = graph("Min", graph("Squeeze", linear(graph, x, f"{path}/to_log"), [1]), LONGEST_LOG)
    frames = graph("Div", graph("Mul", graph("Exp", log), graph.weight("xtts/duration_scale")), speed)
    ends = graph("Floor", graph("Add", graph("CumSum", frames, np.array(0)), 0.5))
    starts = graph("Concat", [0.0], graph("Slice", ends, [0], [-1], [0]), axis=0)
    return graph("Max", graph("Sub", ends, starts), 1.0)


def _places(graph: Graph, durations: str) -> tuple[str, str, str]:
    """The token of each frame, int64 [even]; where in it, [even, 3]; and how many frames there are, int64 [1].

    The decoder takes pairs, so the number of frames is made even by one more of the last token."""
    ends = graph("CumSum", durations, np.array(0))
    frames = graph("Cast", graph("Slice", ends, [-1], [np.iinfo(np.int64).max], [0]), to=_INT)
    even = graph("Mul", graph("Div", graph("Add", frames, STRIDE - 1), STRIDE), STRIDE)
    numbers = graph("Cast", graph("Range", 0, graph("Squeeze", even, [0]), 1), to=_FLOAT)
    last = graph("Sub", graph("Cast", frames, to=_FLOAT), 1.0)
    passed = graph("GreaterOrEqual", graph("Unsqueeze", graph("Min", numbers, last), [1]), ends)
    token = graph("ReduceSum", graph("Cast", passed, to=_INT), [1], keepdims=0)
    spoken, end = graph("Gather", durations, token), graph("Gather", ends, token)
    since = graph("Add", graph("Sub", numbers, graph("Sub", end, spoken)), 0.5)
    parts = [graph("Div", since, spoken), graph("Mul", since, 1.0 / TYPICAL_FRAMES),
             graph("Mul", graph("Sub", spoken, since), 1.0 / TYPICAL_FRAMES)]  # fmt: skip
    place = graph("Concat", *(graph("Unsqueeze", each, [1]) for each in parts), axis=1)
    return token, graph("Clip", place, -4.0, 4.0), frames


def _harmonics(graph: Graph, hidden: str, place: str, vector: str, octaves_up: str, size: Size) -> str:
    path = "xtts/pitch_predictor"
    seen = _paired(graph, graph("Concat", hidden, place, axis=1), size.dim + PLACE_FEATURES)
    x = linear(graph, seen, f"{path}/enter")
    for number in range(_PREDICTOR_BLOCKS):
        x = block(graph, x, f"{path}/block_{number}", vector)
    made = graph("Reshape", linear(graph, x, f"{path}/leave"), [-1, 2])
    octaves, logit = graph.several("Split", 2, made, [1, 1], axis=1)
    return harmonics_of(graph, graph("Add", octaves, octaves_up), graph("Sigmoid", logit))


def _decode(graph: Graph, seen: str, vector: str, latents: str, size: Size) -> str:
    path = "xtts/decoder"
    inputs = len(graph.weight(f"{path}/enter/kernel")) // STRIDE
    x = linear(graph, _paired(graph, seen, inputs), f"{path}/enter")
    x = latent_attention(graph, x, f"{path}/attention", latents)
    for number in range(size.decoder_blocks):
        x = block(graph, x, f"{path}/block_{number}", vector)
    return graph("Reshape", linear(graph, x, f"{path}/leave"), [-1, N_MELS])


def _paired(graph: Graph, x: str, channels: int) -> str:
    return graph("Reshape", x, [-1, STRIDE * channels])
