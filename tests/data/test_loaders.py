"""Every loader gives what the cache holds, whatever the format of the file; the slow way is loud and counted."""

import csv
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
import tensorflow as tf
from corpora import feed_config, sentence
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.config.config import DataConfig
from myxtts.corpus.read import open_corpus
from myxtts.data.file_feed import FileFeed
from myxtts.data.listing import list_corpus, list_sources, write_npy_files
from myxtts.data.tf_native_loader import TFNativeDataLoader
from myxtts.data.tuples import tuples_of
from myxtts.errors import ConfigError, CorpusError
from myxtts.features.audio import AudioSettings, load_clip
from myxtts.features.mel import LOG_FLOOR, log_mel
from myxtts.monitor import start_monitor

# file, how it is written, why the graph cannot decode it ("" if it can)
FORMATS = {
    "wav16.wav": ({}, ""),
    "stereo.wav": ({"channels": 2}, ""),
    "trailing.wav": ({}, ""),
    "wav24.wav": ({"subtype": "PCM_24"}, "encoding"),
    "float.wav": ({"subtype": "FLOAT"}, "encoding"),
    "rate48.wav": ({"rate": 48000}, "sample_rate"),
    "four.wav": ({"channels": 4}, "channels"),
    "list.wav": ({}, "chunks"),
    "streamed.wav": ({}, "length"),
    "clip.flac": ({}, "container"),
    "clip.mp3": ({"rate": 44100}, "container"),
}


def speech_like(seconds, rate=22050, channels=1, seed=0):
    """Noise between two stretches of near-silence."""
    rng = np.random.default_rng(seed)
    audio = rng.standard_normal((int(seconds * rate), channels)) * 0.1
    audio[: rate // 5] *= 1e-4
    audio[-rate // 4 :] *= 1e-4
    return audio


def write(path, seed=0, rate=22050, channels=1, subtype=None):
    soundfile.write(path, speech_like(1.0 + 0.1 * seed, rate, channels, seed), rate, subtype=subtype)
    raw = path.read_bytes()
    extra = b"LIST" + struct.pack("<I", 4) + b"INFO"
    if path.name == "list.wav":
        path.write_bytes(raw[:36] + extra + raw[36:])
    elif path.name == "trailing.wav":
        path.write_bytes(raw + extra + b"xyz")
    elif path.name == "streamed.wav":  # written to a pipe: the header does not know its length
        data = bytearray(path.read_bytes())
        data[4:8] = data[40:44] = b"\xff\xff\xff\xff"
        path.write_bytes(data)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> Path:
    """A corpus with a clip in every format."""
    folder = tmp_path_factory.mktemp("mixed")
    rows = []
    for seed, (name, (how, _)) in enumerate(FORMATS.items()):
        write(folder / name, seed, **how)
        rows.append({"audio": name, "text": sentence(seed), "id": name})
    with open(folder / "manifest.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, ["audio", "text", "id"])
        table.writeheader()
        table.writerows(rows)
    return folder


@pytest.fixture(scope="module")
def mixed_cache(mixed, tmp_path_factory) -> Cache:
    folder = tmp_path_factory.mktemp("mixed-cache") / "mixed.cache"
    pack(open_corpus(mixed), folder, PackSettings.from_config(feed_config().data))
    return Cache(folder)


@pytest.fixture
def monitor():
    return start_monitor()


@pytest.fixture(scope="module")
def load():
    """One trace for all tests: `tf.function` of the native loader."""
    return tf.function(
        TFNativeDataLoader(feed_config()).load_and_process_audio, input_signature=[tf.TensorSpec([], tf.string)]
    )


def assert_same_mel(made, expected):
    """To 1e-4 of the peak magnitude, beside what float16 rounds in a packed mel."""
    made, expected = np.exp(np.asarray(made, np.float32)), np.exp(expected.astype(np.float32))
    assert made.shape == expected.shape
    assert (np.abs(made - expected) <= 1e-4 * expected.max() + 2**-6 * expected).all()


# -- one file ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_native_audio_and_mel_are_those_of_the_cache(mixed, mixed_cache, load, monitor, name):
    utterance = list(FORMATS).index(name)
    audio, mel = load(str(mixed / name))
    assert (audio.dtype, mel.dtype) == (tf.float32, tf.float32)
    np.testing.assert_array_equal(audio * 32768, mixed_cache.samples(utterance))
    assert_same_mel(mel, mixed_cache.frames(utterance))
    exact = np.exp(log_mel(mixed_cache.samples(utterance)))
    assert np.abs(np.exp(mel) - exact).max() <= 1e-4 * exact.max()
    reason = FORMATS[name][1]
    assert monitor.counters == ({f"python_path.{reason}": 1, "python_path": 1} if reason else {})


def test_the_python_path_warns_once_and_counts_each_file(mixed, load, monitor, caplog):
    for name in ("wav24.wav", "rate48.wav", "wav16.wav", "clip.flac", "wav24.wav"):
        load(str(mixed / name))
    (record,) = [record for record in caplog.records if "decoded in Python" in record.message]
    assert record.levelname == "WARNING"
    assert str(mixed / "wav24.wav") in record.message
    assert "encoding" in record.message
    assert monitor.counters["python_path"] == 4
    assert monitor.counters["python_path.sample_rate"] == 1


def test_eagerly_from_a_path_with_a_length_limit(mixed, mixed_cache, monitor):
    loader = TFNativeDataLoader(feed_config().data)
    for name in ("wav16.wav", "wav24.wav"):
        expected = mixed_cache.samples(list(FORMATS).index(name))[:5000]
        audio, mel = loader.load_and_process_audio(mixed / name, max_length=5000)
        np.testing.assert_array_equal(audio * 32768, expected)
        assert_same_mel(mel, log_mel(expected))
    audio, mel = loader.load_and_process_audio(mixed / "wav16.wav", max_length=10**9)
    assert (len(audio), len(mel)) == (len(mixed_cache.samples(0)), mixed_cache.columns["n_frames"][0])


def test_in_a_dataset_map(mixed, mixed_cache):
    names = ["wav16.wav", "clip.flac", "stereo.wav"]
    clips = tf.data.Dataset.from_tensor_slices([str(mixed / name) for name in names])
    clips = clips.map(TFNativeDataLoader(feed_config()).load_and_process_audio, num_parallel_calls=2)
    assert clips.element_spec == (tf.TensorSpec([None], tf.float32), tf.TensorSpec([None, 80], tf.float32))
    for name, (audio, _) in zip(names, clips, strict=True):
        np.testing.assert_array_equal(audio * 32768, mixed_cache.samples(list(FORMATS).index(name)))


def test_settings_reach_the_graph(mixed, monitor):
    for data in ({"trim_silence": False}, {"trim_db": 90.0}, {"loudness_lufs": -30.0}):
        settings_ = PackSettings.from_config(DataConfig(**data)).audio
        expected = load_clip(mixed / "wav16.wav", settings_)
        audio, _ = TFNativeDataLoader(DataConfig(**data)).load_and_process_audio(mixed / "wav16.wav")
        np.testing.assert_array_equal(audio * 32768, expected)
    assert monitor.counters == {"python_path.loudness": 1, "python_path": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "undecodable"),
        (b"RIFF", "undecodable"),
        (b"no audio at all" * 100, "undecodable"),
        (np.zeros(22050), "silent"),
        (speech_like(0.6)[5000:8000], "too_short"),
        (speech_like(41.0), "too_long"),
    ],
    ids=["empty", "four-bytes", "text", "silent", "short", "long"],
)
def test_a_file_that_nobody_can_use_is_an_error_that_names_it(tmp_path, load, monitor, content, message):
    path = tmp_path / "broken.wav"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        soundfile.write(path, content, 22050)
    for call in (load, TFNativeDataLoader(feed_config()).load_and_process_audio):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"broken.wav cannot be used .{message}"):
            call(str(path))


def test_a_missing_file_is_an_error_that_names_it(tmp_path, load):
    with pytest.raises(tf.errors.NotFoundError, match="nowhere.wav"):
        load(str(tmp_path / "nowhere.wav"))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(1, 3000), st.integers(0, 30000)), min_size=1, max_size=12),
    st.integers(1, 2),
    st.integers(0, 99),
)
def test_the_graph_trims_where_the_packer_trims(tmp_path, load, stretches, channels, seed):
    """Stretches of noise of any length and loudness, silence included."""
    rng = np.random.default_rng(seed)
    parts = [rng.uniform(-loudness, loudness, (length, channels)) for length, loudness in stretches]
    audio = np.concatenate([*parts, rng.uniform(-9000, 9000, (6000, channels))]).astype(np.int16)
    soundfile.write(tmp_path / "x.wav", audio, 22050)
    monitor = start_monitor()
    expected = load_clip(tmp_path / "x.wav", AudioSettings())
    made, mel = load(str(tmp_path / "x.wav"))
    np.testing.assert_array_equal(made * 32768, expected)
    assert len(mel) == -(-len(expected) // 256)
    assert monitor.counters["python_path"] == monitor.counters["python_path.trim"]


def test_an_end_as_loud_as_the_threshold_is_decided_by_the_packer(tmp_path, monitor):
    hops = np.full(60, 10.0)
    hops[20:40] = 10000
    hops[12] = hops[47] = 1000  # 20 dB below, to the last bit
    soundfile.write(tmp_path / "x.wav", np.repeat(hops, 256).astype(np.int16), 22050)
    data = DataConfig(trim_db=20.0)
    audio, _ = TFNativeDataLoader(data).load_and_process_audio(tmp_path / "x.wav")
    np.testing.assert_array_equal(audio * 32768, load_clip(tmp_path / "x.wav", PackSettings.from_config(data).audio))
    assert monitor.counters["python_path.trim"] == 1


# -- datasets ----------------------------------------------------------------------------------------------------------


def dataset_of(kind, listing, config, device=None):
    return tuples_of(FileFeed(kind, listing, config), device)


@pytest.fixture(scope="module")
def listings(mixed, mixed_cache, tmp_path_factory):
    wav = list_sources(mixed_cache, open_corpus(mixed))
    npy = write_npy_files(mixed_cache, tmp_path_factory.mktemp("npy"))
    return {"native": wav, "python": wav, "npy": npy}


def examples(dataset):
    """{tokens: mel} of an epoch, padding checked and cut off, and the order they came in."""
    examples_seen, order = {}, []
    for tokens, mel, text_len, mel_len in dataset.as_numpy_iterator():
        for row in range(len(tokens)):
            assert (tokens[row, text_len[row] :] == 0).all()
            np.testing.assert_allclose(mel[row, mel_len[row] :], LOG_FLOOR, rtol=1e-6)
            order.append(tuple(tokens[row, : text_len[row]].tolist()))
            examples_seen[order[-1]] = mel[row, : mel_len[row]]
    return examples_seen, order


@pytest.mark.parametrize("kind", ["native", "npy", "python"])
def test_each_loader_gives_the_utterances_of_the_cache_once_an_epoch(listings, mixed_cache, monitor, kind):
    dataset = dataset_of(kind, listings[kind], feed_config(batch_size=4))
    assert [(spec.dtype, spec.shape.as_list()) for spec in dataset.element_spec] == [
        (tf.int32, [None, None]), (tf.float32, [None, None, 80]), (tf.int32, [None]), (tf.int32, [None]),
    ]  # fmt: skip
    examples_seen, order = examples(dataset)
    assert len(order) == len(mixed_cache)
    for n in range(len(mixed_cache)):
        assert_same_mel(examples_seen[tuple(mixed_cache.token_ids(n).tolist())], mixed_cache.frames(n))
    again = examples(dataset)[1]
    assert sorted(again) == sorted(order)
    assert again != order, "the second epoch must come in another order"
    fallbacks = {"native": 2 * sum(bool(why) for _, why in FORMATS.values()), "npy": 0, "python": 2 * len(FORMATS)}
    assert monitor.counters[f"loader.{kind}"] == 1
    assert monitor.counters["python_path"] == fallbacks[kind]


def test_the_order_follows_the_seed_and_the_size_of_the_buffer(listings):
    def order(config):
        return examples(dataset_of("npy", listings["npy"], config))[1]

    config = feed_config(batch_size=4)
    first = order(config)
    assert order(config) == first
    config.training.seed = 1
    assert order(config) != first
    in_file_order = order(feed_config(batch_size=1, shuffle_buffer_multiplier=1))
    listing = listings["npy"]
    starts = [0, *listing.token_ends[:-1]]
    assert in_file_order == [
        tuple(listing.tokens[start:end].tolist()) for start, end in zip(starts, listing.token_ends, strict=True)
    ]


@pytest.mark.parametrize("kind", ["native", "npy", "python"])
def test_memory_cache_reads_each_file_once(mixed, mixed_cache, tmp_path, kind):
    shutil.copytree(mixed, tmp_path / "corpus")
    listing = list_sources(mixed_cache, open_corpus(tmp_path / "corpus"))
    if kind == "npy":
        listing = write_npy_files(mixed_cache, tmp_path / "npy")
    kept = dataset_of(kind, listing, feed_config(memory_cache=True))
    read_again = dataset_of(kind, listing, feed_config())
    examples_seen, order = examples(kept)
    examples(read_again)
    for path in listing.paths:
        Path(path).unlink()
    second, second_order = examples(kept)
    assert second.keys() == examples_seen.keys()
    assert second_order != order, "what is kept in memory is still shuffled"
    with pytest.raises((tf.errors.NotFoundError, tf.errors.InvalidArgumentError), match="No such file|missing_audio"):
        examples(read_again)


def test_each_setting_of_the_pipeline_is_in_the_pipeline(listings):
    def stages(device=None, **data):
        dataset = dataset_of("npy", listings["npy"], feed_config(**data), device)
        return dataset.__debug_string__(), dataset

    usual, dataset = stages()
    assert "Prefetch" in usual
    assert "CacheDataset" not in usual
    assert dataset.options().threading.private_threadpool_size == 2
    assert stages(num_workers=40)[1].options().threading.private_threadpool_size == 16
    assert "Prefetch" not in stages(optimize_cpu_gpu_overlap=False)[0]
    assert "Prefetch" not in stages(prefetch_buffer_size=0)[0]
    assert "CopyToDevice" in stages("/CPU:0")[0]
    assert "CopyToDevice" not in stages("/CPU:0", prefetch_to_gpu=False)[0]
    kept = stages(memory_cache=True)[0]
    assert kept.index("Shuffle") < kept.index("CacheDataset"), "the string begins with the last stage"


@pytest.mark.parametrize("known", [True, False])
def test_utterances_over_the_cap_are_left_out_and_reported(mixed, mixed_cache, listings, monitor, caplog, known):
    config = feed_config(max_mel_frames=int(np.sort(mixed_cache.columns["n_frames"])[-3]))
    listing = listings["native"] if known else list_corpus(open_corpus(mixed), config.data)
    examples_seen, order = examples(dataset_of("native", listing, config))
    assert len(order) == len(mixed_cache) - 2
    assert max(map(len, examples_seen.values())) == config.data.max_mel_frames
    assert monitor.counters["utterances_over_cap"] == 2
    assert caplog.text.count("left out") == 1, "said when the feed is made, before a batch is asked for"


def test_a_corpus_lists_as_its_cache_does(mixed, mixed_cache, listings, monitor, caplog, tmp_path):
    straight = list_corpus(open_corpus(mixed), feed_config().data)
    assert straight.paths == listings["native"].paths
    np.testing.assert_array_equal(straight.tokens, mixed_cache.tokens)
    folder = Path(shutil.copytree(mixed, tmp_path / "corpus"))
    with open(folder / "manifest.csv", "a", encoding="utf-8") as file:
        file.write("nowhere.wav,No file.,lost\nwav16.wav,...,mute\n")
    assert len(list_corpus(open_corpus(folder), feed_config().data)) == len(straight)
    assert "2 rows" in caplog.text
    assert "lost, mute" in caplog.text
    assert monitor.counters["rows_rejected"] == 2
    (folder / "manifest.csv").write_text("audio,text\nnowhere.wav,No file.\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="no row"):
        list_corpus(open_corpus(folder), feed_config().data)
    with pytest.raises(CorpusError, match="wav16.wav"):
        list_sources(mixed_cache, open_corpus(folder))


def test_mel_files_of_an_audio_cache_and_damaged_ones(mixed, mixed_cache, tmp_path):
    pack(open_corpus(mixed), tmp_path / "a.cache", PackSettings.from_config(feed_config().data, "audio"))
    listing = write_npy_files(Cache(tmp_path / "a.cache"), tmp_path / "npy")
    mel = np.load(listing.paths[0])
    assert mel.dtype == np.float32
    np.testing.assert_array_equal(mel.astype(np.float16), mixed_cache.frames(0))
    data = Path(listing.paths[3]).read_bytes()
    for damaged in (data[:-1], data[:100], b"", data.replace(b"<f4", b"<f8")):
        Path(listing.paths[3]).write_bytes(damaged)
        with pytest.raises(tf.errors.InvalidArgumentError, match="00000003.npy"):
            examples(dataset_of("npy", listing, feed_config()))


def test_an_unknown_loader_names_the_known_ones(listings):
    with pytest.raises(ConfigError, match="native, npy, python"):
        dataset_of("nativ", listings["npy"], feed_config())
