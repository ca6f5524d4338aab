"""A PyTorch loop fed from a packed cache: the same batches as TensorFlow gets, bit for bit, and no TensorFlow at all.

    myxtts pack ~/my-corpus -o voice.cache
    python examples/feed_pytorch.py voice.cache

The order is a function of the step, so going on after a crash is one number: `start_step`.
"""

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from myxtts.cache.reader import Cache
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.data.numpy_batches import NumpyBatches
from myxtts.data.plan import Plan

try:
    import torch
except ImportError:
    torch = None

STEPS = int(os.environ.get("STEPS", 200))


def batches_of(path: str, start_step: int = 0) -> NumpyBatches:
    cache = Cache(path)
    config = XTTSConfig(data=DataConfig(batch_size=16))  # text and audio settings are those of the cache
    return NumpyBatches(Plan(cache, config), start_step, start_step + STEPS)


def tensors(batches: NumpyBatches) -> Iterator[dict]:
    """Each batch as tensors over the arrays' own memory; the next one is gathered meanwhile by a thread.

    A DataLoader takes `batches` too (batch_size=None, shuffle off). But a batch is a copy of 1.6 ms, and two worker
    processes took 9 ms to hand it over.
    """
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(batches.__getitem__, 0)
        for n in range(len(batches)):
            batch = coming.result()
            if n + 1 < len(batches):
                coming = thread.submit(batches.__getitem__, n + 1)
            yield {name: torch.as_tensor(part) for name, part in batch.items()}


def train(batches: NumpyBatches) -> None:
    """A model too simple to speak: it learns the mean frame of each text. What matters is how it is fed."""
    symbols = len(batches.plan.caches[0].table)
    model = torch.nn.Sequential(torch.nn.EmbeddingBag(symbols, 64, padding_idx=0), torch.nn.Linear(64, 80))
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    waited, asked = 0.0, time.perf_counter()
    for batch in tensors(batches):
        waited += time.perf_counter() - asked
        inside = torch.arange(batch["mel"].shape[1])[None] < batch["frame_lengths"][:, None]
        mean = (batch["mel"].float() * inside[..., None]).sum(1) / batch["frame_lengths"][:, None]
        away = (model(batch["tokens"]) - mean).abs().mean(1)
        loss = (away * batch["weight"]).sum() / batch["weight"].sum()  # weight 0: a row that only fills up
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        step = int(batch["step"])
        if step % 20 == 0 or step == batches.stop_step - 1:
            print(f"step {step:4d}  loss {loss.item():.3f}  waited {waited * 1e3:.1f} ms for data so far", flush=True)
        asked = time.perf_counter()


if __name__ == "__main__":
    if torch is None:
        sys.exit("this example needs PyTorch: pip install torch==2.13.0")
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    train(batches_of(sys.argv[1]))
