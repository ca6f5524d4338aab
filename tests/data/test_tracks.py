"""A further track is one line in a table: packed, fingerprinted, verified, repaired, added to and fed like the mel."""

import shutil

import numpy as np
import pytest
from corpora import write_corpus

from myxtts.cache import format as disk
from myxtts.cache.add import add
from myxtts.cache.format import HEADER_BYTES, Track
from myxtts.cache.manifest import load_manifest
from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.cache.verify import repair, verify
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.corpus.read import open_corpus
from myxtts.data.numpy_batches import NumpyBatches
from myxtts.data.pipeline import Feed
from myxtts.errors import CacheError, CacheMismatch
from myxtts.features.audio import AudioSettings
from myxtts.features.mel import sample_rows
from myxtts.features.text import TextFrontend

PLAIN = PackSettings(AudioSettings(), TextFrontend(kind="characters"))
MORE = PackSettings(PLAIN.audio, PLAIN.text, ("audio", "mel", "energy"))
CONFIG = XTTSConfig(data=DataConfig(batch_size=4, text_tokens="characters", reference_frames=20, num_buckets=2))


def energy(samples: np.ndarray) -> np.ndarray:
    return np.sqrt(np.square(sample_rows(samples).astype(np.float32)).mean(axis=1)).astype(np.float32)


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """The line in the table."""
    monkeypatch.setitem(disk.TRACKS, "energy", Track("<f4", (), -1.0, energy, lambda: {"revision": 1}))


@pytest.fixture
def corpus(tmp_path):
    return open_corpus(write_corpus(tmp_path / "corpus", 10))


@pytest.fixture
def cache(corpus, tmp_path):
    pack(corpus, tmp_path / "x.cache", MORE)
    return tmp_path / "x.cache"


def test_it_is_packed_with_its_settings_and_any_program_can_read_it(cache):
    opened = Cache(cache)
    rows = np.load(cache / "energy.npy")
    assert (rows.dtype, rows.shape, rows[0]) == (np.float32, (len(opened.audio),), -1.0)
    for n in range(len(opened)):
        np.testing.assert_array_equal(opened.track("energy", n), energy(opened.samples(n)))
    assert opened.body["settings"]["energy"] == {"revision": 1}
    assert set(opened.body["fingerprints"]) == {"audio", "mel", "energy", "tokens"}
    assert verify(cache) == []


def test_another_setting_of_it_is_never_used_silently(corpus, cache, monkeypatch):
    monkeypatch.setitem(disk.TRACKS, "energy", Track("<f4", (), -1.0, energy, lambda: {"revision": 2}))
    with pytest.raises(CacheMismatch, match="energy revision 1, not 2"):
        pack(corpus, cache, MORE)
    pack(corpus, cache, PLAIN)  # who does not ask for it need not care


def test_damage_in_it_is_named_and_repaired(corpus, cache):
    whole = (cache / "energy.npy").read_bytes()
    damaged = bytearray(whole)
    damaged[HEADER_BYTES + 40] ^= 8
    (cache / "energy.npy").write_bytes(damaged)
    damages = verify(cache)
    assert [str(damage) for damage in damages] == ["energy.npy: utterance utt00000 is damaged"]
    assert repair(cache, corpus, MORE, damages) == []
    assert (cache / "energy.npy").read_bytes() == whole


def test_a_cache_without_it_stays_as_good_as_it_was(corpus, tmp_path):
    old = tmp_path / "old.cache"
    pack(corpus, old, PLAIN)
    assert verify(old) == []
    assert next(iter(Feed(Cache(old), CONFIG).dataset(0, 1)))["mel"].shape[0] == 4
    with pytest.raises(CacheError, match="has no energy.npy, it holds audio, mel only"):
        Cache(old).track("energy", 0)
    with pytest.raises(CacheMismatch, match="holds audio, mel only, and energy is needed.*pack --rebuild"):
        Feed(Cache(old), CONFIG, tracks=["energy"])
    with pytest.raises(CacheMismatch, match=r"\(energy missing\)"):
        pack(corpus, old, MORE)
    before = load_manifest(old)["utterances"]
    add(open_corpus(write_corpus(tmp_path / "further", 4)), old)
    assert load_manifest(old)["utterances"] == before + 4
    assert verify(old) == []
    assert not (old / "energy.npy").exists()


def test_what_is_added_has_it_too(cache, tmp_path):
    copy = tmp_path / "copy.cache"
    shutil.copytree(cache, copy)
    add(open_corpus(write_corpus(tmp_path / "further", 4)), copy)
    opened = Cache(copy)
    np.testing.assert_array_equal(opened.track("energy", 12), energy(opened.samples(12)))
    assert verify(copy) == []


def test_batches_hold_it_padded_and_with_a_static_shape(cache):
    feed = Feed(Cache(cache), CONFIG, tracks=["energy"])
    assert all(spec["energy"].shape == spec["mel"].shape[:2] for spec in feed.batch_specs())
    batches = feed.dataset(0, 6).as_numpy_iterator()
    for batch, plain in zip(batches, NumpyBatches(feed, 0, 6), strict=True):
        np.testing.assert_array_equal(batch["energy"], plain["energy"])
        for row, (utterance, frames) in enumerate(zip(batch["utterances"], batch["frame_lengths"], strict=True)):
            np.testing.assert_array_equal(batch["energy"][row, :frames], feed.caches[0].track("energy", utterance))
            assert (batch["energy"][row, frames:] == -1.0).all()
