"""A cache in shards is the cache that packing in one piece makes, whoever packs it and however often he is killed."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from corpora import feed_config, write_corpus, write_tone

from myxtts.cache.add import add
from myxtts.cache.format import MANIFEST
from myxtts.cache.open import open_cache
from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.cache.shards import pack_shards
from myxtts.cache.verify import repair, verify
from myxtts.cli import main
from myxtts.corpus.read import open_corpus
from myxtts.errors import CacheDamaged, CacheError, CacheMismatch, NothingPacked
from myxtts.features.audio import AudioSettings
from myxtts.features.text import TextFrontend

CHARACTERS = PackSettings(AudioSettings(), TextFrontend(kind="characters"))


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def in_shards(corpus: Path, cache: Path, threads: int = 2, shard_rows: int = 7, **options) -> Path:
    with ThreadPoolExecutor(threads) as executor:
        pack_shards(open_corpus(corpus), cache, CHARACTERS, executor, shard_rows=shard_rows, **options)
    return cache


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Two shards meet new letters, the second in another order; one row is bad, and so is a whole shard of them."""
    folder = write_corpus(tmp_path_factory.mktemp("shards") / "voice", 40)
    lines = (folder / "metadata.csv").read_text().splitlines()
    for row, text in ((12, "犬 dog"), (30, "猫 犬 cat"), (35, "鳥 犬 bird"), (3, "")):
        name, *_, speaker, language = lines[row].split("|")
        lines[row] = f"{name}|{text}|{text}|{speaker}|{language}"
    for row in range(21, 28):
        (folder / "wavs" / f"utt{row:05d}.wav").write_bytes(b"no sound")
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def whole(corpus, tmp_path_factory) -> Path:
    cache = tmp_path_factory.mktemp("whole") / "voice.cache"
    pack(open_corpus(corpus), cache, CHARACTERS)
    return cache


@pytest.fixture(scope="module")
def sharded(corpus, tmp_path_factory) -> Path:
    return in_shards(corpus, tmp_path_factory.mktemp("sharded") / "voice.cache")


def test_it_holds_what_one_piece_holds(whole, sharded):
    one, many = open_cache(whole), open_cache(sharded)
    assert len(one) == len(many) == 32
    assert (one.speakers, one.languages, one.body["token_table"]) == (
        many.speakers,
        many.languages,
        many.body["token_table"],
    )
    assert one.body["rejected"] == many.body["rejected"] == {"empty_text": 1, "undecodable": 7}
    assert [row["id"] for row in one.rejected()] == sorted(row["id"] for row in many.rejected())
    assert one.body["corpora"] == many.body["corpora"]
    for name in one.columns:
        if not name.startswith("first_") and not name.endswith("_end"):
            np.testing.assert_array_equal(one.columns[name], many.columns[name], name)
    for n in range(len(one)):
        assert (one.utterance_id(n), one.text(n)) == (many.utterance_id(n), many.text(n))
        np.testing.assert_array_equal(one.samples(n), many.samples(n))
        np.testing.assert_array_equal(one.frames(n), many.frames(n))
        np.testing.assert_array_equal(one.token_ids(n), many.token_ids(n))
    assert sum(map(len, many.token_parts())) == len(one.tokens)


def test_the_bytes_do_not_depend_on_who_packs(corpus, sharded, tmp_path):
    assert tree(in_shards(corpus, tmp_path / "one.cache", threads=1, ahead=1)) == tree(sharded)
    assert tree(in_shards(corpus, tmp_path / "many.cache", threads=6, ahead=12)) == tree(sharded)


def test_each_shard_is_a_cache_and_all_number_their_tokens_alike(sharded):
    shards = [Cache(path) for path in sorted(sharded.glob("*.cache"))]
    assert len(shards) == 5  # of six: one has no utterance
    assert (sharded / "00003.rejected.jsonl").is_file()
    assert all(open_cache(sharded).table.extends(shard.table) for shard in shards)
    with pytest.raises(CacheError, match="is a cache in shards"):
        Cache(sharded)


def test_finished_shards_are_kept(corpus, sharded, tmp_path):
    """What a run leaves that is killed between any two shards, and in the middle of one."""
    cache = tmp_path / "voice.cache"
    in_shards(corpus, cache)
    building = tmp_path / "voice.cache.building"
    cache.rename(building)
    (building / MANIFEST).unlink()
    kept = {path.name: path.stat().st_mtime_ns for path in building.glob("0000[01].cache")}
    for name in ("00002", "00005"):
        (building / f"{name}.cache").rename(building / f"{name}.cache.building")
    in_shards(corpus, cache)
    assert tree(cache) == tree(sharded)
    assert {name: (cache / name).stat().st_mtime_ns for name in kept} == kept
    assert not building.exists()


def test_a_finished_cache_is_left_alone_and_a_changed_corpus_is_said(corpus, sharded, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in sharded.rglob("*")}
    in_shards(corpus, sharded)
    assert {path: path.stat().st_mtime_ns for path in sharded.rglob("*")} == before
    other = write_corpus(tmp_path / "voice", 9)
    with pytest.raises(CacheMismatch, match="has changed since"):
        in_shards(other, sharded)


def test_packing_again_replaces_only_what_has_changed(corpus, tmp_path):
    folder = write_corpus(tmp_path / "voice", 20)
    cache = in_shards(folder, tmp_path / "voice.cache")
    write_tone(folder / "wavs" / "utt00008.wav", 1.0, seed=99)
    with pytest.raises(CacheMismatch, match="pack --rebuild"):
        in_shards(folder, cache)
    in_shards(folder, cache, rebuild=True)
    assert tree(cache) == tree(in_shards(folder, tmp_path / "fresh.cache"))


def test_damage_is_named_and_mended(corpus, sharded, tmp_path):
    cache = in_shards(corpus, tmp_path / "voice.cache")
    assert verify(cache) == []
    mel = cache / "00002.cache" / "mel.npy"
    mel.write_bytes(mel.read_bytes()[:-40] + bytes(40))
    tokens = cache / "00004.cache" / "index.n_tokens.npy"
    tokens.write_bytes(tokens.read_bytes()[:-1] + b"\7")
    (cache / "00005.cache" / MANIFEST).unlink()
    damages = verify(cache)
    assert [(damage.file, damage.id) for damage in damages] == [
        ("00002.cache/mel.npy", "utt00020"),
        ("00004.cache/index.n_tokens.npy", None),
        ("00005.cache/cache.json", None),
    ]
    assert open_cache(sharded).utterance_id(damages[0].utterance) == "utt00020"
    assert repair(cache, open_corpus(corpus), CHARACTERS, damages) == []
    assert verify(cache) == []
    assert open_cache(cache).id == open_cache(sharded).id


def test_a_lost_list_is_made_anew(corpus, sharded, tmp_path):
    cache = in_shards(corpus, tmp_path / "voice.cache")
    (cache / MANIFEST).write_bytes(b"{}")
    with pytest.raises(CacheDamaged):
        open_cache(cache)
    assert repair(cache, open_corpus(corpus), CHARACTERS, verify(cache)) == []
    assert tree(cache) == tree(sharded)


def test_a_shard_of_another_cache_is_not_taken(sharded, tmp_path):
    import shutil

    shutil.copytree(sharded, tmp_path / "mixed.cache")
    shutil.rmtree(tmp_path / "mixed.cache" / "00001.cache")
    shutil.copytree(sharded / "00000.cache", tmp_path / "mixed.cache" / "00001.cache")
    with pytest.raises(CacheDamaged, match="is not the shard that"):
        open_cache(tmp_path / "mixed.cache")
    damages = verify(tmp_path / "mixed.cache")
    assert [str(damage) for damage in damages] == ["00001.cache/cache.json is of another cache"]


def test_a_corpus_is_added_as_a_shard(corpus, tmp_path):
    cache = in_shards(corpus, tmp_path / "voice.cache")
    before = tree(cache)
    second = write_corpus(tmp_path / "second", 5, (0.5, 0.9))
    lines = (second / "metadata.csv").read_text().replace("|speaker1|", "|bob|")
    (second / "metadata.csv").write_text(lines + "utt00003|A 鯨 passes.|A 鯨 passes.|bob|en-us\n")
    add(open_corpus(second), cache)
    grown = open_cache(cache)
    assert len(grown) == 37
    assert grown.speakers[-1] == "bob"
    assert grown.utterance_id(32) == "second/utt00000"  # the id was taken
    assert {name: content for name, content in tree(cache).items() if name in before and name != MANIFEST} == {
        name: content for name, content in before.items() if name != MANIFEST
    }
    after = tree(cache)
    add(open_corpus(second), cache)
    assert tree(cache) == after
    assert verify(cache) == []


def test_a_corpus_of_bad_rows_alone_is_refused(corpus, tmp_path):
    folder = write_corpus(tmp_path / "voice", 4)
    for path in folder.glob("wavs/*"):
        path.write_bytes(b"no sound")
    with pytest.raises(NothingPacked, match="all 4 rows were rejected .4 undecodable."):
        in_shards(folder, tmp_path / "voice.cache")


def test_a_feed_gives_the_same_batches(whole, sharded):
    from myxtts.data.numpy_batches import NumpyBatches
    from myxtts.data.plan import Plan

    one, many = (NumpyBatches(Plan(open_cache(path), feed_config()), 0, 9) for path in (whole, sharded))
    for first, second in zip(one, many, strict=True):
        for name, value in first.items():
            np.testing.assert_array_equal(value, second[name], name)


# ---- Dask ------------------------------------------------------------------------------------------------------------


def run_pack(corpus: Path, cache: Path, dask: str, **options) -> subprocess.Popen:
    words = ["pack", corpus, "-o", cache, "--dask", dask, "--shard-rows", "7", "--set", "data.text_tokens=characters"]
    command = [sys.executable, "-m", "myxtts", *map(str, words)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)


def test_a_dask_address_that_is_none_is_refused(corpus, tmp_path, capsys):
    assert main(["pack", str(corpus), "-o", str(tmp_path / "v.cache"), "--dask", "everywhere"]) == 2
    assert "expected local:N or the address of a scheduler" in capsys.readouterr().err
    assert main(["pack", str(corpus), "-o", str(tmp_path / "v.cache"), "--shard-rows", "9"]) == 2
    assert "give --dask ADDRESS" in capsys.readouterr().err


@pytest.mark.slow
def test_killed_workers_cost_nothing(corpus, sharded, tmp_path):
    """Each of the two worker processes is killed once; Dask starts others, which go on where those were."""
    packing = run_pack(corpus, tmp_path / "voice.cache", "local:2")
    building = tmp_path / "voice.cache.building"
    killed = set()
    while packing.poll() is None and len(killed) < 2:
        for worker in worker_processes(packing.pid) - killed:
            if building.exists() and any(building.iterdir()):
                os.kill(worker, signal.SIGKILL)
                killed.add(worker)
        time.sleep(0.01)
    _, said = packing.communicate(timeout=300)
    assert packing.returncode == 0, said
    assert tree(tmp_path / "voice.cache") == tree(sharded)


def worker_processes(parent: int) -> set[int]:
    import psutil

    try:
        children = psutil.Process(parent).children(recursive=True)
        return {child.pid for child in children if "dask" in child.name() or "spawn_main" in " ".join(child.cmdline())}
    except psutil.Error:
        return set()


@pytest.mark.slow
def test_a_lost_scheduler_costs_what_was_unfinished(corpus, sharded, tmp_path):
    """The scheduler dies under the run, which says so; the next run, on another one, keeps what is finished."""

    scheduler_file = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
            "--dashboard-address", ":0", "--scheduler-file", scheduler_file]  # fmt: skip
    scheduler = subprocess.Popen(dask, stderr=subprocess.DEVNULL)
    while not scheduler_file.exists():
        assert scheduler.poll() is None
        time.sleep(0.05)
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", scheduler_file, "--nthreads", "1",
         "--no-nanny", "--dashboard-address", ":0"], stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        import json

        packing = run_pack(corpus, tmp_path / "voice.cache", json.loads(scheduler_file.read_text())["address"])
        building = tmp_path / "voice.cache.building"
        while packing.poll() is None and not (building / "00000.cache").exists():
            time.sleep(0.01)
        scheduler.kill()
        _, said = packing.communicate(timeout=300)
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()
    if packing.returncode:  # it may have been done by then
        assert "is gone" in said
        assert "finished shards are kept" in said
    again = run_pack(corpus, tmp_path / "voice.cache", "local:1")
    _, said = again.communicate(timeout=300)
    assert again.returncode == 0, said
    assert tree(tmp_path / "voice.cache") == tree(sharded)
