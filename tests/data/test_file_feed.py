"""Single files, fed as a packed corpus is: static shapes and a number known before, samples for the device."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
import tensorflow as tf
from corpora import feed_config, write_corpus, write_tone

from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.corpus.read import open_corpus
from myxtts.data.device import widen
from myxtts.data.file_feed import KINDS, FileFeed
from myxtts.data.listing import list_corpus, write_npy_files
from myxtts.data.tuples import feed_behind, tuples_of
from myxtts.doctor.structure import PYTHON_OPS, SPECTRUM_OPS, structure_of
from myxtts.monitor import start_monitor

UTTERANCES = 29


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("files") / "voice", UTTERANCES, (0.4, 2.0))


@pytest.fixture(scope="module")
def packed(corpus, tmp_path_factory) -> Cache:
    folder = tmp_path_factory.mktemp("files-cache") / "voice.cache"
    pack(open_corpus(corpus), folder, PackSettings.from_config(feed_config().data))
    return Cache(folder)


@pytest.fixture(scope="module")
def listings(corpus, packed, tmp_path_factory):
    wav = list_corpus(open_corpus(corpus), feed_config().data)
    return {"native": wav, "python": wav, "npy": write_npy_files(packed, tmp_path_factory.mktemp("npy"))}


def shape_of(batch) -> dict:
    return {name: (tuple(part.shape), part.dtype) for name, part in batch.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_has_the_planned_number_of_batches_in_the_planned_shapes(listings, packed, kind):
    feed = FileFeed(kind, listings[kind], feed_config(batch_size=4, num_buckets=3))
    batches = list(feed.batches(0, feed.steps_per_epoch))
    assert len(batches) == feed.steps_per_epoch
    planned = [shape_of(spec) for spec in feed.batch_specs()]
    assert len(planned) == 3
    assert all(shape_of(batch) in planned for batch in batches)
    known = {tuple(packed.token_ids(n).tolist()): n for n in range(len(packed))}
    met = []
    for batch in batches:
        wide = widen(batch)
        for row in range(4):
            tokens = tuple(wide["tokens"][row, : int(wide["token_lengths"][row])].numpy().tolist())
            frames = packed.frames(known[tokens]).astype(np.float32)
            mel = wide["mel"][row, : len(frames)].numpy()
            assert int(wide["frame_lengths"][row]) == len(frames)
            assert np.abs(np.exp(mel) - np.exp(frames)).max() <= 2e-3 * np.exp(frames).max()
            if batch["weight"][row] > 0:
                met.append(known[tokens])
    assert sorted(met) == list(range(UTTERANCES)), "each once; rows of weight 0 only fill up"


def test_native_sends_the_samples_that_would_be_packed(listings, packed):
    feed = FileFeed("native", listings["native"], feed_config())
    known = {tuple(packed.token_ids(n).tolist()): n for n in range(len(packed))}
    for batch in feed.batches(0, 3):
        for row in range(len(batch["tokens"])):
            n = known[tuple(batch["tokens"][row, : int(batch["token_lengths"][row])].numpy().tolist())]
            samples = batch["audio"][row].numpy().reshape(-1)
            np.testing.assert_array_equal(samples[: len(packed.samples(n))], packed.samples(n))
            assert not samples[len(packed.samples(n)) :].any()


def test_native_makes_no_spectrum_on_the_host_and_runs_no_python(listings):
    monitor = start_monitor()
    feed = FileFeed("native", listings["native"], feed_config())
    structure = structure_of(feed.dataset())
    assert structure.count(SPECTRUM_OPS) == 0
    assert structure.count(PYTHON_OPS) == 1  # the fallback, for files that the graph cannot decode
    list(feed.batches(0, feed.steps_per_epoch))
    assert monitor.counters["python_path"] == 0


def test_it_goes_on_for_ever_and_each_epoch_has_another_order(listings):
    feed = FileFeed("npy", listings["npy"], feed_config())
    batches = feed.batches()
    epochs = [[next(batches)["tokens"].numpy().tobytes() for _ in range(feed.steps_per_epoch)] for _ in range(3)]
    batches.close()
    assert epochs[0] != epochs[1] != epochs[2]


def test_a_budget_of_frames_gives_short_clips_larger_batches(listings):
    feed = FileFeed("npy", listings["npy"], feed_config(frame_budget=400, num_buckets=3))
    assert len({shape[0] for shape in feed.table.shapes}) > 1
    batches = list(feed.batches(0, feed.steps_per_epoch))
    assert {tuple(batch["mel"].shape[:2]) for batch in batches} == {shape[:2] for shape in feed.table.shapes}
    assert sum(float(tf.reduce_sum(batch["weight"])) for batch in batches) == UTTERANCES


def test_without_overlap_nothing_is_made_ahead(listings):
    feed = FileFeed("npy", listings["npy"], feed_config(optimize_cpu_gpu_overlap=False))
    assert feed.batches().__name__ == "elements"
    assert "Prefetch" not in [stage.kind for stage in structure_of(feed.dataset()).stages]


def test_resuming_is_said_to_start_the_epoch_over(listings, caplog):
    feed = FileFeed("npy", listings["npy"], feed_config())
    assert feed.resume(feed.state(7)) == 7
    assert "starts over" in caplog.text


# -- lengths from headers ----------------------------------------------------------------------------------------------


def test_lengths_are_read_from_headers_whatever_the_format(tmp_path):
    rows, true = [], []
    tones = [("a.wav", {}), ("b.flac", {}), ("c.wav", {"rate": 48000}), ("d.mp3", {"rate": 44100}), ("e.ogg", {})]
    for seed, (name, how) in enumerate(tones):
        write_tone(tmp_path / name, 0.7 + 0.1 * seed, seed, **how)
        rows.append(f"{name},Words.\n")
    (tmp_path / "manifest.csv").write_text("audio,text\n" + "".join(rows), encoding="utf-8")
    data = feed_config(trim_silence=False).data
    pack(open_corpus(tmp_path), tmp_path / "x.cache", PackSettings.from_config(data))
    true = np.asarray(Cache(tmp_path / "x.cache").columns["n_frames"])
    listed = list_corpus(open_corpus(tmp_path), data).n_frames
    assert (listed >= true).all()
    assert (listed <= true + 1).all()


def test_rows_without_a_usable_file_are_left_out_and_said(corpus, tmp_path, caplog):
    folder = Path(shutil.copytree(corpus, tmp_path / "voice"))
    (folder / "wavs" / "utt00003.wav").write_bytes(b"no audio at all")
    soundfile.write(folder / "wavs" / "utt00004.wav", np.zeros(41 * 22050, np.int16), 22050)
    monitor = start_monitor()
    listing = list_corpus(open_corpus(folder), feed_config().data)
    assert len(listing) == UTTERANCES - 2
    assert monitor.counters["rows_rejected"] == 2
    assert "utt00003, utt00004" in caplog.text


def test_only_a_clip_that_could_be_too_long_is_decoded_to_know(tmp_path, monkeypatch):
    corpus = write_corpus(tmp_path / "voice", 4, (0.5, 0.6))
    tone, rate = soundfile.read(corpus / "wavs" / "utt00002.wav")
    quiet = np.zeros(rate * 2)
    soundfile.write(corpus / "wavs" / "utt00002.wav", np.concatenate([quiet, tone, quiet]), rate)
    from myxtts.data import listing as room

    real, decoded = room.load_clip, []
    monkeypatch.setattr(
        room, "load_clip", lambda path, settings: decoded.append(Path(path).name) or real(path, settings)
    )
    listing = list_corpus(open_corpus(corpus), feed_config(max_mel_frames=100).data)
    assert decoded == ["utt00002.wav"]
    assert len(listing) == 4
    assert listing.n_frames.max() < 100, "without the silence it is short enough"


def test_a_file_that_has_grown_since_it_was_listed_is_an_error_that_names_it(corpus, tmp_path):
    folder = Path(shutil.copytree(corpus, tmp_path / "voice"))
    feed = FileFeed("native", list_corpus(open_corpus(folder), feed_config().data), feed_config())
    write_tone(folder / "wavs" / "utt00007.wav", 5.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"utt00007.wav.*has changed"):
        list(feed.batches(0, feed.steps_per_epoch))


# -- as tuples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_tuples_know_their_length_and_their_feed(listings, kind):
    feed = FileFeed(kind, listings[kind], feed_config(batch_size=4))
    tuples = tuples_of(feed)
    assert feed_behind(tuples) is feed
    assert feed_behind(tuples.take(1)) is None
    assert len(tuples) == len(list(tuples)) == feed.steps_per_epoch
    assert tuples.element_spec[1].dtype == tf.float32
