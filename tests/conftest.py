"""Fixtures that every room's tests may use."""

import contextlib
import io
import json
import subprocess
from pathlib import Path

import pytest
from corpora import write_corpus


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory) -> Path:
    """40 utterances; read it, copy it, never change it."""
    return write_corpus(tmp_path_factory.mktemp("corpus") / "voice", 40)


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


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory) -> tuple[Path, dict]:
    """(run directory, summary): the real model, made small, trained by the real command on two shapes of batches, with
    everything that happens now and then; and with a reference shorter than the one that speaking takes."""
    from training.small_run import SMALL

    from myxtts.cli import main
    from myxtts.models import sizes

    folder = tmp_path_factory.mktemp("trained")
    write_corpus(folder / "voice", 40, (0.4, 1.2))
    settings = {
        "data.text_tokens": "characters", "data.num_buckets": 2, "data.batch_size": 8, "data.reference_frames": 32,
        "training.precision": "float32", "training.learning_rate": 0.01, "training.warmup_steps": 10,
        "training.validation_steps": 10, "training.sample_steps": 40, "training.keep_checkpoints": 2,
    }  # fmt: skip
    words = ["train", "--train-data", str(folder / "voice"), "--run", str(folder / "run"), "--steps", "45", "--json"]
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as told:
        patch.setitem(sizes.SIZES, "tiny", SMALL)
        assert main(words) == 0
    return folder / "run", json.loads(told.getvalue())
