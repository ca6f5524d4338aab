"""What does a training step cost, how much memory does it take, and how fast does the model speak? All in one run.

    python benchmarks/step.py [--repeats 5] [--steps 4] [--json]

The tiny model on a batch like the demo's: 16 utterances, 320 frames, 90 tokens, a reference of 192 frames, values made
up. Eager, graph and graph in bfloat16 take turns in one process. XLA (slow at depthwise convolutions on a CPU, and slow
to compile), memory and speaking on one core have a process each; XLA is given up after 180 s.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from measure import interleave

ROWS, FRAMES, TOKENS, REFERENCE_FRAMES = 16, 320, 90, 192
DEMO_SHAPES = ((224, 64), (320, 90), (448, 120))  # frames and tokens of the demo's buckets
ALPHABET = " .,!?'abcdefghijklmnopqrstuvwxyz"
TEXT = "The quick brown fox jumps over a lazy dog, while seven wise owls watch from an old oak tree."
WAYS = {
    "eager float32": {"enable_graph_mode": False},
    "graph float32": {},
    "graph bfloat16": {"precision": "bfloat16"},
    "XLA float32": {"enable_xla_compilation": True},
}
XLA_SECONDS = 180
VOCODERS = ("neural", "griffin-lim")


def make_model(precision: str = "float32") -> Any:
    from myxtts.features.audio import AudioSettings
    from myxtts.features.text import SPECIALS, TextFrontend
    from myxtts.models.description import ModelDescription
    from myxtts.models.xtts import XTTS

    description = ModelDescription(
        token_table=[*SPECIALS, *ALPHABET],
        languages=["en-us"],
        speakers=["one"],
        tokens=TextFrontend(kind="characters").settings(),
        audio=AudioSettings().fingerprint(),
    )
    model = XTTS(description, precision)
    model.set_statistics(-5.0, 2.0)
    return model


def make_step(precision: str = "float32", **training: Any) -> Any:
    from myxtts.config.config import TrainingConfig
    from myxtts.training.step import Step

    return Step(make_model(precision), TrainingConfig(**training), 1000)


def make_batch(frames: int = FRAMES, tokens: int = TOKENS) -> dict[str, Any]:
    """As it crosses to the device: float16 mel, lengths from seven tenths of the bucket up."""
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)
    part = rng.uniform(0.7, 1.0, ROWS)
    values = {
        "tokens": rng.integers(4, 30, (ROWS, tokens)).astype(np.int32),
        "token_lengths": (part * tokens).astype(np.int32),
        "mel": rng.normal(-5, 2, (ROWS, frames, 80)).astype(np.float16),
        "frame_lengths": (part * frames).astype(np.int32),
        "speaker": np.zeros(ROWS, np.int32),
        "language": np.zeros(ROWS, np.int32),
        "weight": np.ones(ROWS, np.float32),
        "reference": rng.normal(-5, 2, (ROWS, REFERENCE_FRAMES, 80)).astype(np.float16),
        "reference_lengths": np.full(ROWS, REFERENCE_FRAMES, np.int32),
    }
    return {name: tf.constant(value) for name, value in values.items()}


def steps_of(names: list[str], repeats: int, steps: int) -> dict[str, dict[str, float]]:
    """Per way: seconds of the first call, then CPU and wall ms of a step, best of the repeats, and the spread."""
    batch, ways, first = make_batch(), {}, {}
    for name in names:
        step, started = make_step(**WAYS[name]), time.perf_counter()
        step.run(batch, 0)
        first[name] = time.perf_counter() - started
        ways[name] = lambda step=step: [step.run(batch, number) for number in range(1, steps + 1)]
    timings = interleave(ways, repeats)
    return {
        name: {
            "first_call_s": first[name],
            "cpu_ms": timing.best_cpu / steps * 1e3,
            "wall_ms": timing.best / steps * 1e3,
            "spread": timing.spread,
        }
        for name, timing in timings.items()
    }


def peak_memory() -> dict[str, float]:
    """Of a process that has compiled and run every shape of the demo, and validated."""
    from myxtts.training.validate import Validator

    step = make_step(precision="bfloat16")
    validator = Validator(step.model, eager=False)
    for shape in DEMO_SHAPES:
        batch = make_batch(*shape)
        for number in range(5):
            step.run(batch, number)
        validator.run([batch], step.optimiser)
    return {"peak resident MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


def speaking() -> dict[str, float]:
    """Seconds of work per second of speech on one core, best of five, the first call aside."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import numpy as np

    from myxtts.inference.reference import make_reference
    from myxtts.inference.synthesizer import Synthesizer
    from myxtts.models.description import REFERENCE_FRAMES

    clip = np.random.default_rng(0).normal(-5, 2, (400, 80)).astype(np.float32)
    synthesizer = Synthesizer(make_model(), make_reference([clip], REFERENCE_FRAMES))
    synthesizer.model.duration_scale.assign(1.25)  # 5 frames a letter, as people speak; untrained it is 4
    voice, results = synthesizer.hear(), {}
    for vocoder in VOCODERS:
        spoken = [synthesizer.say(TEXT, voice, vocoder=vocoder) for _ in range(6)][1:]
        results["frames"] = min(speech.timings["mel_ms"] / speech.seconds / 1e3 for speech in spoken)
        results[vocoder] = min(speech.timings["vocoder_ms"] / speech.seconds / 1e3 for speech in spoken)
    return results


def alone(part: str, repeats: int, steps: int, timeout: float = 600) -> Any:
    """A part of this file in a process of its own; None if it takes too long."""
    command = [sys.executable, __file__, "--part", part, "--repeats", str(repeats), "--steps", str(steps)]
    try:
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout.splitlines()[-1])


def report(steps: dict[str, Any], memory: dict[str, float], speech: dict[str, float]) -> dict[str, Any]:
    print(f"{'':<16}{'CPU ms':>9}{'wall ms':>9}{'spread':>8}{'first call s':>14}")
    for name in WAYS:
        measured = steps.get(name)
        line = f"given up after {XLA_SECONDS} s" if measured is None else (
            f"{measured['cpu_ms']:>9.0f}{measured['wall_ms']:>9.0f}{measured['spread']:>8.2f}{measured['first_call_s']:>14.1f}"
        )  # fmt: skip
        print(f"{name:<16}{line}")
    cost = {name: measured["cpu_ms"] for name, measured in steps.items() if measured}
    numbers = {
        "CPU of eager / graph": cost["eager float32"] / cost["graph float32"],
        "CPU of eager / graph in bfloat16 (bar 2.5)": cost["eager float32"] / cost["graph bfloat16"],
        "peak resident MB of tiny training (bar 3000)": memory["peak resident MB"],
        "real-time factor of the frames, one core (bar 0.05)": speech["frames"],
    } | {f"real-time factor of {vocoder}, one core": speech[vocoder] for vocoder in VOCODERS}
    for name, value in numbers.items():
        print(f"{name:<56}{value:>10.3f}")
    return {"steps": steps} | numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4, help="steps per repeat")
    parser.add_argument("--json", action="store_true", help="also print the numbers as one JSON object, last")
    parser.add_argument("--part", choices=("ways", "xla", "memory", "speech"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    few = arguments.repeats, arguments.steps
    parts = {
        "ways": lambda: steps_of([name for name in WAYS if "XLA" not in name], *few),
        "xla": lambda: steps_of(["XLA float32"], *few),
        "memory": peak_memory,
        "speech": speaking,
    }
    if arguments.part:
        print(json.dumps(parts[arguments.part]()))
        return
    steps = alone("ways", *few) | (alone("xla", 2, 1, XLA_SECONDS) or {"XLA float32": None})
    result = report(steps, alone("memory", *few), alone("speech", *few))
    if arguments.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
