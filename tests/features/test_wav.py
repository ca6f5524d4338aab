"""The quick way of reading a plain wav gives what libsndfile gives, or leaves the file to it."""

import struct

import numpy as np
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.features.wav import plain_wav_length, read_plain_wav


def chunk(name, data):
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def wav(samples, rate=22050, kind=1, channels=1, bits=16, before=(), after=()):
    fmt = struct.pack("<HHIIHH", kind, channels, rate, rate * channels * bits // 8, channels * bits // 8, bits)
    parts = [chunk(b"fmt ", fmt), *(chunk(b"LIST", extra) for extra in before), chunk(b"data", samples.tobytes())]
    body = b"WAVE" + b"".join(parts) + b"".join(chunk(b"LIST", extra) for extra in after)
    return b"RIFF" + struct.pack("<I", len(body)) + body


@settings(max_examples=60)
@given(
    samples=st.lists(st.integers(-32768, 32767), min_size=1, max_size=3000),
    rate=st.sampled_from([8000, 16000, 22050, 48000]),
    before=st.lists(st.binary(max_size=300), max_size=3),
    after=st.lists(st.binary(max_size=30), max_size=2),
)
def test_reads_what_libsndfile_reads(tmp_path_factory, samples, rate, before, after):
    path = tmp_path_factory.mktemp("wav") / "a.wav"
    path.write_bytes(wav(np.array(samples, "<i2"), rate, before=before, after=after))
    read, read_rate = read_plain_wav(path)
    expected, expected_rate = soundfile.read(path, dtype="int16")
    assert (read_rate, read.tolist()) == (expected_rate, expected.tolist())
    assert plain_wav_length(path) == (len(samples), rate)


def test_leaves_every_other_file_to_libsndfile(tmp_path):
    samples = np.arange(1000, dtype="<i2")
    whole = wav(samples)
    others = {
        "cut": whole[:-1],
        "stereo": wav(samples, channels=2),
        "24 bits": wav(samples, bits=24),
        "float": wav(samples, kind=3),
        "no data": whole[:40],
        "empty": b"",
        "no samples": wav(samples[:0]),
        "big-endian": b"RIFX" + whole[4:],
        "far header": wav(samples, before=[bytes(5000)]),
        "no fmt": whole[:12] + whole[36:],
        "noise": bytes(range(256)) * 20,
    }
    for name, data in others.items():
        (tmp_path / name).write_bytes(data)
        assert read_plain_wav(tmp_path / name) is None, name
        assert plain_wav_length(tmp_path / name) is None, name
    for path in (tmp_path / "absent", tmp_path):
        assert read_plain_wav(path) is None
        assert plain_wav_length(path) is None


def test_too_long_a_clip_is_not_read(tmp_path):
    (tmp_path / "a.wav").write_bytes(wav(np.zeros(22050, "<i2")))
    assert read_plain_wav(tmp_path / "a.wav", max_seconds=1.0) is not None
    assert read_plain_wav(tmp_path / "a.wav", max_seconds=0.9) is None
