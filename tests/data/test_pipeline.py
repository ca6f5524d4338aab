"""The feed gives what the cache holds, in the order the step number says, without copying the cache into memory."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from corpora import feed_config
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.config.config import TrainingConfig
from myxtts.corpus.read import open_corpus
from myxtts.data.device import widen
from myxtts.data.pipeline import Feed
from myxtts.errors import CacheMismatch
from myxtts.features.audio import AudioSettings
from myxtts.features.mel import LOG_FLOOR, log_mel
from myxtts.features.text import TextFrontend
from myxtts.features.token_table import TokenTable


def take(feed, count, start=0, **options):
    return list(feed.dataset(start, start + count, **options).as_numpy_iterator())


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_batches_hold_what_the_cache_holds(cache):
    feed = Feed(cache, feed_config())
    seen = []
    for batch in take(feed, feed.steps_per_epoch):
        bucket = feed.order.buckets[int(batch["bucket"])]
        assert batch["mel"].shape == (bucket.batch, bucket.frames, 80)
        assert batch["mel"].dtype == np.float16
        assert batch["tokens"].shape == (bucket.batch, bucket.tokens)
        for row, utterance in enumerate(batch["utterances"]):
            frames, tokens = cache.frames(utterance), cache.token_ids(utterance)
            assert (batch["frame_lengths"][row], batch["token_lengths"][row]) == (len(frames), len(tokens))
            np.testing.assert_array_equal(batch["mel"][row, : len(frames)], frames)
            assert (batch["mel"][row, len(frames) :] == np.float16(LOG_FLOOR)).all()
            np.testing.assert_array_equal(batch["tokens"][row, : len(tokens)], tokens)
            assert (batch["tokens"][row, len(tokens) :] == 0).all()
            assert batch["speaker"][row] == cache.columns["speaker"][utterance]
        seen += batch["utterances"][batch["weight"] > 0].tolist()
    assert sorted(seen) == list(range(len(cache)))


def test_a_reference_is_another_clip_of_the_same_speaker(cache):
    feed = Feed(cache, feed_config(reference_frames=32))
    for batch in take(feed, feed.steps_per_epoch):
        assert batch["reference"].shape[1:] == (32, 80)
        picked, crop = feed.references.pick(batch["utterances"], int(batch["step"]))
        assert (picked != batch["utterances"]).all()
        for row, (utterance, share) in enumerate(zip(picked, crop, strict=True)):
            assert cache.columns["speaker"][utterance] == batch["speaker"][row]
            frames = cache.frames(utterance)
            start = int(share * np.float32(max(len(frames) - 32, 0) + 1))
            length = min(32, len(frames) - start)
            assert batch["reference_lengths"][row] == length
            np.testing.assert_array_equal(batch["reference"][row, :length], frames[start : start + length])


def test_the_mel_of_the_device_is_the_packed_mel_clip_ends_included(cache):
    packed = Feed(cache, feed_config(reference_frames=40))
    computed = Feed(cache, feed_config(reference_frames=40, preprocessing_mode="on_the_fly"))
    step = tf.function(widen)
    for first, second in zip(packed.dataset(0, 6), computed.dataset(0, 6), strict=True):
        assert second["audio"].dtype == tf.int16
        assert "mel" not in second
        ours, theirs = step(second), step(first)
        for name in ("mel", "reference"):
            peak = np.exp(theirs[name]).max()
            rounding = np.abs(np.exp(theirs[name]) * 2**-10)  # the packed mel is float16
            assert (np.abs(np.exp(ours[name]) - np.exp(theirs[name])) <= 1e-4 * peak + 16 * rounding).all(), name


@settings(max_examples=25)
@given(st.lists(st.integers(1, 9000), min_size=1, max_size=4), st.integers(0, 2**31))
def test_the_twin_equals_the_numpy_mel(lengths, seed):
    from myxtts.features.mel_tensorflow import log_mel as tf_log_mel

    rng = np.random.default_rng(seed)
    clips = [(rng.standard_normal(n) * 8000).clip(-32768, 32767).astype(np.int16) for n in lengths]
    frames = [-(-n // 256) for n in lengths]
    rows = np.zeros((len(clips), max(frames), 256), np.int16)
    for row, clip in zip(rows, clips, strict=True):
        row.reshape(-1)[: len(clip)] = clip
    made = tf_log_mel(tf.constant(rows), tf.constant(frames)).numpy()
    for clip, mel, n in zip(clips, made, frames, strict=True):
        expected = np.exp(log_mel(clip))
        assert np.abs(np.exp(mel[:n]) - expected).max() <= 1e-4 * expected.max()
        np.testing.assert_allclose(mel[n:], LOG_FLOOR, rtol=1e-6)


@pytest.mark.slow
@settings(max_examples=10)
@given(start=st.integers(0, 10**6), threads=st.integers(1, 4), prefetch=st.integers(0, 5))
def test_resuming_at_any_step_gives_the_same_batches(cache, start, threads, prefetch):
    whole = take(Feed(cache, feed_config()), 3, start)
    other = take(Feed(cache, feed_config(num_workers=threads, prefetch_buffer_size=prefetch)), 2, start + 1)
    for first, second in zip(whole[1:], other, strict=True):
        assert_same(first, second)


@pytest.mark.parametrize("replicas", [2, 3, 4, 8])
def test_replicas_share_the_global_batches(cache, replicas):
    feed = Feed(cache, feed_config())
    parts = [take(feed, 4, 5, replica=replica, replicas=replicas) for replica in range(replicas)]
    for step, whole in enumerate(take(feed, 4, 5)):
        joined = {
            name: np.concatenate([part[step][name] for part in parts]) for name in ("utterances", "weight", "mel")
        }
        kept = len(whole["utterances"])
        for name, values in joined.items():
            np.testing.assert_array_equal(values[:kept], whole[name])
        assert (joined["weight"][kept:] == 0).all()


@pytest.mark.parametrize("data", [{}, {"frame_budget": 1200}, {"reference_frames": 0}])
def test_the_dataset_is_the_order_from_any_step_and_over_the_ends_of_blocks(cache, data):
    feed = Feed(cache, feed_config(**data))
    for start, count in ((0, 70), (41, 90), (2**32 - 3, 3)):
        batches = take(feed, count, start)
        assert [int(batch["step"]) for batch in batches] == list(range(start, start + count))
        for batch in batches:
            expected = feed.order.batch(int(batch["step"]))
            np.testing.assert_array_equal(batch["utterances"], expected.utterances)
            np.testing.assert_array_equal(batch["weight"], expected.weight)
            assert (batch["epoch"], batch["cache"], batch["bucket"]) == (expected.epoch, 0, expected.bucket)


def test_batches_of_one_size_have_a_static_shape(cache):
    assert Feed(cache, feed_config(batch_size=4)).dataset().element_spec["weight"].shape == (4,)
    assert Feed(cache, feed_config(frame_budget=1200)).dataset().element_spec["weight"].shape == (None,)


def test_another_seed_is_another_order_and_the_state_is_two_values(cache):
    config = feed_config()
    feed = Feed(cache, config)
    state = feed.state(17)
    assert state == {"step": 17, "cache": cache.id, "plan": feed.id}
    assert feed.resume(state) == 17
    assert Feed(cache, feed_config(num_workers=7, prefetch_buffer_size=1)).resume(state) == 17
    for other in ({"batch_size": 4}, {"num_buckets": 1}, {"speaker_temperature": 5.0}):
        with pytest.raises(CacheMismatch, match="another order"):
            Feed(cache, feed_config(**other)).resume(state)
    with pytest.raises(CacheMismatch, match="--replan"):
        feed.resume({"step": 17, "cache": "f00"})
    config.training = TrainingConfig(seed=1)
    assert (take(Feed(cache, config), 1)[0]["utterances"] != take(feed, 1)[0]["utterances"]).any()


def test_two_caches_are_mixed_by_weight(cache, tmp_path, corpus_folder):
    pack(
        open_corpus(corpus_folder), tmp_path / "b.cache", PackSettings(AudioSettings(), TextFrontend(kind="characters"))
    )
    other = Cache(tmp_path / "b.cache")
    feed = Feed([cache, other], feed_config(), cache_weights=[1, 3])
    batches = take(feed, feed.steps_per_epoch)
    shares = np.bincount([int(b["cache"]) for b in batches], weights=[b["weight"].sum() for b in batches])
    assert shares[1] / shares.sum() == pytest.approx(0.75, abs=0.05)
    for batch in batches:
        source = (cache, other)[int(batch["cache"])]
        row = int(np.argmax(batch["weight"]))
        np.testing.assert_array_equal(
            batch["mel"][row, : batch["frame_lengths"][row]], source.frames(int(batch["utterances"][row]))
        )


def test_caches_that_do_not_fit_are_never_fed_silently(cache, tmp_path, corpus_folder):
    with pytest.raises(CacheMismatch, match=r"trim_db is 60.0 \(Python\), the cache has 45.0"):
        Feed(cache, feed_config(trim_db=60.0))
    with pytest.raises(CacheMismatch, match=r"text_tokens is phonemes \(Python\), the cache has characters"):
        Feed(cache, feed_config(text_tokens="phonemes"))
    symbols = list(TokenTable.base().symbols)
    other = TokenTable([*symbols[:5], *reversed(symbols[5:])])
    plain = PackSettings(AudioSettings(), TextFrontend(kind="characters"))
    pack(open_corpus(corpus_folder), tmp_path / "other.cache", plain, table=other)
    with pytest.raises(CacheMismatch, match="number their tokens differently"):
        Feed([cache, Cache(tmp_path / "other.cache")], feed_config())


def test_speakers_of_mixed_caches_are_told_apart(cache, tmp_path, corpus_folder):
    plain = PackSettings(AudioSettings(), TextFrontend(kind="characters"))
    lines = (corpus_folder / "metadata.csv").read_text().replace("|speaker0|", "|another|")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "wavs").symlink_to(corpus_folder / "wavs")
    (tmp_path / "b" / "metadata.csv").write_text(lines)
    pack(open_corpus(tmp_path / "b"), tmp_path / "b.cache", plain)
    other = Cache(tmp_path / "b.cache")
    feed = Feed([cache, other], feed_config())
    assert feed.speakers == ["speaker0", "speaker1", "another"]
    for batch in take(feed, feed.steps_per_epoch):
        source = (cache, other)[int(batch["cache"])]
        for utterance, speaker in zip(batch["utterances"], batch["speaker"], strict=True):
            assert feed.speakers[speaker] == source.speakers[source.columns["speaker"][utterance]]


def test_balancing_lifts_a_rare_speaker(cache):
    rare = np.array([n for n in range(60) if n % 2 == 0 or n < 6])  # 30 of one speaker, 3 of the other
    counts = {}
    for temperature in (1.0, 1e6):
        feed = Feed(cache, feed_config(speaker_temperature=temperature), utterances=[rare])
        batches = take(feed, feed.steps_per_epoch)
        speakers = np.concatenate([b["speaker"][b["weight"] > 0] for b in batches])
        counts[temperature] = np.bincount(speakers, minlength=2)
    assert counts[1.0].tolist() == [30, 3]
    assert abs(counts[1e6][0] - counts[1e6][1]) <= 6


def test_utterances_over_the_cap_are_reported(cache, caplog):
    longest = int(cache.columns["n_frames"].max())
    feed = Feed(cache, feed_config(max_mel_frames=longest - 1))
    assert "longer than data.max_mel_frames" in caplog.text
    assert cache.utterance_id(int(np.argmax(cache.columns["n_frames"]))) in caplog.text
    assert sum(table["over_cap"] for table in feed.describe()["tables"]) >= 1


def test_a_frame_budget_gives_short_utterances_larger_batches(cache):
    feed = Feed(cache, feed_config(frame_budget=1200))
    shapes = {(b["mel"].shape[0], b["mel"].shape[1]) for b in take(feed, feed.steps_per_epoch)}
    assert len({rows for rows, _ in shapes}) > 1
    assert all(rows * frames <= 1200 for rows, frames in shapes)


def test_one_trace_per_bucket_and_none_after(cache):
    feed = Feed(cache, feed_config())
    traces = []

    @tf.function(reduce_retracing=False)
    def step(mel):
        traces.append(mel.shape)
        return tf.reduce_sum(tf.cast(mel, tf.float32))

    for batch in feed.dataset(0, 3 * feed.steps_per_epoch):
        step(batch["mel"])
    assert len(traces) == len(feed.order.buckets)


def test_audio_only_caches_say_how_to_be_fed(cache, feed_corpus, tmp_path):
    text = TextFrontend(kind="characters")
    pack(open_corpus(feed_corpus), tmp_path / "a.cache", PackSettings(AudioSettings(), text, ("audio",)))
    audio_only = Cache(tmp_path / "a.cache")
    with pytest.raises(CacheMismatch, match="on_the_fly"):
        Feed(audio_only, feed_config(preprocessing_mode="precompute"))
    assert Feed(audio_only, feed_config(preprocessing_mode="auto")).payload == ("audio",)
    assert Feed(cache, feed_config(preprocessing_mode="auto")).payload == ("mel",)


@pytest.mark.parametrize("data", [{"enable_memory_mapping": False}, {"memory_cache": True}])
def test_without_mapping_the_batches_are_the_same(cache, data):
    for first, second in zip(
        take(Feed(cache, feed_config()), 3), take(Feed(cache, feed_config(**data)), 3), strict=True
    ):
        assert_same(first, second)


MEMORY = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from measure import anonymous_bytes
from synthetic import write_index_only
from myxtts.cache.reader import Cache
from myxtts.config.config import DataConfig, XTTSConfig
from myxtts.data.pipeline import Feed
write_index_only(Path(sys.argv[2]), 16_000)
cache = Cache(sys.argv[2])
assert cache.audio.size > 2**31, cache.audio.size
data = {"batch_size": 16, "prefetch_buffer_size": 2}
for mode in ("precompute", "on_the_fly"):
    feed = Feed(cache, XTTSConfig(data=DataConfig(preprocessing_mode=mode, **data)))
    batches = iter(feed.dataset())
    for _ in range(30):
        next(batches)
    before = anonymous_bytes()
    for _ in range(120):
        batch = next(batches)
    grown = anonymous_bytes() - before
    assert grown < 100e6, grown
    last = int(cache.columns["first_row"][-1])
assert anonymous_bytes() < 1.5e9, anonymous_bytes()  # the files are 4.6 GB and 1.4 GB
print("ok")
"""


@pytest.mark.slow
def test_a_file_past_two_to_the_31_elements_is_fed_without_being_copied(tmp_path):
    benchmarks = Path(__file__).parents[2] / "benchmarks"
    command = [sys.executable, "-c", MEMORY, benchmarks, tmp_path / "big.cache"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def test_without_references_the_rest_is_the_same(cache):
    bare = take(Feed(cache, feed_config(reference_frames=0)), 2)
    for first, second in zip(take(Feed(cache, feed_config()), 2), bare, strict=True):
        assert set(first) - set(second) == {"reference", "reference_lengths"}
        assert_same({name: first[name] for name in second}, second)


RUN = """
import os, sys, hashlib
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
from corpora import feed_config
from myxtts.cache.reader import Cache
from myxtts.data.pipeline import Feed
folder, start = sys.argv[1], int(sys.argv[2])
for batch in Feed(Cache(folder), feed_config()).dataset(start).as_numpy_iterator():
    digest = hashlib.sha256(b"".join(batch[name].tobytes() for name in sorted(batch)))
    print(int(batch["step"]), digest.hexdigest(), flush=True)
"""


def run_until(folder, start, steps):
    """A run that is killed -9 after some steps: what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", RUN, str(folder), str(start)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        lines = [process.stdout.readline().split() for _ in range(steps)]
        process.kill()
    return lines


@pytest.mark.slow
def test_a_killed_run_goes_on_with_the_very_next_batch(cache):
    undisturbed = run_until(cache.folder, 0, 12)
    first = run_until(cache.folder, 0, 7)
    state = {"step": int(first[-1][0]) + 1, "cache": cache.id}
    resumed = run_until(cache.folder, Feed(cache, feed_config()).resume(state), 5)
    assert first + resumed == undisturbed
