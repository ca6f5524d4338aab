"""What is heard in a clip is what a packer would store of it."""

import numpy as np
import pytest
import soundfile

from myxtts.errors import RowError
from myxtts.features.audio import AudioSettings
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
