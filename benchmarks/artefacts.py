"""Caches, runs, logs and models as a stranger would send them: changed with care, and sealed again. See fuzz.py.

Each kind has a `make` that writes an intact one, and an `open` that takes a mutated one through every door without
TensorFlow. What the doors may do: succeed, or raise an error of ours. Links in a mutated artefact lead to `victims`,
where nothing may change.
"""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mutations import Rng, change, dumped, mutate, spoil

from myxtts.cache.format import INDEX, array_type, column_file
from myxtts.cache.manifest import dump_manifest
from myxtts.errors import MyXTTSError
from myxtts.files import fingerprint, hash_file

MOST_BYTES = 1e9
STEPS = 60

Run = Callable[..., tuple[int, dict[str, Any]]]

# ---- caches ---------------------------------------------------------------------------------------------------------


def change_cache(cache: Path, rng: Rng, victims: Path) -> str:
    body = json.loads((cache / "cache.json").read_bytes())
    body.pop("xxh3_cache_json")
    kind = rng.random()
    if kind < 0.2:
        spoil(cache, rng, victims)
        return "file"
    if kind < 0.55:
        body = change(body, rng)
    elif kind < 0.9:
        _change_columns(cache, body, rng)
    else:
        (cache / "rejected.jsonl").write_bytes(dumped(change({"id": "a", "reason": "b", "row": 1}, rng)) + b"\n")
        body["checksums"]["rejected.jsonl"] = hash_file(cache / "rejected.jsonl")
    try:
        sealed = dump_manifest(body)
    except UnicodeEncodeError:  # half a surrogate: nobody can seal it
        sealed = dumped(body)
    (cache / "cache.json").write_bytes(sealed)
    return "body" if kind < 0.55 else "index" if kind < 0.9 else "rejected"


def _change_columns(cache: Path, body: dict[str, Any], rng: Rng) -> None:
    names = [*INDEX, "id_bytes", "text_bytes", "tokens"]
    for _ in range(int(rng.integers(1, 3))):
        name = names[int(rng.integers(len(names)))]
        file = cache / ("tokens.npy" if name == "tokens" else column_file(name))
        raw = bytearray(file.read_bytes())
        values = np.frombuffer(raw, array_type(file.name)[0], offset=128).copy()
        nasty = [0, 1, -1, 255, 2**20, 2**31 - 1, -(2**31), 2**33, 2**62, -(2**62)]
        value = int(nasty[int(rng.integers(len(nasty)))])
        with np.errstate(all="ignore"):
            values[int(rng.integers(len(values)))] = np.array(value).astype(values.dtype)
        file.write_bytes(bytes(raw[:128]) + values.tobytes())
        if name != "tokens":
            body["checksums"][file.name] = hash_file(file)


def open_cache(folder: Path, run: Run, whole: Path) -> None:
    from myxtts.cache.reader import Cache
    from myxtts.config.config import XTTSConfig
    from myxtts.data.numpy_batches import NumpyBatches
    from myxtts.data.plan import Plan

    cache = folder / "x.cache"
    run("info", cache)
    run("verify", cache)
    with tolerated():
        opened = Cache(cache)
        for n in range(len(opened)):
            opened.utterance_id(n), opened.text(n), opened.samples(n).sum(), opened.token_ids(n).sum()
    with tolerated():
        NumpyBatches(Plan(Cache(cache), XTTSConfig()))[0]
    run("add", whole.parent / "second", "-o", cache)
    run("pack", whole.parent / "corpus", "-o", cache, "--set", "data.text_tokens=characters")
    run("verify", cache, "--fix", whole.parent / "corpus", "--set", "data.text_tokens=characters")


# ---- logs -----------------------------------------------------------------------------------------------------------


def write_run(run: Path) -> None:
    """A run as training leaves it, but without its training."""
    from myxtts.training.run_log import RunLog

    bucket = {"batch": 8, "frames": 52, "tokens": 64, "utterances": 8}
    feed = {
        "useful_frame_share": 0.7,
        "steps_per_epoch": 4,
        "tables": [{"buckets": [bucket, {**bucket, "frames": 90}]}],
    }
    window = {
        "steps": 50,
        "stall": 0.1,
        "total_ms": {"jitter": 0.2},
        "oscillation": {"period_steps": 4, "strength": 0.9},
    }
    columns = {
        "cpu_percent": {"mean": 50.0, "min": 1.0, "max": 99.0},
        "available_percent": {"mean": 9.0, "min": 1.0, "max": 9.0},
    }
    span = {"validate": {"total_ms": 5.0, "count": 2, "max_ms": 3.0}}
    with RunLog(run) as log:
        log.write(
            "start", step=0, config={"data": {"batch_size": 8}, "model": {"size": "tiny"}}, feed=feed, parameters=9
        )
        log.write("event", step=0, event="compiled", shapes=2, seconds=1.5)
        for step in range(1, STEPS):
            log.write("step", step=step, loss=2.0 / step, learning_rate=1e-3, grad_norm=1.0, data_ms=0.5 + step % 7,
                      compute_ms=9.0, batch=8, frames=52)  # fmt: skip
            if step % 20 == 0:
                log.write("validation", step=step, mel_error=1.0 / step, duration_ratio=1.0)
                log.write(
                    "machine",
                    step=step,
                    at=[1.8e9 + step, None],
                    cpu_percent=[50.0, 60.0],
                    **{"gpu0.power_watts": [9.0, 8.0]},
                )
        log.write("report", step=STEPS, spans=span, counters={"text.hits": 5, "text.misses": 1}, late={"step.traces": 1},  # noqa: E501
                  steps=STEPS, utterances=480.0, timings={"window": window}, traces_after_start=1,
                  machine={"description": {"cpu": "x", "cpus": 2, "memory_bytes": 10**9, "gpu": "none"}, "columns": columns})  # fmt: skip  # noqa: E501
        log.write("resume", step=STEPS - 5)
        log.write("end", step=STEPS, why="done", seconds=9.0)


def change_log(run: Path, rng: Rng, victims: Path) -> str:
    path = run / "log.jsonl"
    kind = rng.random()
    if kind < 0.1:
        spoil(run, rng, victims)
        return "file"
    if kind < 0.25:
        path.write_bytes(mutate(path.read_bytes(), rng))
        return "bytes"
    lines = path.read_bytes().splitlines()
    special = [n for n, line in enumerate(lines) if b'"kind":"step"' not in line]
    for _ in range(int(rng.integers(1, 6))):
        at = special[int(rng.integers(len(special)))] if rng.random() < 0.6 else int(rng.integers(len(lines)))
        try:
            lines[at] = dumped(change(json.loads(lines[at]), rng))
        except ValueError:
            lines[at] = b"[" * 100_000
    path.write_bytes(b"\n".join(lines) + b"\n")
    return "lines"


def open_log(folder: Path, run: Run, whole: Path) -> None:
    from myxtts.watch.run_tail import RunTail

    place = folder / "run"
    run("report", place)
    run("report", place, "-o", folder / "page.html")
    run("doctor", "--run", place)
    with tolerated():
        tail = RunTail(place)
        json.dumps(tail.last | tail.fresh()), tail.age_seconds


# ---- runs and models ------------------------------------------------------------------------------------------------


def write_model(folder: Path) -> None:
    """A checkpoint whose tensors are small: the doors without TensorFlow do not build the model."""
    from myxtts.features.audio import AudioSettings
    from myxtts.features.text import TextFrontend
    from myxtts.features.token_table import TokenTable
    from myxtts.inference.reference import save_reference
    from myxtts.models import weights
    from myxtts.models.description import ModelDescription
    from myxtts.models.format import write_state

    folder.mkdir(parents=True)
    tokens, audio = TextFrontend(kind="characters").settings(), AudioSettings().fingerprint()
    symbols = list(TokenTable.base().symbols)[:200]
    ModelDescription("tiny", 32, symbols, symbols[5:90], ["en-us", "de"], ["one"], tokens, audio).save(folder)
    weights.save(
        folder / "weights.safetensors", {"a/kernel": np.ones((3, 4), np.float32), "a/bias": np.zeros(4, np.float32)}
    )
    save_reference(folder, [np.full((50, 80), -5.0, np.float32)], 32)
    write_state(folder, {"step": 5, "metric": 0.5, "sequence": 1, "state": {"seed": 0, "feed": {"step": 5}}})


def reseal(folder: Path, state: dict[str, Any]) -> None:
    state.pop("xxh3_state_json", None)
    if isinstance(state.get("files"), dict):
        state["files"] = {
            name: hash_file(folder / name) if (folder / name).is_file() else value
            for name, value in state["files"].items()
        }
    try:
        state["xxh3_state_json"] = fingerprint(state)
    except (UnicodeEncodeError, ValueError):
        state["xxh3_state_json"] = "0"
    (folder / "state.json").write_bytes(dumped(state))


def change_model(folder: Path, rng: Rng, victims: Path) -> str:
    state = json.loads((folder / "state.json").read_bytes())
    kind = rng.random()
    if kind < 0.2:
        spoil(folder, rng, victims)
        return "file"
    if kind < 0.6:
        path = folder / "model.json"
        path.write_bytes(dumped(change(json.loads(path.read_bytes()), rng)))
    elif kind < 0.8:
        state = change(state, rng)
    else:
        tensors = ["weights.safetensors", "voice.safetensors"]
        path = folder / tensors[int(rng.integers(2))]
        path.write_bytes(mutate(path.read_bytes(), rng) if rng.random() < 0.5 else _other_tensors(rng))
    if rng.random() < 0.3:
        (folder / "state.json").unlink()
    else:
        reseal(folder, state)
    return "model" if kind < 0.6 else "state" if kind < 0.8 else "tensors"


def _other_tensors(rng: Rng) -> bytes:
    """A valid safetensors file with tensors that nobody expects."""
    from tempfile import TemporaryDirectory

    from myxtts.models import weights

    kinds = [np.float32, np.float16, np.int32, np.int8, np.bool_, np.float64]
    shapes = [(), (0,), (1,), (3, 32, 80), (1, 32, 80), (3, 16, 80), (0, 32, 80), (4096,)]
    names = ["reference", "lengths", "", "a/kernel", "\x1b[2J"]
    tensors = {}
    for _ in range(int(rng.integers(0, 4))):
        shape = shapes[int(rng.integers(len(shapes)))]
        values = np.full(shape, [0, 1, -1, 99, np.nan, np.inf][int(rng.integers(6))])
        with np.errstate(all="ignore"):
            tensors[names[int(rng.integers(len(names)))]] = values.astype(kinds[int(rng.integers(len(kinds)))])
    with TemporaryDirectory() as folder:
        weights.save(Path(folder) / "x", tensors)
        return (Path(folder) / "x").read_bytes()


def open_model(folder: Path, run: Run, whole: Path) -> None:
    from myxtts.inference.reference import load_reference
    from myxtts.inference.request import make_request
    from myxtts.inference.script import Script
    from myxtts.models import weights
    from myxtts.models.description import ModelDescription, find_checkpoint, weights_file
    from myxtts.training.checkpoint import load

    place = folder / "model"
    with tolerated():
        load(place)
    with tolerated():
        checkpoint = find_checkpoint(place)
        description = ModelDescription.load(checkpoint)
        make_request(Script(description), "Good morning, 3 of you.")
        weights.load(weights_file(checkpoint))
        load_reference(checkpoint, description.reference_frames)


def change_run(run: Path, rng: Rng, victims: Path) -> str:
    step = run / "checkpoints" / "step-5"
    kind = rng.random()
    if kind < 0.3:
        spoil(run, rng, victims)
        return "file"
    if kind < 0.5:
        path = run / "config.yaml"
        path.write_bytes(
            dumped(change({"data": {"batch_size": 8, "lexicon": [["en", "a", "b"]]}, "training": {"steps": 5}}, rng))
        )
        return "config"
    if kind < 0.7:
        names = ["lock", "log.jsonl", "config.yaml", "report.html", "checkpoints/last", "checkpoints/.saving-step-7",
                 "checkpoints/.step-5.replaced-by-myxtts", "samples", "tensorboard"]  # fmt: skip
        place = run / names[int(rng.integers(len(names)))]
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.symlink_to(victims / ("file" if rng.random() < 0.5 else "folder"))
        return "link"
    return change_model(step, rng, victims)


def open_run(folder: Path, run: Run, whole: Path) -> None:
    from myxtts.config.config import XTTSConfig
    from myxtts.training.checkpoint import Checkpoints
    from myxtts.training.resume import with_settings_of
    from myxtts.training.run_log import RunLog

    place = folder / "run"
    with tolerated():
        with_settings_of(place, XTTSConfig())
    with tolerated(), Checkpoints(place, 2) as checkpoints:
        checkpoints.latest_intact()
        checkpoints.best()
        RunLog(place).close()
    run("report", place)
    run("doctor", "--run", place)


def write_whole_run(run: Path) -> None:
    write_run(run)
    write_model(run / "checkpoints" / "step-5")
    (run / "checkpoints" / "last").symlink_to("step-5")
    (run / "config.yaml").write_text("data:\n  batch_size: 8\ntraining:\n  steps: 5\n")
    for name in ("samples", "tensorboard"):
        (run / name).mkdir()
    (run / "samples" / "step-5-0.wav").write_bytes(b"RIFF")
    (run / "tensorboard" / "events.out.tfevents.1").write_bytes(b"\0" * 40)


# ---- one input ------------------------------------------------------------------------------------------------------

KINDS: dict[str, tuple[str, Any, Any, Any]] = {
    "caches": ("x.cache", None, change_cache, open_cache),
    "logs": ("run", write_run, change_log, open_log),
    "models": ("model", write_model, change_model, open_model),
    "runs": ("run", write_whole_run, change_run, open_run),
}


class tolerated:
    """Our own errors, and what the operating system refuses, are a way to end."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, _: Any) -> bool:
        return isinstance(error, MyXTTSError | OSError)


def state_of(folder: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def one_artefact(kind: str, rng: Rng, folder: Path, whole: Path, run: Run) -> str:
    """Make, change, open; what lies outside must be as it was, and memory must not have grown."""
    name, make, spoiled, opened = KINDS[kind]
    victims = folder / "victims"
    (victims / "folder").mkdir(parents=True)
    (victims / "file").write_bytes(b"precious")
    (victims / "folder" / "inner").write_bytes(b"precious")
    intact = whole if make is None else whole.parent / kind
    if not intact.exists():
        make(intact)
    shutil.copytree(intact, folder / name, symlinks=True)
    what = spoiled(folder / name, rng, victims)
    before, outside = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, state_of(victims)
    opened(folder, run, whole)
    if state_of(victims) != outside:
        raise AssertionError(f"{kind}, {what}: something was written outside the {name}")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    if grown > MOST_BYTES:
        raise AssertionError(f"{kind}, {what}: memory grew by {grown / 1e9:.1f} GB")
    return f"{kind}: {what}"
