"""An exported model beside the same model in TensorFlow: equality, speed on one core, start to first sound.

    myxtts export base -o /tmp/base.onnx
    python benchmarks/exported.py /tmp/base.onnx --model base
    python benchmarks/exported.py /tmp/base.onnx --model base --profile    which operators take the time

Real-time factors are CPU-seconds per second of sound, the best of the repeats, ways interleaved.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from measure import interleave

TEXTS = [
    "The morning train was late again.",
    "We walked along the river and talked about the sea, which neither of us had seen since the spring of that year.",
    "Nobody had told them that the shop was closed on Mondays.",
]
ROUNDS = 8  # of the texts in one measurement: this clock of CPU time ticks every 10 ms, a tenth of one round


def stay_on_one_core() -> None:
    """Before TensorFlow and ONNX Runtime are loaded."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    for name in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
        os.environ[name] = "1"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def equality(ours, theirs) -> dict:
    """The largest distances: of the mel, of the sound of one mel, of the whole way."""
    from myxtts.inference.vocoder import find_vocoder

    distances = {"mel": 0.0, "sound_of_one_mel": 0.0, "sound": 0.0, "peak": 0.0}
    for text in TEXTS:
        a, b = ours.say(text), theirs.say(text)
        same = find_vocoder(ours.vocoder)(b.mel) - find_vocoder(theirs.vocoder)(b.mel)
        for key, away in (("mel", a.mel - b.mel), ("sound_of_one_mel", same), ("sound", a.audio - b.audio)):
            distances[key] = max(distances[key], float(np.abs(away).max()))
        distances["peak"] = max(distances["peak"], float(np.abs(b.audio).max()))
    return distances


def speed(ours, theirs, repeats: int) -> dict:
    from myxtts.inference.vocoder import find_vocoder

    texts = TEXTS * ROUNDS
    spoken = [theirs.say(text) for text in texts]
    seconds, mels = sum(each.seconds for each in spoken), [each.mel for each in spoken]
    ways = {}
    for name, speaker in (("onnx", ours), ("tensorflow", theirs)):
        voice, vocoder = speaker.hear(), find_vocoder(speaker.vocoder)
        ways[f"{name} whole"] = lambda s=speaker, v=voice, o=vocoder: [s.say(text, v, vocoder=o) for text in texts]
        ways[f"{name} streamed"] = lambda s=speaker, v=voice, o=vocoder: [
            sum(map(len, s.sound(text, v, vocoder=o))) for text in texts
        ]
        ways[f"{name} vocoder"] = lambda o=vocoder: [o(mel) for mel in mels]
    timings = interleave(ways, repeats)
    return {name: round(timing.best_cpu / seconds, 5) for name, timing in timings.items()}


def first_sound(model: str) -> dict:
    """A fresh process, until the file is written: wall and CPU seconds, and whether TensorFlow was imported."""
    code = (
        "import sys; from myxtts.cli import main; "
        f"code = main(['say', 'Good morning.', '--model', {model!r}, '-o', sys.argv[1], '--json']); "
        "print('tensorflow' in sys.modules, file=sys.stderr); sys.exit(code)"
    )
    best: dict = {}
    for _ in range(3):
        before, started = os.times(), time.perf_counter()
        command = [sys.executable, "-c", code, "/tmp/first.wav"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        wall, after = time.perf_counter() - started, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        if not best or wall < best["wall_s"]:
            best = {"wall_s": round(wall, 2), "cpu_s": round(cpu, 2), "tensorflow": "True" in done.stderr.split()[-1:]}
    return best


def profile(folder: Path) -> None:
    import onnxruntime

    mel = np.random.default_rng(0).normal(-5, 2, (300, 80)).astype(np.float32)
    options = onnxruntime.SessionOptions()
    options.enable_profiling, options.intra_op_num_threads = True, 1
    options.profile_file_prefix = "/tmp/profile"
    session = onnxruntime.InferenceSession(folder / "vocoder.onnx", options, providers=["CPUExecutionProvider"])
    samples = np.zeros(300 * 256, np.float32)
    values = {"mel": mel, "pitch": np.zeros((300, 2), np.float32), "pulses": samples, "noise": samples}
    for _ in range(10):
        session.run(None, values)
    spent: dict[str, float] = {}
    for event in json.loads(Path(session.end_profiling()).read_text()):
        if event.get("cat") == "Node" and event["name"].endswith("kernel_time"):
            kind = event["args"]["op_name"]
            spent[kind] = spent.get(kind, 0.0) + event["dur"] / 10
    for kind, us in sorted(spent.items(), key=lambda item: -item[1])[:16]:
        print(f"{kind:32} {us:9.0f} us of 300 frames")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", required=True, help="what it was exported from")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    stay_on_one_core()
    if arguments.profile:
        return profile(arguments.folder)
    print("start", json.dumps({"onnx": first_sound(str(arguments.folder))}), flush=True)
    from myxtts.inference.exported import Exported
    from myxtts.inference.synthesizer import Synthesizer

    ours, theirs = Exported.load(arguments.folder), Synthesizer.load(arguments.model)
    print("equality", json.dumps(equality(ours, theirs)), flush=True)
    print("real-time factor", json.dumps(speed(ours, theirs, arguments.repeats), indent=1))
    return None


if __name__ == "__main__":
    main()
