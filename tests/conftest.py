"""Fixtures that every room's tests may use."""

import contextlib
import fcntl
import io
import json
import os
import subprocess
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import hypothesis
import pytest
from corpora import write_corpus

hypothesis.settings.register_profile("no clock", deadline=None)  # on a busy machine time says nothing
hypothesis.settings.load_profile("no clock")


@pytest.fixture(scope="session", autouse=True)
def own_user_cache(tmp_path_factory):
    """What a run remembers for the next one is nobody's but the tests'."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("user-cache")))
        yield


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory) -> Path:
    """40 utterances; read it, copy it, never change it."""
    return write_corpus(tmp_path_factory.mktemp("corpus") / "voice", 40)


@pytest.fixture(scope="session")
def packed_voice(corpus_folder, tmp_path_factory) -> Path:
    """The forty clips, packed with characters. Nobody may write to it."""
    from corpora import feed_config

    from myxtts.cache.pack import pack
    from myxtts.cache.settings import PackSettings
    from myxtts.corpus.read import open_corpus

    cache = tmp_path_factory.mktemp("packed") / "voice.cache"
    pack(open_corpus(corpus_folder), cache, PackSettings.from_config(feed_config().data))
    return cache


@pytest.fixture
def mounted(tmp_path):
    """mounted(options): a tmpfs of its own. Skips where the kernel does not let us mount, as in many containers."""
    places = []

    def mount(options: str) -> Path:
        place = tmp_path / f"mounted{len(places)}"
        place.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", place], check=True)


@pytest.fixture
def briefly(monkeypatch):
    """The doctor measures for half a second instead of fifteen: enough to tell causes that are far apart."""
    from myxtts.doctor import observe, resident

    monkeypatch.setattr(observe, "LOADER_SECONDS", 0.4)
    monkeypatch.setattr(observe, "LOOP_SECONDS", 0.4)
    monkeypatch.setattr(observe, "_WARM_UP_SECONDS", 0.1)
    monkeypatch.setattr(resident, "DEVICE_SECONDS", 0.1)


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory) -> tuple[Path, dict]:
    """(run directory, summary): the real model, made small, trained by the real command on two shapes of batches, with
    everything that happens now and then; and with shorter reference clips than the default.
    Nobody may write to it."""
    folder = shared_folder(tmp_path_factory, "trained")
    answer = folder / "answer.json"
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not answer.is_file():
            answer.write_text(train_small(folder))
    return folder / "run", json.loads(answer.read_text())


def shared_folder(factory, name: str) -> Path:
    """One for all processes of pytest-xdist, of which each would make its own; without it as any other folder."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return factory.mktemp(name)
    folder = factory.getbasetemp().parent / name  # above the one of this process, made anew for each run of pytest
    folder.mkdir(exist_ok=True)
    return folder


def train_small(folder: Path) -> str:
    from training.small_run import SMALL

    from myxtts.cli import main
    from myxtts.models import sizes

    write_corpus(folder / "voice", 40, (0.4, 1.2))
    settings = {
        "data.text_tokens": "characters", "data.num_buckets": 2, "data.batch_size": 8, "data.reference_frames": 32,
        "data.auto_tune_performance": "false",
        "training.precision": "float32", "training.learning_rate": 0.01, "training.warmup_steps": 10,
        "training.validation_steps": 10, "training.sample_steps": 40, "training.keep_checkpoints": 2,
    }  # fmt: skip
    words = ["train", "--train-data", str(folder / "voice"), "--run", str(folder / "run"), "--steps", "45", "--json"]
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        patch.setitem(sizes.SIZES, "tiny", SMALL)
        assert main(words) == 0
    return printed.getvalue()
