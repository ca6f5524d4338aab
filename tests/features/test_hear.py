"""What is heard in a clip is what a packer would store of it."""

import numpy as np
import pytest
import soundfile

from myxtts.errors import RowError
from myxtts.features import hear
from myxtts.features.audio import AudioSettings, load_clip
from myxtts.features.hear import hear_clips

TIME = np.arange(44100) / 22050


def heard(path, samples, rate=22050, subtype="PCM_16"):
    soundfile.write(path, samples, rate, subtype=subtype)
    (sound,) = hear_clips([str(path)], AudioSettings())
    return sound


def test_level_peak_and_length(tmp_path):
    tone = 0.5 * np.sin(2 * np.pi * 441.7 * TIME)
    sound = heard(tmp_path / "a.wav", np.concatenate([np.zeros(22050), tone, np.zeros(22050)]))
    assert sound.seconds == pytest.approx(2.0, abs=0.12)  # the silence is gone, but for a margin
    assert sound.peak_db == pytest.approx(-6.0, abs=0.1)
    assert sound.level_db == pytest.approx(-9.2, abs=0.3)
    assert sound.clipped_share == 0.0


@pytest.mark.parametrize("rate", [22050, 48000])
def test_cut_off_peaks_are_told_from_loud_ones(tmp_path, rate):
    time = np.arange(2 * rate) / rate
    tone = np.sin(2 * np.pi * 200 * time) * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * time))
    assert heard(tmp_path / "a.wav", 0.999 * tone, rate).clipped_share < 1e-4
    assert heard(tmp_path / "b.wav", np.clip(1.5 * tone, -1, 1), rate).clipped_share > 0.01
    assert heard(tmp_path / "c.wav", 1.5 * tone, rate, "FLOAT").clipped_share < 1e-4  # louder, but nothing is lost


def test_the_same_sound_has_the_same_digest(tmp_path):
    tone = (0.5 * np.sin(2 * np.pi * 441.7 * TIME) * 32767).astype(np.int16)
    first, second = heard(tmp_path / "a.wav", tone), heard(tmp_path / "b.flac", tone)
    tone[1000] += 1
    assert first.digest == second.digest != heard(tmp_path / "c.wav", tone).digest


def test_what_a_packer_rejects_comes_with_its_reason(tmp_path):
    assert isinstance(heard(tmp_path / "a.wav", np.zeros(44100)), RowError)
    (error,) = hear_clips([str(tmp_path / "gone.wav")], AudioSettings())
    assert error.reason == "missing_audio"


RATES = [8000, 16000, 44100, 48000]


def packed(path, settings):
    """The reason of a packer, or the seconds that it stores."""
    try:
        return len(load_clip(path, settings)) / 22050
    except RowError as error:
        return error.reason, error.message


def same_verdict(path, settings):
    (sound,) = hear_clips([str(path)], settings)
    stored = packed(path, settings)
    if isinstance(sound, RowError) or isinstance(stored, tuple):
        assert (sound.reason, sound.message) == stored
    else:
        assert sound.seconds == pytest.approx(stored, abs=2.5 * 256 / 22050)
    return isinstance(sound, RowError)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("trim", [True, False])
def test_at_any_rate_the_verdict_is_that_of_a_packer(tmp_path, rate, trim):
    """Lengths around the limit, with silence around them, soft beginnings, and a whistle that resampling removes."""
    rng, settings = np.random.default_rng(rate), AudioSettings(trim_silence=trim, min_seconds=0.3)
    verdicts = []
    for n, seconds in enumerate([*np.linspace(0.18, 0.42, 25), 0.3, 0.3 - 0.5 / rate, 0.3 + 1 / rate, 0.7, 1.5]):
        sound = (
            0.3 * rng.standard_normal(round(seconds * rate)) * np.linspace(10.0 ** -(n % 4), 1, round(seconds * rate))
        )
        around = np.zeros(rate // 2 if n % 2 else 0)
        clip = np.concatenate([around, sound, around])
        if n % 3 == 0:
            clip += 0.05 * np.sin(2 * np.pi * 0.45 * rate * np.arange(len(clip)) / rate)  # 21.6 kHz of 48
        soundfile.write(tmp_path / "a.flac", np.clip(clip, -0.8, 0.8), rate)
        verdicts.append(same_verdict(tmp_path / "a.flac", settings))
    assert 5 < sum(verdicts) < 25 or not trim


def test_only_clips_near_a_limit_are_resampled_whole(tmp_path, monkeypatch):
    """Work, not time: how many samples the resampler gets of 10 s at 48 kHz."""
    given, original = [], hear.resample
    monkeypatch.setattr(hear, "resample", lambda audio, rate: given.append(len(audio)) or original(audio, rate))
    monkeypatch.setattr(hear, "to_clip", lambda *_: pytest.fail("resampled as a whole"))
    noise = np.convolve(np.random.default_rng(0).standard_normal(480_000), np.full(8, 0.02), "same")
    assert heard(tmp_path / "a.flac", noise, 48000).seconds == pytest.approx(10.0, abs=0.03)
    assert sum(given) < 40_000
