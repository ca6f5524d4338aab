"""The moment at which a cache takes its place: whatever ends it, the cache is there, and nothing else is touched."""

import os

import pytest
from corpora import write_corpus

from myxtts.cache.add import add
from myxtts.cache.manifest import is_cache, load_manifest
from myxtts.cache.pack import pack
from myxtts.cache.publish import building_folder, building_lock
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.cache.verify import repair, verify
from myxtts.cli import main
from myxtts.corpus.read import open_corpus
from myxtts.errors import CacheError, CacheLocked
from myxtts.features.audio import AudioSettings
from myxtts.features.text import TextFrontend
from myxtts.files import aside

CHARACTERS = PackSettings(AudioSettings(), TextFrontend(kind="characters"))


@pytest.fixture(scope="module")
def anna(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("anna") / "anna", 6)


@pytest.fixture(scope="module")
def bob(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("bob") / "bob", 5)


def kill_between_the_renames(monkeypatch):
    """As on NFS: two renames, and the end comes after the first."""
    rename, moves = os.rename, []

    def once(*names):
        moves.append(names)
        if len(moves) == 2:
            raise KeyboardInterrupt
        rename(*names)

    monkeypatch.setattr("myxtts.files.exchange", lambda *_: False)
    monkeypatch.setattr(os, "rename", once)


@pytest.mark.parametrize("door", ["open", "is_cache", "add", "verify", "pack", "info"])
def test_whoever_opens_a_cache_first_mends_what_a_killed_addition_left(anna, bob, tmp_path, monkeypatch, door):
    cache = tmp_path / "x.cache"
    pack(open_corpus(anna), cache, CHARACTERS)
    before = load_manifest(cache)
    with monkeypatch.context() as killed:
        kill_between_the_renames(killed)
        with pytest.raises(KeyboardInterrupt):
            add(open_corpus(bob), cache)
    assert not cache.exists()
    if door == "open":
        assert len(Cache(cache)) == before["utterances"]
    elif door == "is_cache":
        assert is_cache(cache)
    elif door == "verify":
        assert verify(cache) == []
    elif door == "info":
        assert main(["info", str(cache)]) == 0
    elif door == "pack":
        assert pack(open_corpus(anna), cache, CHARACTERS) == before
    grown = add(open_corpus(bob), cache)
    assert grown["utterances"] > before["utterances"]
    assert verify(cache) == []
    assert [path.name for path in tmp_path.iterdir() if "cache" in path.name] == ["x.cache"]


def test_a_cache_that_is_just_being_replaced_is_said_to_be(anna, tmp_path):
    cache = tmp_path / "x.cache"
    pack(open_corpus(anna), cache, CHARACTERS)
    with building_lock(cache) as building:
        (building / "audio.npy").write_bytes(b"")
        os.rename(cache, aside(cache))  # the first of two steps
        with pytest.raises(CacheLocked, match="another process is writing"):
            Cache(cache)
        os.rename(aside(cache), cache)
        (building / "audio.npy").unlink()
    assert len(Cache(cache)) > 0


def test_other_peoples_files_in_a_cache_are_not_lost(anna, bob, tmp_path):
    cache = tmp_path / "x.cache"
    pack(open_corpus(anna), cache, CHARACTERS)
    (cache / "NOTES.txt").write_text("mine")
    with pytest.raises(CacheError, match="holds 'NOTES.txt', which is not part of a cache and would be lost"):
        add(open_corpus(bob), cache)
    assert (cache / "NOTES.txt").read_text() == "mine"
    assert not building_folder(cache).exists()


@pytest.mark.parametrize("name", ["journal", "rejected.jsonl", "audio.npy", "index.n_frames.npy", "cache.json"])
def test_a_building_folder_from_a_stranger_cannot_make_us_write_elsewhere(anna, tmp_path, name):
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    cache = tmp_path / "x.cache"
    building_folder(cache).mkdir()
    (building_folder(cache) / name).symlink_to(victim)
    pack(open_corpus(anna), cache, CHARACTERS)
    assert verify(cache) == []
    assert victim.read_bytes() == b"mine"
    assert not any(path.is_symlink() for path in cache.iterdir())


def test_a_link_in_the_place_of_the_building_folder_is_refused(anna, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    building_folder(tmp_path / "x.cache").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CacheError, match="is a link or a file, expected a folder"):
        pack(open_corpus(anna), tmp_path / "x.cache", CHARACTERS)
    assert not any((tmp_path / "elsewhere").iterdir())


def test_a_repair_does_not_write_through_a_link(anna, tmp_path):
    cache, victim = tmp_path / "x.cache", tmp_path / "victim"
    pack(open_corpus(anna), cache, CHARACTERS)
    victim.write_bytes((cache / "mel.npy").read_bytes()[:-200])
    kept = victim.read_bytes()
    (cache / "mel.npy").unlink()
    (cache / "mel.npy").symlink_to(victim)
    damages = verify(cache)
    assert repair(cache, open_corpus(anna), CHARACTERS, damages) == []
    assert verify(cache) == []
    assert victim.read_bytes() == kept


@pytest.mark.parametrize("name", ["rejected.jsonl", "audio.npy", "tokens.npy", "index.n_frames.npy"])
def test_an_interrupted_build_is_not_resumed_through_a_link(anna, tmp_path, monkeypatch, name):
    from myxtts.cache import pack as packing

    cache, victim, write = tmp_path / "x.cache", tmp_path / "victim", packing._write

    def interrupted(writer, outcomes, place):
        write(writer, outcomes, place)
        writer.commit()
        raise KeyboardInterrupt

    monkeypatch.setattr(packing, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pack(open_corpus(anna), cache, CHARACTERS)
    monkeypatch.undo()
    file = building_folder(cache) / name
    file.rename(victim)
    file.symlink_to(victim)
    kept = victim.read_bytes()
    pack(open_corpus(anna), cache, CHARACTERS)
    assert verify(cache) == []
    assert victim.read_bytes() == kept
