"""A cache in an object store: packed to, read from and verified at a real S3 server, on loopback."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from corpora import feed_config, write_corpus
from object_store import S3

from myxtts.cache.open import open_cache, open_or_pack
from myxtts.cache.remote import Remote
from myxtts.cache.settings import PackSettings
from myxtts.cache.shards import pack_shards
from myxtts.cli import main
from myxtts.corpus.read import open_corpus
from myxtts.errors import CacheError


@pytest.fixture
def packed(tmp_path):
    """A corpus and its cache in three shards."""
    corpus, folder = write_corpus(tmp_path / "voice", 12), tmp_path / "voice.cache"
    with ThreadPoolExecutor(2) as executor:
        pack_shards(open_corpus(corpus), folder, PackSettings.from_config(feed_config().data), executor, shard_rows=4)
    return corpus, folder


def use(server: S3, monkeypatch) -> None:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)


@pytest.mark.slow
def test_a_cache_is_read_from_an_object_store(packed, tmp_path, monkeypatch):
    _, folder = packed
    server = S3(folder)
    use(server, monkeypatch)
    try:
        remote = Remote("s3://bucket/voice.cache")
        assert remote.read("cache.json") == (folder / "cache.json").read_bytes()
        assert remote.read("00000.cache/mel.npy", 100, 140) == (folder / "00000.cache/mel.npy").read_bytes()[100:140]
        with pytest.raises(CacheError, match="check the address"):
            remote.read("nowhere")
        there, here = open_or_pack("s3://bucket/voice.cache", feed_config(mirror_dir=str(tmp_path))), open_cache(folder)
        assert there.id == here.id
        np.testing.assert_array_equal(there.frames(7), here.frames(7))
    finally:
        server.kill()


@pytest.mark.slow
def test_a_cache_is_packed_to_an_object_store_and_verified_there(packed, tmp_path, monkeypatch, capsys):
    corpus, folder = packed
    server = S3()
    use(server, monkeypatch)
    given = ["--json", "--set", f"data.mirror_dir={tmp_path / 'mirrors'}"]

    def run(*words: str) -> tuple[int, dict]:
        code = main([*map(str, words), *given])
        return code, json.loads(capsys.readouterr().out)

    address, characters = "s3://bucket/new.cache", ["--set", "data.text_tokens=characters"]
    try:
        code, summary = run("pack", corpus, "-o", address, "--shard-rows", "4", *characters)
        assert (code, summary["cache"], summary["shards"]) == (0, address, 3)
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        remote = Remote(address)
        assert {name: remote.read(name) for name in remote.names()} == files
        assert not list((tmp_path / "mirrors").glob("*.upload"))
        assert run("info", address) == (0, summary)
        assert run("verify", address) == (0, {"cache": address, "intact": True, "damaged": [], "unrepaired": []})
        broken = bytearray(files["00001.cache/mel.npy"])
        broken[-3] ^= 1
        server.put("bucket/new.cache/00001.cache/mel.npy", bytes(broken))
        code, result = run("verify", address)
        assert code == 1
        assert [(damage["file"], damage["utterance"]) for damage in result["damaged"]] == [("00001.cache/mel.npy", 7)]
        assert run("pack", corpus, "-o", address, "--shard-rows", "6", "--rebuild", *characters)[0] == 0
        assert run("verify", address)[1]["intact"]
        assert not [name for name in remote.names() if name.startswith("00002")]  # of the cache with more shards
    finally:
        server.kill()
