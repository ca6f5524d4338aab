"""Checkpoints: whatever happens, what is visible is whole, and resuming finds the newest intact one."""

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from myxtts.errors import CheckpointDamaged, CheckpointError, TrainingError
from myxtts.models.description import ModelDescription, find_checkpoint
from myxtts.models.format import STATE
from myxtts.training.checkpoint import Checkpoints, RunLock, load
from myxtts.training.run_log import RunLog

DESCRIPTION = ModelDescription(token_table=["<pad>", "a"], languages=["en-us"], speakers=["ann"])
FILES = ["ema.safetensors", "model.json", "optimiser.safetensors", "state.json", "weights.safetensors"]


def tensors_of(step: int, size: int = 64) -> dict:
    array = np.full(size, step, np.float32)
    return {
        "weights": {"encoder/kernel": array, "steps": np.array(step)},
        "ema": {"encoder/kernel": array / 2},
        "optimiser": {"m": array.reshape(8, -1), "v": -array},
    }


def save(checkpoints: Checkpoints, *steps: int, metric: float | None = None) -> Path:
    for step in steps:
        path = checkpoints.save(step, tensors_of(step), {"seed": 7, "lr": 0.1}, DESCRIPTION, metric)
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def checkpoints(tmp_path):
    with Checkpoints(tmp_path / "run", keep=2) as opened:
        yield opened


def test_what_was_saved_is_loaded(checkpoints):
    state = {"seed": 7, "plan": {"cache": "abc"}, "lr": np.float32(0.5), "big": 2**60, "loss": float("nan"), "x": 0.1}
    path = checkpoints.save(12, tensors_of(12), state, DESCRIPTION, metric=0.25)
    assert path == checkpoints.folder / "step-12"
    assert names_in(path) == FILES
    loaded = checkpoints.load()
    assert (loaded.path, loaded.step, loaded.metric, loaded.description) == (path, 12, 0.25, DESCRIPTION)
    assert loaded.state == {"seed": 7, "plan": {"cache": "abc"}, "lr": 0.5, "big": 2**60, "loss": "NaN", "x": 0.1}
    assert loaded.tensors.keys() == tensors_of(12).keys()
    for stem, arrays in tensors_of(12).items():
        assert loaded.tensors[stem].keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(loaded.tensors[stem][name], array)
            assert loaded.tensors[stem][name].dtype == array.dtype
    body = json.loads((path / STATE).read_text())
    assert body["format"] == 2
    assert sorted([*body["files"], STATE]) == FILES


def test_a_new_run_has_nothing_to_go_on_from(checkpoints):
    assert checkpoints.load() is None
    assert checkpoints.best() is None


def test_the_newest_and_the_best_are_kept(checkpoints):
    for step, metric in ((10, 0.5), (20, 0.3), (30, 0.4), (40, None), (50, float("nan")), (60, 0.3)):
        save(checkpoints, step, metric=metric)
        links = {name: os.readlink(checkpoints.folder / name) for name in ("last", "best")}
        assert links == {"last": f"step-{step}", "best": "step-10" if step == 10 else "step-20"}
    assert names_in(checkpoints.folder) == ["best", "last", "step-20", "step-50", "step-60"]
    assert checkpoints.best() == (20, 0.3)
    assert checkpoints.load().step == 60
    assert find_checkpoint(checkpoints.folder.parent).name == "step-20"
    save(checkpoints, 70, metric=0.2)
    assert names_in(checkpoints.folder) == ["best", "last", "step-60", "step-70"]


def test_without_a_metric_there_is_no_best(checkpoints):
    save(checkpoints, 1, 2, 3)
    assert names_in(checkpoints.folder) == ["last", "step-2", "step-3"]
    assert checkpoints.best() is None
    assert find_checkpoint(checkpoints.folder.parent).name == "step-3"


def test_a_step_saved_again_is_replaced(checkpoints):
    save(checkpoints, 5, metric=0.1)
    again = {"weights": {"other": np.ones(3)}}
    checkpoints.save(5, again, {}, DESCRIPTION, 0.4)
    assert names_in(checkpoints.folder / "step-5") == ["model.json", "state.json", "weights.safetensors"]
    assert checkpoints.load().tensors.keys() == {"weights"}
    assert checkpoints.best() == (5, 0.4)
    assert names_in(checkpoints.folder) == ["best", "last", "step-5"]


def test_after_a_return_to_an_earlier_step_the_newest_is_the_last_saved(checkpoints):
    save(checkpoints, 80, 100)
    save(checkpoints, 90)  # went back to 80 and on from there
    assert checkpoints.load().step == 90
    assert os.readlink(checkpoints.folder / "last") == "step-90"
    save(checkpoints, 95)
    assert names_in(checkpoints.folder) == ["last", "step-90", "step-95"]


# ---- damage ---------------------------------------------------------------------------------------------------------


def truncate(path):
    os.truncate(path, path.stat().st_size - 2)


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("harm", [truncate, flip, Path.unlink, lambda path: path.write_bytes(b"")])
@pytest.mark.parametrize("name", FILES)
def test_damage_is_named_and_the_one_before_is_taken(checkpoints, caplog, name, harm):
    save(checkpoints, 1, 2)
    harm(checkpoints.folder / "step-2" / name)
    loaded = checkpoints.latest_intact()
    assert loaded.step == 1
    np.testing.assert_array_equal(loaded.tensors["weights"]["encoder/kernel"], np.full(64, 1.0))
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert str(checkpoints.folder / "step-2" / name) in record.message
    with pytest.raises(CheckpointDamaged, match=name):
        load(checkpoints.folder / "last")


def test_when_none_is_sound_nothing_is_made_up(checkpoints):
    save(checkpoints, 1, 2)
    flip(checkpoints.folder / "step-1" / "ema.safetensors")
    truncate(checkpoints.folder / "step-2" / STATE)
    with pytest.raises(CheckpointDamaged, match=r"no checkpoint in .*state\.json.*ema\.safetensors.*--reset"):
        checkpoints.load()


def test_training_goes_on_over_a_damaged_one(checkpoints, caplog):
    save(checkpoints, 1, 2)
    flip(checkpoints.folder / "step-2" / STATE)
    save(checkpoints, 2)
    assert checkpoints.load().step == 2
    truncate(checkpoints.folder / "step-2" / STATE)
    save(checkpoints, 3, 4, 5)  # a damaged one does not stay for ever
    assert names_in(checkpoints.folder) == ["last", "step-4", "step-5"]
    assert not caplog.records


def test_another_format_is_an_error_and_not_damage(checkpoints, monkeypatch):
    monkeypatch.setattr("myxtts.models.format.FORMAT", 3)
    save(checkpoints, 1)
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="is format 3, this code reads 2: upgrade MyXTTS") as caught:
        checkpoints.load()
    assert not isinstance(caught.value, CheckpointDamaged)


# ---- kills and full disks -------------------------------------------------------------------------------------------

SAVER = """
import sys
from test_checkpoint import DESCRIPTION, tensors_of
from myxtts.training.checkpoint import Checkpoints
with Checkpoints(sys.argv[1], keep=2) as checkpoints:
    saved = checkpoints.load()
    step = 0 if saved is None else saved.step
    print("go", flush=True)
    while True:
        step += 1
        checkpoints.save(step, tensors_of(step, 1 << 16), {"step": step}, DESCRIPTION, 1 / step if step % 3 else None)
        print(step, flush=True)
"""


def start_saver(run):
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    saver = subprocess.Popen(
        [sys.executable, "-c", SAVER, run], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert saver.stdout.readline() == "go\n"
    return saver


def test_killed_savers_leave_sound_checkpoints(tmp_path):
    run, said = tmp_path / "run", 0
    for life in range(2):
        saver = start_saver(run)
        for _ in range(4):
            said = int(saver.stdout.readline())
        time.sleep(random.Random(life).uniform(0, 0.05))
        saver.send_signal(signal.SIGKILL)
        rest = saver.communicate()[0].split()
        said = int(rest[-1]) if rest else said
        for path in (run / "checkpoints").glob("step-*"):
            load(path)  # not the newest alone: all that is visible is whole
        assert load(run / "checkpoints" / "last").step >= said
        with Checkpoints(run, keep=2) as checkpoints:
            assert checkpoints.load().step in (said, said + 1)
            assert not list(checkpoints.folder.glob(".*"))


@pytest.mark.parametrize("moment", ["publish", "_point_links", "_delete_old", "_remove"])
def test_an_end_between_any_two_moves_loses_nothing(tmp_path, monkeypatch, moment):
    """KeyboardInterrupt stands for the kill: none of our code runs after it but `close`."""
    import myxtts.training.checkpoint as module

    def killed(*_):
        raise KeyboardInterrupt

    with Checkpoints(tmp_path, keep=1) as checkpoints:
        save(checkpoints, 1)
        monkeypatch.setattr(Checkpoints if hasattr(Checkpoints, moment) else module, moment, killed)
        with pytest.raises(KeyboardInterrupt):
            save(checkpoints, 2)
    monkeypatch.undo()
    with Checkpoints(tmp_path, keep=1) as checkpoints:
        assert checkpoints.load().step == (1 if moment == "publish" else 2)
        save(checkpoints, 3)
        assert names_in(checkpoints.folder) == ["last", "step-3"]


def test_leftovers_are_removed_and_nothing_else(tmp_path):
    folder = tmp_path / "checkpoints"
    with Checkpoints(tmp_path, keep=2) as checkpoints:
        save(checkpoints, 3)
    for name in (".saving-step-9", ".deleting-step-1", ".step-3.replaced-by-myxtts", ".mine", "step-notes"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text("x")
    (folder / ".last.0123abcd.tmp").symlink_to("step-9")
    with Checkpoints(tmp_path, keep=2) as checkpoints:
        assert names_in(folder) == [".mine", "last", "step-3", "step-notes"]
        assert checkpoints.load().step == 3


def test_a_step_saved_again_survives_a_kill_where_names_cannot_be_exchanged(tmp_path, monkeypatch):
    with Checkpoints(tmp_path, keep=2) as checkpoints:
        save(checkpoints, 1)
        monkeypatch.setattr("myxtts.files.exchange", lambda *_: False)
        moves, rename = [], os.rename

        def killed_at_the_second(*names):
            moves.append(names)
            if len(moves) == 2:
                raise KeyboardInterrupt
            rename(*names)

        monkeypatch.setattr(os, "rename", killed_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            save(checkpoints, 1)
    monkeypatch.undo()
    assert not (tmp_path / "checkpoints" / "step-1").exists()
    with Checkpoints(tmp_path, keep=2) as checkpoints:
        assert checkpoints.load().step == 1
        assert names_in(checkpoints.folder) == ["last", "step-1"]


def test_links_that_a_kill_left_stale_are_pointed_again(tmp_path, monkeypatch):
    with Checkpoints(tmp_path, keep=2) as checkpoints:
        save(checkpoints, 1, metric=0.5)
        monkeypatch.setattr(Checkpoints, "_point_links", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            save(checkpoints, 2, metric=0.3)
    monkeypatch.undo()
    with Checkpoints(tmp_path, keep=2) as checkpoints:
        assert {os.readlink(checkpoints.folder / name) for name in ("last", "best")} == {"step-2"}


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_the_umask_decides_who_may_read_a_checkpoint(tmp_path, umask):
    before = os.umask(umask)
    try:
        with Checkpoints(tmp_path, keep=2) as checkpoints:
            save(checkpoints, 1)
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "checkpoints" / "step-1").iterdir()}
    assert modes == {0o666 & ~umask}


@pytest.mark.parametrize("name", ["lock", "log.jsonl"])
def test_a_run_from_a_stranger_cannot_make_us_write_elsewhere(tmp_path, name):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(victim)
    with pytest.raises(TrainingError, match="is a symbolic link"), Checkpoints(tmp_path / "run", 1):
        RunLog(tmp_path / "run")
    assert victim.read_text() == "mine"


def test_a_full_disk_is_a_clear_error_and_the_old_checkpoints_stay(mounted):
    with Checkpoints(mounted("size=1m"), keep=2) as checkpoints:
        save(checkpoints, 1, 2, metric=0.5)
        with pytest.raises(CheckpointError, match=r"cannot save .*step-3.*earlier checkpoints are untouched"):
            checkpoints.save(3, tensors_of(3, 1 << 18), {}, DESCRIPTION)
        assert names_in(checkpoints.folder) == ["best", "last", "step-1", "step-2"]
        assert checkpoints.load().step == 2
        save(checkpoints, 3)
        assert checkpoints.load().step == 3


# ---- the run directory ----------------------------------------------------------------------------------------------


def test_two_trainers_cannot_use_one_run(tmp_path):
    with (
        Checkpoints(tmp_path, keep=1),
        pytest.raises(TrainingError, match=rf"in use by process {os.getpid()} on .*--run"),
    ):
        Checkpoints(tmp_path, keep=1)
    Checkpoints(tmp_path, keep=1).close()


def test_a_killed_trainer_holds_no_lock(tmp_path):
    saver = start_saver(tmp_path)
    with pytest.raises(TrainingError, match=f"in use by process {saver.pid}"):
        RunLock(tmp_path)
    saver.send_signal(signal.SIGKILL)
    saver.communicate()
    RunLock(tmp_path).close()


def test_a_place_that_cannot_hold_a_run_is_an_error(tmp_path, monkeypatch):
    with pytest.raises(TrainingError, match=r"cannot train in /proc/run"):
        Checkpoints("/proc/run", keep=1)
    with pytest.raises(TrainingError, match="found 0 checkpoints to keep"):
        Checkpoints(tmp_path, keep=0)

    def refused(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "symlink", refused)
    with pytest.raises(CheckpointError, match="must know symbolic links"):
        Checkpoints(tmp_path, keep=1)
    monkeypatch.undo()
    Checkpoints(tmp_path, keep=1).close()  # and the lock was given back
