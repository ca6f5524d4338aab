"""Durable writing: whole or not at all whenever the end comes, never through a link, and nothing is left behind."""

import errno
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from myxtts import files

OLD, NEW = b"old", b"new content"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Killed(BaseException):
    """The end of the process: from then on it changes nothing on disk."""


@pytest.fixture
def killed_at(monkeypatch):
    """killed_at(n): the n-th change of the disk, and every one after it, does not happen. n counts from 0."""

    def arrange(n: int) -> list[str]:
        happened: list[str] = []

        def wrap(owner, name):
            original = getattr(owner, name)

            def change(*given, **options):
                if len(happened) >= n:
                    happened.append("killed")
                    raise Killed
                happened.append(name)
                return original(*given, **options)

            monkeypatch.setattr(owner, name, change)

        for owner, name in ((os, "rename"), (os, "replace"), (os, "fsync"), (os, "symlink"), (os, "unlink"),
                            (os, "rmdir"), (Path, "unlink")):  # fmt: skip
            wrap(owner, name)
        return happened

    return arrange


# ---- one file --------------------------------------------------------------------------------------------------------


def test_a_file_is_written_and_nothing_else(tmp_path):
    files.write_whole(tmp_path / "a", OLD)
    files.write_whole(str(tmp_path / "a"), NEW)
    assert names_in(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == NEW


@pytest.mark.parametrize("n", range(4))
def test_a_kill_leaves_the_old_file_or_the_new_one_and_the_next_writer_clears_up(tmp_path, killed_at, monkeypatch, n):
    files.write_whole(tmp_path / "a", OLD)
    happened = killed_at(n)
    if n < 3:
        with pytest.raises(Killed):
            files.write_whole(tmp_path / "a", NEW)
    else:
        files.write_whole(tmp_path / "a", NEW)  # sync, rename, sync: there is no fourth change
    monkeypatch.undo()
    assert (tmp_path / "a").read_bytes() == (OLD if "replace" not in happened else NEW)
    files.write_whole(tmp_path / "a", b"third")
    assert names_in(tmp_path) == ["a"]


@pytest.mark.parametrize("n", range(4))
def test_what_is_put_in_place_is_on_the_disk_before_it_has_its_name(tmp_path, killed_at, monkeypatch, n):
    (tmp_path / "a").write_bytes(OLD)
    (tmp_path / "a.part").write_bytes(NEW)
    happened = killed_at(n)
    if n < 3:
        with pytest.raises(Killed):
            files.put_in_place(tmp_path / "a.part", tmp_path / "a")
    else:
        files.put_in_place(tmp_path / "a.part", tmp_path / "a")
    monkeypatch.undo()
    assert happened[:n] == ["fsync", "replace", "fsync"][:n]
    assert (tmp_path / "a").read_bytes() == (OLD if n < 2 else NEW)


def test_an_error_while_filling_leaves_the_old_file(tmp_path):
    files.write_whole(tmp_path / "a", OLD)
    with pytest.raises(ZeroDivisionError), files.whole_file(tmp_path / "a") as file:
        file.write(NEW[: 1 // 0])
    assert (tmp_path / "a").read_bytes() == OLD
    assert names_in(tmp_path) == ["a"]


def test_a_writer_that_is_alive_is_not_taken_for_dead(tmp_path):
    with files.whole_file(tmp_path / "a") as file:
        file.write(NEW)
        files.write_whole(tmp_path / "a", OLD)  # another one in between
    assert (tmp_path / "a").read_bytes() == NEW


def test_many_writers_of_one_file_each_write_it_whole(tmp_path):
    contents = [bytes([n]) * 5000 for n in range(8)]
    threads = [threading.Thread(target=files.write_whole, args=(tmp_path / "a", content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "a").read_bytes() in contents
    assert names_in(tmp_path) == ["a"]


def test_what_a_killed_process_left_is_cleared(tmp_path):
    script = (
        "import os, sys\nfrom myxtts import files\nwith files.whole_file(sys.argv[1]) as file:\n"
        "    file.write(b'half')\n    file.flush()\n    os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path / "a"], check=False)
    assert [files.place_of(name) for name in names_in(tmp_path)] == ["a"]
    files.write_whole(tmp_path / "b", OLD)
    assert len(names_in(tmp_path)) == 2  # another file's leftovers are not ours to judge
    files.write_whole(tmp_path / "a", NEW)
    assert names_in(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_the_umask_decides_who_may_read(tmp_path, umask):
    before = os.umask(umask)
    try:
        files.write_whole(tmp_path / "whole", NEW)
        files.open_new(tmp_path / "new").close()
        files.open_append(tmp_path / "grown").close()
        files.clone_file(tmp_path / "whole", tmp_path / "clone")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o666 & ~umask}


# ---- never through a link, only regular files ------------------------------------------------------------------------


@pytest.fixture
def victim(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "victim").write_bytes(b"mine")
    yield folder / "victim"
    assert (folder / "victim").read_bytes() == b"mine"
    assert names_in(folder) == ["victim"]


def test_a_link_in_the_place_of_a_file_is_replaced(tmp_path, victim):
    (tmp_path / "a").symlink_to(victim)
    files.write_whole(tmp_path / "a", NEW)
    assert not (tmp_path / "a").is_symlink()
    (tmp_path / "b").symlink_to(victim)
    files.clone_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == NEW
    (tmp_path / "c").symlink_to(victim)
    with files.open_new(tmp_path / "c") as file:
        file.write(NEW)


def test_a_link_under_a_hidden_name_is_removed_and_not_followed(tmp_path, victim):
    (tmp_path / ".a.0123abcd.tmp").symlink_to(victim)
    files.write_whole(tmp_path / "a", NEW)
    assert names_in(tmp_path) == ["a", "outside"]


def test_a_file_that_grows_is_not_opened_through_a_link(tmp_path, victim):
    (tmp_path / "a").symlink_to(victim)
    (tmp_path / "dangling").symlink_to(tmp_path / "outside" / "made")
    for name in ("a", "dangling"):
        with pytest.raises(OSError, match="is a symbolic link, which is not written through"):
            files.open_append(tmp_path / name)


def special(folder: Path, kind: str) -> Path:
    place = folder / kind
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(os.fspath(place))
    elif kind == "link to a device":
        place.symlink_to("/dev/null")
    return place


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("kind", ["pipe", "folder", "socket", "link to a device"])
def test_what_is_no_file_is_neither_written_nor_replaced(tmp_path, kind):
    place = special(tmp_path, kind)
    before = os.lstat(place)
    for write in (lambda: files.write_whole(place, NEW), lambda: files.try_to_write(place)):
        with pytest.raises(OSError, match="is not a regular file|is a folder"):
            write()
    with pytest.raises(OSError):  # noqa: PT011 - of a socket the system says it in its own words
        files.open_append(place)
    assert os.lstat(place).st_ino == before.st_ino
    assert names_in(tmp_path) == [kind]


def test_reading_waits_for_no_pipe_and_takes_no_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    (tmp_path / "large").write_bytes(bytes(101))
    (tmp_path / "small").write_bytes(bytes(100))
    (tmp_path / "link").symlink_to("small")
    for name, what in (("pipe", "not a regular"), ("zeros", "not a regular"), ("large", "has 101 bytes, expected at")):
        with pytest.raises(OSError, match=what):
            files.read_regular(tmp_path / name, 100)
    assert files.read_regular(tmp_path / "link", 100) == bytes(100)


# ---- folders ---------------------------------------------------------------------------------------------------------


def make(folder: Path, content: str) -> Path:
    folder.mkdir()
    for name in ("a", "b", "seal"):
        (folder / name).write_text(content)
    return folder


def content_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


WHOLE = {content: {"a": content, "b": content, "seal": content} for content in ("old", "new")}


def cannot_exchange(monkeypatch):
    monkeypatch.setattr(files, "exchange", lambda *_: False)


def cannot_rename_folders_of_a_layer(monkeypatch):
    """As overlayfs: what came with the image cannot be renamed, what was made since can."""
    rename = os.rename

    def limited(source, target):
        if (Path(source) / "seal").exists() and (Path(source) / "seal").read_text() == "old":
            raise OSError(errno.EXDEV, "Invalid cross-device link", str(source))
        rename(source, target)

    monkeypatch.setattr(os, "rename", limited)
    cannot_exchange(monkeypatch)


SYSTEMS = {
    "atomic exchange": lambda monkeypatch: None,
    "no exchange": cannot_exchange,
    "overlay": cannot_rename_folders_of_a_layer,
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_folder_takes_the_place_of_another(tmp_path, monkeypatch, system):
    SYSTEMS[system](monkeypatch)
    old, new = make(tmp_path / "place", "old"), make(tmp_path / "building", "new")
    files.publish(new, old, "seal")
    assert names_in(tmp_path) == ["place"]
    assert content_of(old) == WHOLE["new"]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("n", range(14))
def test_a_kill_while_publishing_leaves_the_old_or_the_new_after_recovery(tmp_path, monkeypatch, killed_at, system, n):
    old, new = make(tmp_path / "place", "old"), make(tmp_path / "building", "new")
    SYSTEMS[system](monkeypatch)
    killed_at(n)
    try:
        files.publish(new, old, "seal")
    except Killed:
        assert files.needs_recovery(new, old) or content_of(old) in WHOLE.values()
    monkeypatch.undo()
    SYSTEMS[system](monkeypatch)
    files.recover(new, old, "seal")
    assert content_of(old) in WHOLE.values()
    files.recover(new, old, "seal")
    if content_of(old) == WHOLE["old"]:
        assert content_of(new) == WHOLE["new"]  # what was built is not lost either
        files.publish(new, old, "seal")
    shutil.rmtree(new, ignore_errors=True)  # after an exchange: the old one, which its owner clears
    assert content_of(old) == WHOLE["new"]
    assert names_in(tmp_path) == ["place"]


def test_on_a_real_overlay_a_folder_of_the_image_is_replaced(tmp_path, mounted):
    base = mounted("size=1m")
    for name in ("lower", "upper", "work", "merged"):
        (base / name).mkdir()
    make(base / "lower" / "place", "old")
    options = f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work"
    merged = base / "merged"
    done = subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", merged], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no overlay can be mounted here: {done.stderr.strip()}")
    try:
        with pytest.raises(OSError, match="cross-device"):
            os.rename(merged / "place", merged / "elsewhere")
        for _ in range(2):
            files.publish(make(merged / "building", "new"), merged / "place", "seal")
            assert names_in(merged) == ["place"]
            assert content_of(merged / "place") == WHOLE["new"]
    finally:
        subprocess.run(["umount", merged], check=True)


def test_a_link_is_pointed_elsewhere_in_one_step(tmp_path, killed_at, monkeypatch):
    files.point_link(tmp_path / "last", "one")
    killed_at(1)
    with pytest.raises(Killed):
        files.point_link(tmp_path / "last", "two")
    assert os.readlink(tmp_path / "last") == "one"
    monkeypatch.undo()
    files.point_link(tmp_path / "last", "two")
    assert os.readlink(tmp_path / "last") == "two"
    assert names_in(tmp_path) == ["last"]


def test_a_lock_is_held_by_one_and_says_whether_it_is_still_that_file(tmp_path):
    first, second = files.open_append(tmp_path / "lock"), files.open_append(tmp_path / "lock")
    assert files.try_lock(first.fileno())
    assert not files.try_lock(second.fileno())
    assert files.is_still(first.fileno(), tmp_path / "lock")
    (tmp_path / "lock").rename(tmp_path / "moved")
    assert not files.is_still(first.fileno(), tmp_path / "lock")
    first.close()
    assert files.try_lock(second.fileno())
    second.close()
