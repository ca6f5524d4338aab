"""A cache at an address: the batches of the cache that is here, whatever happens on the way, within a bound of disk."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from corpora import feed_config
from loopback import FolderServer

from myxtts.cache import mirror
from myxtts.cache.mirrored import MirroredCache
from myxtts.cache.open import open_cache, open_or_pack
from myxtts.cache.settings import PackSettings
from myxtts.cache.shards import pack_shards
from myxtts.corpus.read import open_corpus
from myxtts.data import pipeline
from myxtts.data.extract import Extract
from myxtts.data.pipeline import Feed
from myxtts.errors import CacheDamaged, CacheError, ConfigError
from myxtts.training.split import split

SHARDS, BLOCK_STEPS = 12, 2


@pytest.fixture(scope="module")
def sharded(feed_corpus, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("mirror") / "voice.cache"
    with ThreadPoolExecutor(2) as executor:
        settings = PackSettings.from_config(feed_config().data)
        pack_shards(open_corpus(feed_corpus), folder, settings, executor, shard_rows=60 // SHARDS)
    return folder


@pytest.fixture
def server(sharded, monkeypatch):
    monkeypatch.setattr(mirror, "_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(pipeline, "_BLOCK_STEPS", BLOCK_STEPS)  # an epoch has ten steps, not thousands
    server = FolderServer(sharded)
    yield server
    server.close()


MOST_BYTES = 1_000_000  # of 1.4 MB of mel


def config_for(tmp_path: Path, gb: float = 1.0, **data):
    return feed_config(mirror_dir=str(tmp_path / "mirrors"), mirror_gb=gb, shuffle_shards=2, **data)


def take(feed: Feed, start: int, count: int) -> list[dict]:
    batches = feed.batches(start)
    try:
        return [{name: np.array(part) for name, part in batch.items()} for batch in itertools.islice(batches, count)]
    finally:
        batches.close()


def assert_same(batches: list[dict], expected: list[dict]) -> None:
    assert len(batches) == len(expected)
    for one, other in zip(batches, expected, strict=True):
        for name, value in other.items():
            np.testing.assert_array_equal(one[name], value, name)


def on_disk(tmp_path: Path) -> int:
    return sum(path.stat().st_size for path in (tmp_path / "mirrors").rglob("*.npy*") if "mel" in path.name
               and "index" not in path.name)  # fmt: skip


def test_batches_are_those_of_the_cache_here_within_the_bound(sharded, server, tmp_path):
    config = config_for(tmp_path, MOST_BYTES / 1e9, batch_size=2)
    assert sum(path.stat().st_size for path in sharded.glob("*/mel.npy")) > 1.2 * MOST_BYTES
    here, there = Feed(open_cache(sharded), config), Feed(open_or_pack(server.address, config), config)
    assert isinstance(there.caches[0], MirroredCache)
    assert here.state(5) == there.state(5)
    assert_same(take(there, 0, 2 * here.steps_per_epoch), take(here, 0, 2 * here.steps_per_epoch))
    assert_same(take(there, 11, 3), take(here, 11, 3))
    assert there.caches[0].mirror.held_bytes <= MOST_BYTES
    assert on_disk(tmp_path) <= MOST_BYTES
    assert len(server.tracks()) > SHARDS  # some had to go and come again
    assert not any(name.endswith("audio.npy") for name in server.tracks())  # nobody needs it


def test_the_first_batch_comes_before_the_whole_cache(server, tmp_path):
    """Shards that the first steps do not read are held back until the first batch is there."""
    config = config_for(tmp_path)
    feed = Feed(open_or_pack(server.address, config), config)
    windows = {feed.order.window_of(step) for step in range(BLOCK_STEPS)}
    first = {f"{shard:05d}.cache/mel.npy" for window in windows for shard in feed.order.shards_of(*window)[0]}
    assert len(first) < SHARDS
    there = threading.Event()
    server.hold = lambda name: there.wait(60) if name.endswith("/mel.npy") and name not in first else None
    batches = feed.batches(0, BLOCK_STEPS)
    next(batches)
    there.set()
    batches.close()


def test_what_was_cut_off_is_resumed(sharded, server, tmp_path):
    """Every second answer ends in the middle."""
    count = itertools.count()

    def spoil(name: str, content: bytes) -> bytes:
        return content[: len(content) // 2] if name.endswith("/mel.npy") and next(count) % 2 == 0 else content

    server.spoil = spoil
    config = config_for(tmp_path)
    feed = Feed(open_or_pack(server.address, config), config)
    assert_same(take(feed, 0, 9), take(Feed(open_cache(sharded), config), 0, 9))
    assert any(start for name, start in server.asked if name.endswith("/mel.npy"))


def test_an_index_that_is_cut_off_is_no_index(server, tmp_path):
    server.spoil = lambda name, content: content[:-9] if name.endswith("index.n_frames.npy") else content
    with pytest.raises(mirror.Unreachable, match="cut off 9 bytes before its end"):
        open_or_pack(server.address, config_for(tmp_path))


def test_what_comes_damaged_is_fetched_again_and_never_read(sharded, server, tmp_path, caplog):
    spoiled = []

    def spoil(name: str, content: bytes) -> bytes:
        if name != "00004.cache/mel.npy" or len(spoiled) >= 1:
            return content
        spoiled.append(name)
        return content[:-7] + b"?" + content[-6:]

    server.spoil = spoil
    config = config_for(tmp_path)
    feed = Feed(open_or_pack(server.address, config), config)
    assert_same(take(feed, 0, 9), take(Feed(open_cache(sharded), config), 0, 9))
    assert spoiled
    assert "came damaged and is fetched again" in caplog.text


def test_a_shard_that_is_damaged_there_is_an_error(server, tmp_path):
    server.spoil = lambda name, content: content[:-7] + b"?" + content[-6:] if "4.cache/mel" in name else content
    config = config_for(tmp_path)
    with pytest.raises(CacheDamaged, match="00004.cache/mel.npy is damaged"):
        take(Feed(open_or_pack(server.address, config), config), 0, 60)


def test_a_server_that_is_away_is_waited_for(sharded, server, tmp_path, caplog):
    """It answers nothing for the first requests of tracks."""
    config, away = config_for(tmp_path), itertools.count()
    feed = Feed(open_or_pack(server.address, config), config)
    server.spoil = lambda name, content: b"" if "mel.npy" in name and next(away) < 5 else content
    assert_same(take(feed, 0, 9), take(Feed(open_cache(sharded), config), 0, 9))
    assert "trying again in" in caplog.text


def test_what_an_earlier_run_has_fetched_is_kept(server, tmp_path):
    config = config_for(tmp_path)
    take(Feed(open_or_pack(server.address, config), config), 0, 9)
    server.asked.clear()
    take(Feed(open_or_pack(server.address, config), config), 0, 9)
    assert server.asked == [("cache.json", 0)]


def test_a_bound_that_is_too_small_is_said(server, tmp_path):
    config = config_for(tmp_path, MOST_BYTES / 1e9, batch_size=56)  # one batch of all shards
    with pytest.raises(CacheError, match="needed at once, .* GB, and data.mirror_gb is"):
        take(Feed(open_or_pack(server.address, config), config), 0, 1)


def test_utterances_are_read_one_by_one(sharded, server, tmp_path):
    """For statistics, voices and validation no shard is fetched."""
    config, here = config_for(tmp_path), open_cache(sharded)
    there = open_or_pack(server.address, config)
    rows = split(here).validation[0]
    extract = Extract(there, rows)
    for n, row in enumerate(rows.tolist()):
        assert (extract.utterance_id(n), extract.text(n)) == (here.utterance_id(row), here.text(row))
        np.testing.assert_array_equal(extract.frames(n), here.frames(row))
        np.testing.assert_array_equal(extract.samples(n), here.samples(row))
        np.testing.assert_array_equal(extract.token_ids(n), here.token_ids(row))
    assert len(take(Feed(extract, config), 0, 2)) == 2
    assert there.summary()["bytes"]["mel.npy"] == sum(path.stat().st_size for path in sharded.glob("*/mel.npy"))


def test_what_cannot_be_mirrored_is_refused(server, cache, tmp_path):
    config = config_for(tmp_path, memory_cache=True)
    with pytest.raises(ConfigError, match="is mirrored, not read into memory"):
        Feed(open_or_pack(server.address, config), config)
    plain = FolderServer(cache.folder)
    with pytest.raises(CacheError, match="is a cache in one piece"):
        open_or_pack(plain.address, config)
    plain.close()
    with pytest.raises(CacheError, match="404"):
        open_or_pack(f"{server.address}/nowhere", config)
    with pytest.raises(CacheError, match="expected https://"):
        open_or_pack("ftp://somewhere/voice.cache", config)


def test_the_doctor_takes_no_offence_at_the_gate(server, tmp_path):
    from myxtts.doctor.structure import PYTHON_OPS, structure_of

    config = config_for(tmp_path)
    assert structure_of(Feed(open_or_pack(server.address, config), config).dataset()).count(PYTHON_OPS) == 0
