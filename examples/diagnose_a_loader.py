"""Why is my accelerator idle? The doctor on a loader and a step that are not ours: about 15 seconds.

    python examples/diagnose_a_loader.py

Any iterable of batches will do: a PyTorch DataLoader, a tf.data.Dataset, a generator; and any step that takes a batch.
"""

import time

import numpy as np

from myxtts.doctor import diagnose


class TheirLoader:
    """As many loaders are: the features of each utterance are computed anew, one after the other, when asked for."""

    def __iter__(self):
        while True:
            clips = np.random.default_rng(0).standard_normal((16, 512, 256))
            yield np.stack([np.abs(np.fft.rfft(np.hanning(256) * clip)) for clip in clips])


def their_step(batch):
    """Stands for a GPU that takes 10 ms a batch and no core; put your training step here."""
    time.sleep(0.010)


if __name__ == "__main__":
    print(diagnose(TheirLoader(), their_step))
