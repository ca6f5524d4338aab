"""What tiny, small and normal mean in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from myxtts.errors import CheckpointError


@dataclass(frozen=True)
class Size:
    dim: int  # channels of text encoder and decoder
    encoder_blocks: int
    decoder_blocks: int
    voice_dim: int
    duration_dim: int
    encoder_kernel: int = 5
    decoder_kernel: int = 7
    expansion: int = 3
    latent_tokens: int = 8
    encoder_dropout: float = 0.1
    decoder_dropout: float = 0.0
    duration_dropout: float = 0.3


SIZES = {
    "tiny": Size(dim=192, encoder_blocks=4, decoder_blocks=6, voice_dim=128, duration_dim=128),
    "small": Size(dim=384, encoder_blocks=6, decoder_blocks=10, voice_dim=256, duration_dim=256, decoder_dropout=0.05),
    "normal": Size(dim=640, encoder_blocks=8, decoder_blocks=16, voice_dim=256, duration_dim=320, decoder_dropout=0.1),
}


def size_named(name: str) -> Size:
    if name not in SIZES:
        raise CheckpointError(f"the model's size is '{name}', expected one of {', '.join(SIZES)}")
    return SIZES[name]
