"""Audio files of every kind become 16-bit samples at 22,050 Hz, or a reason why not."""

import numpy as np
import pytest
import soundfile

from myxtts.errors import RowError
from myxtts.features.audio import AudioSettings, load_clip, most_samples, read_audio, trim_silence
from myxtts.features.loudness import loudness_lufs

PLAIN = AudioSettings(trim_silence=False)


def tone(seconds=1.0, rate=22050, hz=440.0, gain=0.5):
    return (np.sin(2 * np.pi * hz * np.arange(int(seconds * rate)) / rate) * gain).astype(np.float32)


FORMATS = [
    ("a.wav", "PCM_U8", 0.02),
    ("a.wav", "PCM_16", 1e-4),
    ("a.wav", "PCM_24", 1e-4),
    ("a.wav", "PCM_32", 1e-4),
    ("a.wav", "FLOAT", 1e-4),
    ("a.flac", "PCM_16", 1e-4),
    ("a.ogg", "VORBIS", 0.05),
    ("a.ogg", "OPUS", 0.05),
    ("a.mp3", "MPEG_LAYER_III", 0.05),
]


@pytest.mark.parametrize(("name", "subtype", "tolerance"), FORMATS)
@pytest.mark.parametrize(("rate", "channels"), [(22050, 1), (48000, 2), (16000, 1)])
def test_every_format_rate_and_channel_count(tmp_path, name, subtype, tolerance, rate, channels):
    if subtype == "OPUS" and rate == 22050:
        rate = 24000
    path = tmp_path / name
    soundfile.write(path, np.stack([tone(rate=rate)] * channels, axis=1), rate, subtype=subtype)
    samples = load_clip(path, PLAIN)
    assert samples.dtype == np.int16
    assert abs(len(samples) - 22050) <= 0.06 * 22050  # mp3 adds its encoder's padding
    middle = samples[5000:15000] / 32768
    assert abs(np.sqrt(np.mean(middle**2)) - 0.5 / np.sqrt(2)) < max(tolerance, 2e-3)
    spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle))))
    assert abs(np.argmax(spectrum) * 22050 / len(middle) - 440) < 3


def test_sixteen_bit_audio_passes_unchanged(tmp_path):
    samples = np.random.default_rng(0).integers(-32768, 32768, 30000).astype(np.int16)
    soundfile.write(tmp_path / "a.wav", samples, 22050)
    np.testing.assert_array_equal(load_clip(tmp_path / "a.wav", PLAIN), samples)


def test_loud_float_files_are_scaled_not_clipped(tmp_path):
    soundfile.write(tmp_path / "a.wav", tone(gain=3.0), 22050, subtype="FLOAT")
    samples = load_clip(tmp_path / "a.wav", PLAIN)
    assert np.abs(samples).max() >= 32700
    assert (np.abs(samples) >= 32767).sum() < 100


def test_trimming_keeps_the_sound():
    quiet = np.zeros(22050, np.float32)
    clip = np.concatenate([quiet, tone(), quiet])
    trimmed = trim_silence(clip, 45)
    assert 22050 <= len(trimmed) <= 22050 + 10 * 256
    assert np.abs(trimmed).sum() == pytest.approx(np.abs(clip).sum(), rel=1e-4)


@pytest.mark.parametrize("gain", [0.01, 0.3])
def test_loudness_is_set(tmp_path, gain):
    soundfile.write(tmp_path / "a.wav", tone(3.0, gain=gain), 22050, subtype="FLOAT")
    samples = load_clip(tmp_path / "a.wav", AudioSettings(loudness_lufs=-23.0))
    assert loudness_lufs((samples / 32768).astype(np.float32)) == pytest.approx(-23.0, abs=0.1)


def test_loudness_of_the_reference_tone():
    """A full-scale 997 Hz sine reads -3.01 LUFS (BS.1770-4, section 3)."""
    assert loudness_lufs(tone(4.0, hz=997.0, gain=1.0)) == pytest.approx(-3.01, abs=0.05)


def test_a_cut_wav_is_refused_and_a_streamed_one_is_not(tmp_path):
    soundfile.write(tmp_path / "a.wav", tone(2.0), 22050)
    whole = (tmp_path / "a.wav").read_bytes()
    (tmp_path / "cut.wav").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RowError) as error:
        load_clip(tmp_path / "cut.wav", PLAIN)
    assert error.value.reason == "truncated"
    streamed = bytearray(whole)
    streamed[4:8] = streamed[40:44] = b"\xff\xff\xff\xff"
    (tmp_path / "streamed.wav").write_bytes(streamed)
    assert len(load_clip(tmp_path / "streamed.wav", PLAIN)) == 44100


def bad(path, kind):
    if kind == "missing_audio":
        return
    if kind == "undecodable":
        path.write_bytes(b"RIFF not a wav")
    elif kind == "empty_audio":
        soundfile.write(path, np.zeros(0, np.float32), 22050)
    elif kind == "not_finite":
        soundfile.write(path, np.full(9000, np.nan, np.float32), 22050, subtype="FLOAT")
    elif kind == "silent":
        soundfile.write(path, np.zeros(9000, np.float32), 22050)
    elif kind == "too_short":
        soundfile.write(path, tone(0.1), 22050)
    elif kind == "too_long":
        soundfile.write(path, tone(41.0), 22050)


@pytest.mark.parametrize(
    "kind", ["missing_audio", "undecodable", "empty_audio", "not_finite", "silent", "too_short", "too_long"]
)
def test_bad_files_have_a_reason(tmp_path, kind):
    path = tmp_path / "a.wav"
    bad(path, kind)
    with pytest.raises(RowError) as error:
        load_clip(path, AudioSettings())
    assert error.value.reason == kind


@pytest.mark.parametrize("settings", [AudioSettings(), AudioSettings(loudness_lufs=-20.0)])
def test_the_short_way_of_16_bit_files_changes_nothing(tmp_path, settings):
    """A 24-bit file of the same samples goes the long way, through float32."""
    clip = np.concatenate([np.zeros(9000), tone(1.0) * np.hanning(22050), np.zeros(7000)])
    samples = (clip * 32767).astype(np.int16)
    soundfile.write(tmp_path / "short.wav", samples, 22050, subtype="PCM_16")
    soundfile.write(tmp_path / "long.wav", samples / 32768, 22050, subtype="PCM_24")
    np.testing.assert_array_equal(
        load_clip(tmp_path / "short.wav", settings), load_clip(tmp_path / "long.wav", settings)
    )


@pytest.mark.parametrize(
    ("format", "subtype"), [("WAV", "GSM610"), ("AU", "G721_32"), ("XI", "DPCM_16"), ("WAV", "MS_ADPCM")]
)
def test_what_libsndfile_cannot_seek_in_is_decoded(tmp_path, format, subtype):
    sound = (0.3 * np.sin(np.arange(44100) * 0.1)).astype(np.float32)
    soundfile.write(tmp_path / "a.wav", sound, 8000, format=format, subtype=subtype)
    audio, rate = read_audio(tmp_path / "a.wav", 40.0)
    assert len(audio) / rate == pytest.approx(44100 / rate, abs=0.1)
    assert 0.2 < np.abs(audio.astype(np.float32)).max() * (1 if audio.dtype == np.float32 else 1 / 32768) < 0.4
    with pytest.raises(RowError, match="data.max_seconds is 0.5"):
        read_audio(tmp_path / "a.wav", 0.5)


def test_a_name_that_ends_in_raw_is_a_row_like_any_other(tmp_path):
    (tmp_path / "a.raw").write_bytes(b"\1\2" * 5000)
    with pytest.raises(RowError, match="cannot be decoded") as caught:
        read_audio(tmp_path / "a.raw")
    assert caught.value.reason == "undecodable"


def test_a_streamed_flac_does_not_say_how_long_it_is(tmp_path):
    sound = (0.3 * np.sin(np.arange(48000) * 0.1)).astype(np.float32)
    soundfile.write(tmp_path / "a.flac", sound, 24000, format="FLAC")
    data = bytearray((tmp_path / "a.flac").read_bytes())
    data[8 + 13] &= 0xF0  # 36 bits of the first block: how many samples there are; 0 is 'unknown'
    data[8 + 14 : 8 + 34] = bytes(20)
    (tmp_path / "a.flac").write_bytes(data)
    audio, rate = read_audio(tmp_path / "a.flac", 40.0)
    assert (len(audio), rate) == (48000, 24000)
    assert most_samples(tmp_path / "a.flac", 40.0) >= 2 * 22050
    with pytest.raises(RowError, match="data.max_seconds is 1"):
        read_audio(tmp_path / "a.flac", 1.0)


def test_a_sampling_rate_that_no_converter_has_is_refused_without_reading(tmp_path):
    import struct

    size, rate = 400_000_000, 10**9
    with open(tmp_path / "a.wav", "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", size + 36) + b"WAVEfmt ")
        file.write(struct.pack("<IHHIIHH", 16, 1, 1, rate, 2 * rate, 2, 16) + b"data" + struct.pack("<I", size))
        file.truncate(size + 44)
    with pytest.raises(RowError, match="sampling rate is 1000000000 Hz"):
        read_audio(tmp_path / "a.wav", 40.0)
