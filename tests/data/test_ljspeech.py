"""The façade: a corpus in, batches out, a cache that is made, checked, mended and rebuilt by itself where allowed."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from corpora import feed_config, sentence, write_corpus, write_tone

from myxtts.cache.reader import Cache
from myxtts.config.config import XTTSConfig
from myxtts.data.ljspeech import LJSpeechDataset
from myxtts.errors import CacheError, CacheMismatch, CorpusError
from myxtts.features.audio import AudioSettings, load_clip
from myxtts.features.mel import LOG_FLOOR, log_mel
from myxtts.monitor import start_monitor

UTTERANCES = 21


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Path:
    """A corpus with its cache in the default place; copy it, never change it."""
    folder = write_corpus(tmp_path_factory.mktemp("lj") / "voice", UTTERANCES, (0.3, 1.2))
    LJSpeechDataset(folder, feed_config()).precompute_mels(num_workers=2)
    return folder


@pytest.fixture
def folder(packed, tmp_path) -> Path:
    return Path(shutil.copytree(packed, tmp_path / "voice"))


def cache_of(folder) -> Cache:
    return Cache(folder / "cached_features" / f"{folder.name}.cache")


def epoch(dataset):
    """[(tokens, mel)] of one iteration, in order, without padding."""
    rows = []
    for tokens, mel, text_len, mel_len in dataset.as_numpy_iterator():
        assert (tokens.dtype, mel.dtype, text_len.dtype, mel_len.dtype) == (np.int32, np.float32, np.int32, np.int32)
        for row in range(len(tokens)):
            assert (tokens[row, text_len[row] :] == 0).all()
            np.testing.assert_allclose(mel[row, mel_len[row] :], np.float32(LOG_FLOOR), rtol=1e-3)
            rows.append((tuple(tokens[row, : text_len[row]].tolist()), mel[row, : mel_len[row]]))
    return rows


def order(dataset):
    return [tokens for tokens, _ in epoch(dataset)]


def assert_holds_the_cache(rows, cache):
    held = dict(rows)
    assert len(rows) == len(held) == len(cache)
    for n in range(len(cache)):
        made = np.exp(held[tuple(cache.token_ids(n).tolist())])
        expected = np.exp(log_mel(cache.samples(n)))
        assert made.shape == expected.shape
        assert (np.abs(made - expected) <= 1e-4 * expected.max() + 2**-6 * expected).all()


# -- datasets ----------------------------------------------------------------------------------------------------------


def test_an_epoch_from_the_cache_holds_every_utterance_once_and_no_filling(packed):
    monitor = start_monitor()
    dataset = LJSpeechDataset(packed, feed_config()).create_tf_dataset()
    assert monitor.counters["loader.mapped"] == 1
    assert [spec.shape.as_list() for spec in dataset.element_spec] == [[None] * 2, [None, None, 80], [None], [None]]
    optimisation = dataset.options().experimental_optimization
    assert optimisation.apply_default_optimizations is False, "it would copy the cache into memory"
    assert_holds_the_cache(epoch(dataset), cache_of(packed))


def test_each_iteration_is_the_next_epoch(packed):
    facade = LJSpeechDataset(packed, feed_config())
    dataset = facade.create_tf_dataset()
    epochs = [order(dataset) for _ in range(3)]
    assert all(sorted(each) == sorted(epochs[0]) for each in epochs)
    assert len({tuple(each) for each in epochs}) == 3
    again = facade.create_tf_dataset()
    assert order(again.repeat(2)) == epochs[0] + epochs[1]
    left_early = facade.create_tf_dataset()
    next(iter(left_early))
    assert order(left_early) == epochs[1]


@pytest.mark.parametrize(("native", "loader"), [(True, "native"), (False, "python")])
def test_without_cache_files_the_audio_is_read(packed, native, loader):
    monitor = start_monitor()
    facade = LJSpeechDataset(packed, feed_config(use_tf_native_loading=native).data)
    dataset = facade.create_tf_dataset(use_cache_files=False)
    first = epoch(dataset)
    assert_holds_the_cache(first, cache_of(packed))
    assert order(dataset) != [tokens for tokens, _ in first]
    assert monitor.counters[f"loader.{loader}"] == 1
    assert monitor.counters["loader.mapped"] == 0
    assert monitor.counters["python_path"] == (0 if native else 2 * UTTERANCES)
    assert facade.get_performance_report()["dataset"]["loader"] == loader


def test_arguments_go_before_the_config_and_leave_it_alone(packed):
    facade = LJSpeechDataset(packed, feed_config())
    dataset = facade.create_tf_dataset(batch_size=3, memory_cache=True, num_parallel_calls=1)
    assert max(len(tokens) for tokens, *_ in dataset.as_numpy_iterator()) == 3
    assert dataset.options().threading.private_threadpool_size == 1
    dataset = facade.create_tf_dataset(batch_size=5, use_cache_files=False, memory_cache=True, num_parallel_calls=3)
    assert "CacheDataset" in dataset.__debug_string__()
    assert dataset.options().threading.private_threadpool_size == 3
    assert len(next(iter(dataset))[0]) == 5
    assert facade.config == feed_config()


def test_memory_cache_needs_no_files_after_the_first_epoch(folder):
    facade = LJSpeechDataset(folder, feed_config())
    dataset = facade.create_tf_dataset(use_cache_files=False, memory_cache=True)
    first = order(dataset)
    shutil.rmtree(folder / "wavs")
    assert sorted(order(dataset)) == sorted(first)


@pytest.mark.parametrize("mode", ["on_the_fly", "auto"])
def test_without_packed_mel_it_is_computed(folder, mode):
    shutil.rmtree(folder / "cached_features")
    facade = LJSpeechDataset(folder, feed_config(preprocessing_mode="on_the_fly"))
    facade.precompute_tokens()
    cache = cache_of(folder)
    assert cache.mel is None
    facade = LJSpeechDataset(folder, feed_config(preprocessing_mode=mode))
    dataset = facade.create_tf_dataset()
    assert facade.get_performance_report()["dataset"]["payload"] == ["audio"]
    assert_holds_the_cache(epoch(dataset), cache)
    assert cache_of(folder).id == cache.id


def test_another_layout_is_packed_beside_its_manifest(tmp_path, caplog):
    caplog.set_level("INFO")
    rows = []
    for n in range(5):
        write_tone(tmp_path / "clips" / f"{n}.flac", 0.5 + 0.1 * n, n, 44100)
        rows.append({"audio": f"clips/{n}.flac", "text": sentence(n), "id": str(n)})
    manifest = tmp_path / "mine.jsonl"
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    facade = LJSpeechDataset(str(manifest), feed_config())
    assert len(facade) == 5
    assert_holds_the_cache(epoch(facade.create_tf_dataset()), Cache(tmp_path / "cached_features" / "mine.cache"))
    assert f"packing {tmp_path}" in caplog.text


def test_the_errors_of_the_rooms_reach_the_user(tmp_path):
    with pytest.raises(CorpusError, match="there is no corpus"):
        LJSpeechDataset(tmp_path / "nowhere")
    corpus = write_corpus(tmp_path / "voice", 2)
    with pytest.raises(CacheError, match="is not a cache"):
        LJSpeechDataset(corpus, feed_config()).verify_and_fix_cache()


# -- the cache ---------------------------------------------------------------------------------------------------------


def test_precompute_keeps_a_cache_that_fits_and_overwrites_on_request(folder, caplog):
    facade = LJSpeechDataset(folder, feed_config())
    made = (folder / "cached_features" / "voice.cache" / "cache.json").stat().st_ino
    for precompute in (facade.precompute_mels, facade.precompute_tokens):
        summary = precompute(num_workers=1)
        assert (summary["utterances"], summary["mode"]) == (UTTERANCES, "precompute")
        assert (folder / "cached_features" / "voice.cache" / "cache.json").stat().st_ino == made
    (folder / "metadata.csv").write_text("utt00000|Only one.\n", encoding="utf-8")
    assert facade.precompute_mels()["utterances"] == UTTERANCES
    assert f"'myxtts pack --rebuild {folder} -o {facade.cache_path}' packs them" in caplog.text
    assert facade.precompute_tokens(overwrite=True)["utterances"] == 1
    assert len(facade) == 1


@pytest.mark.parametrize("which", ["precompute_mels", "precompute_tokens"])
def test_packing_shows_a_progress_bar(folder, which, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    shutil.rmtree(folder / "cached_features")
    facade = LJSpeechDataset(folder, feed_config())
    getattr(facade, which)(num_workers=2)
    shown = capsys.readouterr().err
    assert "packing:" in shown
    assert f"/{UTTERANCES} [" in shown
    getattr(facade, which)()
    assert "packing" not in capsys.readouterr().err, "what is there need not be packed"


def test_precompute_mels_makes_mels_in_any_mode(folder):
    shutil.rmtree(folder / "cached_features")
    facade = LJSpeechDataset(folder, feed_config(preprocessing_mode="on_the_fly"))
    assert facade.precompute_tokens()["mode"] == "audio"
    assert facade.precompute_mels()["mode"] == "precompute"
    assert facade.precompute_tokens()["mode"] == "precompute"


def test_a_cache_of_other_settings_is_packed_again(folder, caplog):
    """Which flag allows what is tested in cache/test_open.py, through this door too."""
    before = cache_of(folder)
    dataset = LJSpeechDataset(folder, feed_config(trim_db=20.0, text_blank=True)).create_tf_dataset()
    assert "data.trim_db is 20.0 (Python), the cache has 45.0" in caplog.text
    after = cache_of(folder)
    assert after.id != before.id
    assert_holds_the_cache(epoch(dataset), after)


def test_a_cache_without_mel_is_rebuilt_when_mel_is_wanted(folder):
    shutil.rmtree(folder / "cached_features")
    LJSpeechDataset(folder, feed_config(preprocessing_mode="on_the_fly")).precompute_tokens()
    wanted = {"preprocessing_mode": "precompute"}
    with pytest.raises(CacheMismatch, match="the cache has audio only"):
        LJSpeechDataset(folder, feed_config(**wanted, auto_rebuild_mel_cache=False)).create_tf_dataset()
    LJSpeechDataset(folder, feed_config(**wanted)).create_tf_dataset()
    assert cache_of(folder).mode == "precompute"


@pytest.mark.parametrize("file", ["audio.npy", "mel.npy", "tokens.npy"])
def test_a_flipped_byte_is_named_and_mended(folder, file):
    facade = LJSpeechDataset(folder, feed_config())
    assert facade.verify_and_fix_cache() == {
        "cache": str(folder / "cached_features" / "voice.cache"), "utterances": UTTERANCES, "intact": True,
        "damaged": 0, "repaired": 0, "unrepaired": 0, "damaged_utterances": [], "unrepaired_utterances": [],
        "findings": [],
    }  # fmt: skip
    path = folder / "cached_features" / "voice.cache" / file
    data = bytearray(path.read_bytes())
    data[-1] ^= 0x10
    path.write_bytes(data)
    last = f"utt{UTTERANCES - 1:05d}"
    only_looked = facade.verify_and_fix_cache(fix=False)
    assert (only_looked["intact"], only_looked["damaged"], only_looked["repaired"]) == (False, 1, 0)
    assert only_looked["damaged_utterances"] == only_looked["unrepaired_utterances"] == [last]
    assert file in only_looked["findings"][0]
    mended = facade.verify_and_fix_cache()
    assert (mended["intact"], mended["damaged"], mended["repaired"], mended["unrepaired"]) == (True, 1, 1, 0)
    assert mended["damaged_utterances"] == [last]
    assert facade.verify_and_fix_cache()["damaged"] == 0


def test_what_is_mended_is_read_as_it_was_packed(tmp_path):
    """Though the settings that it was packed with are not given again."""
    folder = write_corpus(tmp_path / "voice", 4)
    rows = (folder / "metadata.csv").read_text(encoding="utf-8").splitlines()
    (folder / "metadata.csv").write_text("\n".join("|".join(row.split("|")[:3]) for row in rows), encoding="utf-8")
    LJSpeechDataset(folder, feed_config(language="de", text_tokens="phonemes")).precompute_mels()
    path = folder / "cached_features" / "voice.cache" / "tokens.npy"
    data = bytearray(path.read_bytes())
    data[-4] ^= 1
    path.write_bytes(data)
    facade = LJSpeechDataset(folder)
    assert {row.language for row in facade.corpus.rows()} == {"de"}
    assert facade.verify_and_fix_cache()["repaired"] == 1


def test_what_cannot_be_mended_is_named(folder):
    path = folder / "cached_features" / "voice.cache" / "audio.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 0x10
    path.write_bytes(data)
    (folder / "wavs" / f"utt{UTTERANCES - 1:05d}.wav").unlink()
    result = LJSpeechDataset(folder, feed_config()).verify_and_fix_cache()
    assert (result["intact"], result["unrepaired"]) == (False, 1)
    assert result["unrepaired_utterances"] == [f"utt{UTTERANCES - 1:05d}"]


def test_cache_verification_decides_whether_a_damaged_index_is_noticed(folder):
    path = folder / "cached_features" / "voice.cache" / "index.xxh3_mel.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CacheError, match="index.xxh3_mel.npy is damaged"):
        LJSpeechDataset(folder, feed_config()).create_tf_dataset()
    LJSpeechDataset(folder, feed_config(cache_verification=False)).create_tf_dataset()


# -- the rest ----------------------------------------------------------------------------------------------------------


def test_the_audio_processor_does_what_the_packer_does(packed):
    processor = LJSpeechDataset(packed, feed_config()).audio_processor
    path = packed / "wavs" / "utt00003.wav"
    audio = processor.load_audio(path)
    assert audio.dtype == np.float32
    np.testing.assert_array_equal(audio * 32768, load_clip(path, AudioSettings()))
    np.testing.assert_array_equal(processor.wav_to_mel(audio).astype(np.float16), cache_of(packed).frames(3))


def test_length_and_report_before_and_after_packing(packed, tmp_path):
    corpus = write_corpus(tmp_path / "new", 3)
    fresh = LJSpeechDataset(corpus, feed_config())
    assert len(fresh) == 3
    assert fresh.get_performance_report()["cache"] is None
    facade = LJSpeechDataset(packed, feed_config())
    assert len(facade) == UTTERANCES
    facade.create_tf_dataset()
    report = facade.get_performance_report()
    assert report["dataset"]["loader"] == "mapped"
    assert report["cache"]["utterances"] == UTTERANCES
    assert report["monitor"]["counters"]["loader.mapped"] >= 1
    json.dumps(report)


def test_the_default_config_is_used_without_one(tmp_path):
    corpus = write_corpus(tmp_path / "voice", 3)
    facade = LJSpeechDataset(corpus)
    assert facade.config == XTTSConfig()
    assert isinstance(facade.create_tf_dataset(batch_size=2), tf.data.Dataset)
