"""A cache on its way to a store: in the end it is there whole, or not at all, whatever happens on the way."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from corpora import feed_config, write_corpus
from loopback import FolderServer

from myxtts.cache import patience, upload
from myxtts.cache import remote as remote_room
from myxtts.cache.format import MANIFEST
from myxtts.cache.open import open_cache
from myxtts.cache.remote import Remote, Unreachable
from myxtts.cache.settings import PackSettings
from myxtts.cache.upload import pack_to_address, tag_of
from myxtts.cache.verify_address import verify_address
from myxtts.cli import main
from myxtts.corpus.read import open_corpus
from myxtts.errors import CacheDamaged, CacheError, CacheMismatch

obstore = pytest.importorskip("obstore")
ADDRESS = "s3://bucket/voice.cache"


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "voice", 10, (0.3, 0.5))


@pytest.fixture
def store(tmp_path, monkeypatch) -> Path:
    """A folder that stands in for a bucket. Its tags are no MD5: what has arrived is read back."""
    folder = tmp_path / "store"
    made = obstore.store.LocalStore(folder, mkdir=True)
    monkeypatch.setattr(remote_room, "_open_store", lambda address: made)
    monkeypatch.setattr(patience, "PAUSES_SECONDS", (0.0,))
    return folder


def pack(corpus: Path, tmp_path: Path, **options) -> None:
    settings = PackSettings.from_config(feed_config().data)
    with ThreadPoolExecutor(1) as executor:
        pack_to_address(open_corpus(corpus), ADDRESS, settings, executor, tmp_path / "mirrors", shard_rows=4, **options)


def put_counted(monkeypatch, meddle=lambda name, count: None) -> list[str]:
    """The names that are put from now on; `meddle` is called before each."""
    names, put = [], Remote.put

    def counted(self, name, path):
        meddle(name, len(names))
        tag = put(self, name, path)
        names.append(name)
        return tag

    monkeypatch.setattr(Remote, "put", counted)
    return names


def test_the_list_of_shards_comes_last_and_nothing_stays_here(corpus, store, tmp_path, monkeypatch):
    shown = []
    names = put_counted(monkeypatch)
    pack(corpus, tmp_path, show=lambda done, total: shown.append((done, total)))
    assert names[-1] == MANIFEST
    assert names.count(MANIFEST) == 1
    assert shown[-1][0] == shown[-1][1] > 0
    assert len(open_cache(store)) == 10
    assert not any((tmp_path / "mirrors").iterdir())
    pack(corpus, tmp_path)  # it is there already
    assert not any((tmp_path / "mirrors").iterdir())
    assert names.count(MANIFEST) == 1


def test_a_killed_upload_goes_on_with_what_is_missing(corpus, store, tmp_path, monkeypatch):
    def die(name: str, count: int) -> None:
        if count == 9:
            raise KeyboardInterrupt

    monkeypatch.setattr(upload, "_FILES_AT_ONCE", 1)
    with monkeypatch.context() as patch:
        first = put_counted(patch, die)
        with pytest.raises(KeyboardInterrupt):
            pack(corpus, tmp_path)
    assert not (store / MANIFEST).exists()
    monkeypatch.setattr(upload, "pack_shards", lambda *_, **__: None)  # what is packed is packed
    second = put_counted(monkeypatch)
    pack(corpus, tmp_path)
    assert not set(first) & set(second)
    assert len(open_cache(store)) == 10


def test_a_store_that_is_away_is_tried_again_and_then_named(corpus, store, tmp_path, monkeypatch):
    away = {"times": 1}

    def fail(name: str, count: int) -> None:
        if away["times"]:
            away["times"] -= 1
            raise Unreachable("mock: nobody answers")

    with monkeypatch.context() as patch:
        put_counted(patch, fail)
        pack(corpus, tmp_path)
        assert len(open_cache(store)) == 10
        away["times"] = 10**6
        with pytest.raises(
            CacheError, match="nobody answers; run the same command again to resume, what has arrived is kept"
        ):
            pack(corpus, tmp_path, rebuild=True)
    assert not (store / MANIFEST).exists()  # the old list is gone: nobody takes a mixture for a cache


def test_ctrl_c_ends_the_pause_of_another_file_too(corpus, store, tmp_path, monkeypatch):
    refused, one_at_a_time, tried = threading.Event(), threading.Lock(), []

    def meddle(name: str, count: int) -> None:
        with one_at_a_time:
            tried.append(name)
            number = len(tried)
        if number == 1:
            refused.set()
            raise Unreachable("mock: nobody answers")
        refused.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(upload, "_FILES_AT_ONCE", 2)
    monkeypatch.setattr(patience, "PAUSES_SECONDS", (30.0,))
    put_counted(monkeypatch, meddle)
    with pytest.raises(KeyboardInterrupt):
        pack(corpus, tmp_path)
    assert len(tried) == len(set(tried))  # at the end of a pause it would have been tried again


def test_what_arrives_damaged_is_sent_again_and_then_refused(corpus, store, tmp_path, monkeypatch, caplog):
    spoiled = {"times": 1}
    put = Remote.put

    def spoil(self, name, path):
        tag = put(self, name, path)
        if name == "00001.cache/mel.npy" and spoiled["times"]:
            spoiled["times"] -= 1
            os.truncate(store / name, 200)
        return tag

    monkeypatch.setattr(Remote, "put", spoil)
    pack(corpus, tmp_path)
    assert "00001.cache/mel.npy arrived damaged and is sent again" in caplog.text
    assert not verify_address(ADDRESS, tmp_path / "mirrors")
    spoiled["times"] = 2
    with pytest.raises(CacheDamaged, match="arrived damaged twice"):
        pack(corpus, tmp_path, rebuild=True)
    assert not (store / MANIFEST).exists()


def test_a_corpus_that_has_changed_is_packed_again_when_asked(corpus, store, tmp_path):
    pack(corpus, tmp_path)
    lines = (corpus / "metadata.csv").read_text().splitlines(keepends=True)
    (corpus / "metadata.csv").write_text("".join(lines[:6]))
    with pytest.raises(CacheMismatch, match=f"has changed since {ADDRESS} was packed: run 'myxtts pack --rebuild"):
        pack(corpus, tmp_path)
    pack(corpus, tmp_path, rebuild=True)
    assert len(open_cache(store)) == 6
    assert not (store / "00002.cache" / MANIFEST).exists()  # of the cache that had three shards


def test_packing_again_from_fewer_corpora_is_refused(corpus, store, tmp_path, capsys):
    other = write_corpus(tmp_path / "other", 5, (0.3, 0.5))
    settings = ["--set", f"data.mirror_dir={tmp_path / 'mirrors'}", "--set", "data.text_tokens=characters"]
    assert main(["pack", str(corpus), str(other), "-o", ADDRESS, *settings]) == 0
    assert main(["pack", str(corpus), "-o", ADDRESS, "--rebuild", *settings]) == 2
    assert f"{ADDRESS} holds 2 corpora and would be packed again from 1" in capsys.readouterr().err
    assert len(open_cache(store)) == 15


def test_a_run_killed_when_all_had_arrived_leaves_nothing_once_it_is_repeated(corpus, store, tmp_path, monkeypatch):
    def die(self, kept):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(upload.Upload, "_clear", die)
        with pytest.raises(KeyboardInterrupt):
            pack(corpus, tmp_path)
    assert any((tmp_path / "mirrors").iterdir())
    pack(corpus, tmp_path)
    assert not any((tmp_path / "mirrors").iterdir())


def test_a_bucket_that_is_not_there_is_named_before_anything_is_packed(corpus, store, tmp_path, monkeypatch):
    def absent(*_, **__):
        raise FileNotFoundError("mock: no such bucket")

    monkeypatch.setattr(obstore, "put", absent)
    with pytest.raises(CacheError, match="no such bucket; check the address"):
        pack(corpus, tmp_path)
    assert not (tmp_path / "mirrors").exists()


def test_every_byte_at_an_address_is_verified(corpus, store, tmp_path, monkeypatch):
    pack(corpus, tmp_path)
    mirrors = tmp_path / "mirrors"
    with open(store / "00001.cache" / "tokens.npy", "r+b") as file:
        file.seek(-2, os.SEEK_END)
        file.write(b"\x01")
    (store / "00002.cache" / "audio.npy").unlink()
    with open(store / "00000.cache" / "mel.npy", "ab") as file:
        file.write(b"more")
    shown = []
    damages = [str(damage) for damage in verify_address(ADDRESS, mirrors, lambda *bytes_: shown.append(bytes_))]
    assert len(damages) == 3
    assert damages[0].startswith("00000.cache/mel.npy has ")
    assert damages[1].startswith("00001.cache/tokens.npy: utterance utt00007")
    assert damages[2] == "00002.cache/audio.npy is missing"
    assert shown[-1][0] == shown[-1][1]
    (store / MANIFEST).write_bytes(b"{}")
    assert [str(damage) for damage in verify_address(ADDRESS, mirrors)] == [
        f"{MANIFEST} is damaged or of another version of MyXTTS"
    ]
    (store / MANIFEST).unlink()
    with pytest.raises(CacheError, match="cache.json cannot be read"):
        verify_address(ADDRESS, mirrors)
    assert not any(mirrors.iterdir())


def test_the_tag_of_a_file_in_parts(tmp_path, monkeypatch):
    """The MD5 of the parts' MD5s, and how many they are."""
    monkeypatch.setattr(upload, "PART_BYTES", 4)
    (tmp_path / "file").write_bytes(b"abcdefgh")
    assert tag_of(tmp_path / "file") == "cb93ad6c9c920e2602b79a11ded63ddb-2"
    (tmp_path / "file").write_bytes(b"abcd")
    assert tag_of(tmp_path / "file") == "e2fc714c4727ee9395f324cd2e7f331f"


def test_a_web_server_is_not_written_to(corpus, tmp_path, capsys):
    server = FolderServer(tmp_path)
    try:
        assert main(["pack", str(corpus), "-o", f"{server.address}/voice.cache"]) == 2
        assert "can be read but not written: pack into a folder" in capsys.readouterr().err
        assert main(["verify", f"{server.address}/voice.cache", "--fix", str(corpus)]) == 2
        assert "--fix mends a cache in a folder" in capsys.readouterr().err
    finally:
        server.close()
