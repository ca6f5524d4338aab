"""Moonshine's English recogniser (U. Jeffries and others, 2024) token by token, for how sure it is of each.

The library that comes with it gives no probabilities for the model that it bundles, so of the package only the files of
the two networks and of the tokens are read. It also listens for speech first, which `slicing` has done already.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myxtts.errors import MissingExtra
from myxtts.evaluation.front_end import RATE, file_in

_PURPOSE = "writing down what is said"
_COMMAND = "pip install moonshine-voice==0.0.65"
_START, _END = 1, 2
_TOKENS_PER_SECOND = 6.5  # the fastest speaker says fewer; a network in a loop does not end
_HEADS, _HEAD_SIZE, _LAYERS = 8, 36, 6
_SPACE = "\u2581".encode()


class Moonshine:
    """Samples at 16 kHz -> what is heard, and the mean probability of its tokens."""

    name = "moonshine-tiny-en"

    def __init__(self, threads: int = 0) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise MissingExtra("onnxruntime", "prepare", _PURPOSE) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        folder = file_in("moonshine_voice", "assets/tiny-en/tokenizer.bin", _PURPOSE, _COMMAND).parent
        self._encoder, self._decoder = (
            onnxruntime.InferenceSession(str(folder / name), options, providers=["CPUExecutionProvider"])
            for name in ("encoder_model.ort", "decoder_model_merged.ort")
        )
        self._kept = [f"{layer}.{part}" for layer in range(_LAYERS) for part in _PARTS]
        self._pieces = _read_pieces(folder / "tokenizer.bin")

    def __call__(self, audio: NDArray[np.float32]) -> tuple[str, float]:
        """The text, and the mean probability of its tokens; 0 if it did not come to an end."""
        sound, mask = audio[None].astype(np.float32, copy=False), np.ones((1, len(audio)), np.int64)
        hidden = self._encoder.run(None, {"input_values": sound, "attention_mask": mask})[0]
        encoded = {"encoder_hidden_states": hidden, "encoder_attention_mask": mask}  # it thins the mask out itself
        tokens, logs = self._write(encoded, int(len(audio) / RATE * _TOKENS_PER_SECOND) + 4)
        ended = bool(tokens) and tokens[-1] == _END
        return self._text(tokens), float(np.exp(np.mean(logs))) if ended else 0.0

    def _write(self, encoded: dict[str, NDArray[Any]], most: int) -> tuple[list[int], list[float]]:
        nothing = np.zeros((1, _HEADS, 0, _HEAD_SIZE), np.float32)
        past = dict.fromkeys(self._kept, nothing)
        tokens, logs = [_START], []
        for step in range(most):
            logits, *present = self._decoder.run(None, encoded | _inputs(tokens[-1], past, step > 0))
            new = dict(zip(self._kept, present, strict=True))
            # what the encoder said does not change, and is not given again
            past = new if step == 0 else {name: past[name] if "encoder" in name else new[name] for name in past}
            token, log = _most_likely(logits[0, -1])
            tokens.append(token)
            logs.append(log)
            if token == _END:
                break
        return tokens[1:], logs

    def _text(self, tokens: list[int]) -> str:
        spelled = b"".join(self._pieces[token] for token in tokens if token > _END)
        return spelled.replace(_SPACE, b" ").decode("utf-8", "ignore").strip()


_PARTS = ("decoder.key", "decoder.value", "encoder.key", "encoder.value")


def _inputs(token: int, past: dict[str, NDArray[np.float32]], again: bool) -> dict[str, Any]:
    kept = {f"past_key_values.{name}": value for name, value in past.items()}
    return kept | {"input_ids": np.array([[token]], np.int64), "use_cache_branch": np.array([again])}


def _most_likely(logits: NDArray[np.float32]) -> tuple[int, float]:
    best = int(logits.argmax())
    return best, float(-np.log(np.exp(logits - logits[best]).sum()))


def _read_pieces(path: Path) -> list[bytes]:
    """A length, of one byte or (from 128) two, and so many bytes; again and again."""
    data, at, pieces = path.read_bytes(), 0, []
    while at < len(data):
        length, at = data[at], at + 1
        if length >= 128:
            length, at = length - 128 + 128 * data[at], at + 1
        pieces.append(data[at : at + length])
        at += length
    return pieces
