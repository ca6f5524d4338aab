"""A clip from a client becomes crops of log-mel in a process of its own, with little memory and no path of his.

A decoder that is given what a stranger made may crash or grow: it does so there.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
from pathlib import Path

import numpy as np

from myxtts.inference.reference import Reference
from myxtts.serving.decode import REFUSED
from myxtts.serving.problems import invalid, too_busy

UPLOAD_BYTES = 16 << 20
_SECONDS = 60.0
_MOST_CLIPS = 4


class Decoding:
    """One clip at a time: the cores are for speaking. A few more may wait, each of which is held in memory."""

    def __init__(self) -> None:
        self._turn, self._here = asyncio.Semaphore(1), 0

    async def crops(self, clip: bytes, model: Path) -> Reference:
        """As the model of that folder wants them. What is wrong with the clip is a `Problem`."""
        if self._here >= _MOST_CLIPS:
            raise too_busy(f"{self._here} clips are being decoded or waiting: try again later", _SECONDS / 2)
        self._here += 1
        try:
            async with self._turn:
                code, out, message = await run_apart("myxtts.serving.decode", [str(model)], clip)
        finally:
            self._here -= 1
        if code == REFUSED:
            raise invalid(message, "audio_sample")
        if code:
            raise invalid("the clip could not be decoded within the limits: send 3 to 10 s of speech", "audio_sample")
        with np.load(io.BytesIO(out), allow_pickle=False) as arrays:
            warnings, frames = tuple(arrays["warnings"].tolist()), int(arrays["frames"])
            return Reference(arrays["crops"], arrays["lengths"], warnings, frames)


async def run_apart(module: str, words: list[str], clip: bytes) -> tuple[int, bytes, str]:
    """`python -m MODULE WORDS` with the clip on its standard input: exit code, what it made, what it said."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *words, stdin=pipe, stdout=pipe, stderr=pipe,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        async with asyncio.timeout(_SECONDS):
            out, message = await process.communicate(clip)
    except TimeoutError:
        raise too_busy("this machine is too busy to decode the clip: try again later", _SECONDS) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out, message.decode(errors="replace").strip()
