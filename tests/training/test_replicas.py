"""Several devices train as one: the same losses and weights, whatever their number, from the same global batches.

Logical CPU devices stand in for GPUs. They need a process of their own, since TensorFlow makes them before it begins.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

PROGRAM = """
import json, sys
from contextlib import nullcontext
from myxtts.training.replicas import replicas_for
count = int(sys.argv[1])
replicas = replicas_for(count, None)
import numpy as np
import tensorflow as tf
from dataclasses import replace
from small_models import make_batch, make_model
from small_run import SMALL
from myxtts.config.config import TrainingConfig
from myxtts.data.order import shard_rows
from myxtts.models import sizes, weights
from myxtts.training.step import Step
sizes.SIZES["tiny"] = SMALL  # with its dropout: what a row loses must not depend on where it is computed

with nullcontext() if replicas is None else replicas.scope():
    model = make_model(speakers=["one", "two", "three"])
    settings = TrainingConfig(schedule="constant", warmup_steps=0, learning_rate=1e-3)
    step = Step(model, settings, 100, replicas)
placed, distribute = [], getattr(replicas, "distribute", None)
if replicas is not None:
    replicas.distribute = lambda parts: placed.append([part["mel"].device for part in parts]) or distribute(parts)
    like = make_batch(7, 200, 10)
    step.compile({name: tf.TensorSpec([4, *part.shape[1:]], part.dtype) for name, part in like.items()})
    replicas.distribute = distribute
taken = []
for number in range(3):
    batch = make_batch(7, 200, 10, seed=number)  # not a multiple of the devices, and longer than a crop
    batch["speaker"], batch["weight"][5:] = np.arange(7, dtype=np.int32) % 3, 0.0
    parts = []
    for n in range(count):
        cut = {name: shard_rows(part, batch["weight"], n, count) for name, part in batch.items()}
        rows = {name: part for name, (part, _) in cut.items()} | {"weight": cut["weight"][1]}
        parts.append({name: tf.constant(part) for name, part in rows.items()})
    numbers = step.run(parts[0] if replicas is None else parts, number)
    taken.append({name: value for name, value in numbers.items() if not name.startswith(("rank", "stop", "seconds"))})
total = {name: float(np.abs(value).sum()) for name, value in weights.weights_of(model).items()}
print(json.dumps({"numbers": taken, "weights": total, "updates": int(step.state()["updates"]),
                  "placed": placed}))
"""


def trained(count: int) -> dict:
    paths = [str(TESTS), str(TESTS / "training"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(count)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_two_devices_learn_what_one_does():
    one, two = trained(1), trained(2)
    assert one["updates"] == two["updates"] == 3
    for ours, theirs in zip(two["numbers"], one["numbers"], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4)
    ((first, second),) = two["placed"]  # compiled for parts on one device, the first step would compile again
    assert first.endswith("CPU:0")
    assert second.endswith("CPU:1")
    assert two["weights"] == pytest.approx(one["weights"], rel=1e-4)
