"""One flipped byte anywhere is found and named; a repair rebuilds exactly what was damaged."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from corpora import write_corpus, write_tone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_pack import CHARACTERS, files_of

from myxtts.cache.format import HEADER_BYTES, MANIFEST
from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.verify import repair, verify
from myxtts.corpus.read import open_corpus
from myxtts.errors import CacheDamaged, CacheError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("small") / "voice", 5, (0.3, 0.6))


@pytest.fixture(scope="module")
def intact(folder, tmp_path_factory):
    cache = tmp_path_factory.mktemp("intact") / "x.cache"
    pack(open_corpus(folder), cache, CHARACTERS)
    return cache


@pytest.fixture
def cache(intact, tmp_path):
    return Path(shutil.copytree(intact, tmp_path / "x.cache"))


def flip(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x10
    path.write_bytes(data)


def test_an_intact_cache_is_intact(intact):
    assert verify(intact) == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_flipped_byte_anywhere_is_found_and_mended(folder, intact, tmp_path, data):
    cache = Path(shutil.copytree(intact, tmp_path / "flip.cache", dirs_exist_ok=True))
    name = data.draw(st.sampled_from(sorted(path.name for path in intact.iterdir() if path.stat().st_size)))
    flip(cache / name, data.draw(st.integers(0, (cache / name).stat().st_size - 1)))
    damages = verify(cache)
    assert [damage.file for damage in damages] == [name]
    assert repair(cache, open_corpus(folder), CHARACTERS, damages) == []
    assert verify(cache) == []
    assert files_of(cache) == files_of(intact)


@pytest.mark.parametrize("name", ["audio.npy", "mel.npy", "tokens.npy"])
def test_the_damaged_utterance_is_named_and_only_it_is_rebuilt(folder, intact, cache, name):
    reader = Cache(intact)
    column, width = ("first_token", 4) if name == "tokens.npy" else ("first_row", 512 if name == "audio.npy" else 160)
    flip(cache / name, HEADER_BYTES + int(reader.columns[column][3]) * width + 5)
    inode = (cache / name).stat().st_ino
    (damage,) = verify(cache)
    assert (damage.file, damage.utterance, damage.id) == (name, 3, "utt00003")
    assert "utt00003" in str(damage)
    only = open_corpus(folder)
    assert repair(cache, only, CHARACTERS, [damage]) == []
    assert files_of(cache) == files_of(intact)
    assert (cache / name).stat().st_ino != inode, "a mapped file must not be edited in place"


def test_truncated_and_grown_files(folder, intact, cache):
    os.truncate(cache / "audio.npy", (cache / "audio.npy").stat().st_size - 700)
    with open(cache / "mel.npy", "ab") as file:
        file.write(b"garbage")
    with pytest.raises(CacheDamaged, match="audio.npy has .* bytes, expected"):
        Cache(cache)
    damages = verify(cache)
    assert {damage.file for damage in damages} == {"audio.npy", "mel.npy"}
    assert any(damage.id == "utt00004" for damage in damages)
    assert repair(cache, open_corpus(folder), CHARACTERS, damages) == []
    assert files_of(cache) == files_of(intact)


def test_a_missing_file_is_rebuilt(folder, intact, cache):
    (cache / "mel.npy").unlink()
    damages = verify(cache)
    assert [str(damage) for damage in damages] == ["mel.npy is missing"]
    repair(cache, open_corpus(folder), CHARACTERS, damages)
    assert files_of(cache) == files_of(intact)


def test_a_changed_source_is_not_passed_off_as_the_old_one(folder, intact, cache, tmp_path):
    changed = Path(shutil.copytree(folder, tmp_path / "changed"))
    write_tone(changed / "wavs" / "utt00002.wav", 0.5, seed=77)
    flip(cache / "audio.npy", HEADER_BYTES + int(Cache(intact).columns["first_row"][2]) * 512)
    (left,) = repair(cache, open_corpus(changed), CHARACTERS, verify(cache))
    assert left.id == "utt00002"
    assert "source has changed" in str(left)
    assert [damage.id for damage in verify(cache)] == ["utt00002"]


def test_readers_of_a_damaged_cache_are_told(cache):
    flip(cache / "index.n_frames.npy", 130)
    with pytest.raises(CacheDamaged, match="index.n_frames.npy is damaged.*myxtts verify"):
        Cache(cache)
    Cache(cache, verify=False)


def test_half_a_surrogate_in_the_manifest_is_damage(cache):
    manifest = cache / MANIFEST
    manifest.write_bytes(manifest.read_bytes().replace(b'"speaker0', b'"\\ud800', 1))
    with pytest.raises(CacheDamaged, match="checksum"):
        Cache(cache)


def test_other_formats_are_refused_with_the_command(cache):
    from myxtts.cache.manifest import dump_manifest, load_manifest

    body = load_manifest(cache)
    (cache / MANIFEST).write_bytes(dump_manifest({**body, "format": 99}))
    with pytest.raises(CacheError, match="cache format 99, this code reads 2: run 'myxtts pack --rebuild"):
        Cache(cache)
    with pytest.raises(CacheError, match="is not a cache"):
        Cache(cache.parent)


def test_the_index_of_a_million_utterances_opens_lightly(intact, tmp_path):
    """Measured in a fresh process: resident memory, not time (benchmarks/pack.py prints the time)."""
    import subprocess
    import sys

    script = f"""
import resource, sys
sys.path.insert(0, {str(Path(__file__).parents[2] / "benchmarks")!r})
from pathlib import Path
from synthetic import write_index_only
cache = Path({str(tmp_path / "million.cache")!r})
write_index_only(cache, 1_000_000)
import os
if os.fork() == 0:
    from myxtts.cache.reader import Cache
    before = int(open("/proc/self/statm").read().split()[1])
    reader = Cache(cache)
    assert len(reader) == 1_000_000 and reader.utterance_id(999_999) == "utt00999999"
    total = int(reader.columns["n_frames"].sum())
    after = int(open("/proc/self/statm").read().split()[1])
    os._exit(0 if (after - before) * 4096 < 300e6 else 1)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_spread_of_the_summary(intact):
    summary = Cache(intact).summary()
    assert summary["utterances"] == 5
    assert summary["utterance_seconds"]["max"] <= 0.65
    assert np.isclose(summary["audio_seconds"], sum(len(Cache(intact).samples(n)) for n in range(5)) / 22050, atol=1e-3)


def test_a_repair_keeps_the_token_table(folder, tmp_path):
    from myxtts.features.token_table import TokenTable

    symbols = list(TokenTable.base().symbols)
    own = TokenTable([*symbols[:5], *reversed(symbols[5:])])
    pack(open_corpus(folder), tmp_path / "own.cache", CHARACTERS, table=own)
    before = files_of(tmp_path / "own.cache")
    flip(tmp_path / "own.cache" / "index.n_tokens.npy", 140)
    repair(tmp_path / "own.cache", open_corpus(folder), CHARACTERS, verify(tmp_path / "own.cache"))
    assert files_of(tmp_path / "own.cache") == before
