"""A reference that is no speech is said to be none; speech is not doubted."""

import logging
import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

from myxtts.errors import SpeechError
from myxtts.features.audio import AudioSettings
from myxtts.features.mel import LOG_FLOOR, log_mel
from myxtts.features.text import SPECIALS
from myxtts.inference.reference import read_references, voice_frames, without_pauses
from myxtts.models.description import ModelDescription

HELLO = Path(__file__).parents[2] / "docs" / "hello.flac"
RATE = 22050
TIMES = np.arange(4 * RATE) / RATE
SYLLABLES = np.clip(np.sin(2 * np.pi * 3 * TIMES), 0.001, 1.0)


@pytest.fixture
def read(tmp_path):
    audio = AudioSettings().fingerprint()
    model = ModelDescription(token_table=[*SPECIALS, "a"], languages=["en-us"], tokens={}, audio=audio)

    def read(samples):
        soundfile.write(tmp_path / "clip.wav", samples, RATE)
        return read_references(tmp_path / "clip.wav", model)

    return read


NO_SPEECH = {
    "noise": 0.1 * np.random.default_rng(0).normal(size=len(TIMES)),
    "a chord": sum(0.1 * np.sin(2 * np.pi * pitch * TIMES) for pitch in (220, 277, 330, 440)),
    "the noise of a microphone": 2e-4 * np.random.default_rng(1).normal(size=len(TIMES)),
    "clapping": 0.3 * np.random.default_rng(2).normal(size=len(TIMES)) * SYLLABLES**4,
}


@pytest.mark.parametrize("kind", NO_SPEECH)
def test_what_does_not_come_and_go_is_named(kind, read, caplog):
    with caplog.at_level(logging.WARNING):
        reference = read(NO_SPEECH[kind])
    assert len(reference.crops)
    assert "hardly sounds like speech" in caplog.text
    assert list(reference.warnings) == caplog.messages


def test_syllables_and_pauses_are_speech_enough(read, caplog):
    melody = 2 * np.pi * (120 * TIMES + 6 * np.sin(2 * np.pi * 0.7 * TIMES))  # 94 to 146 Hz
    voice = sum(np.sin(n * melody) / n for n in range(1, 20))
    with caplog.at_level(logging.WARNING):
        reference = read(0.1 * voice * SYLLABLES)
    assert not caplog.records
    assert not reference.warnings


@pytest.mark.parametrize("gain", [1.0, 0.003])
def test_speech_is_not_doubted_however_quiet(gain, read):
    speech, _ = soundfile.read(HELLO, dtype="float32")
    assert not read(gain * speech).warnings


def test_speech_with_some_noise_is_not_doubted(read):
    speech, _ = soundfile.read(HELLO, dtype="float32")
    noise = np.random.default_rng(6).normal(size=len(speech)) * 0.1 * speech.std()  # 20 dB below
    assert not read(speech + noise).warnings


def test_what_is_no_recording_says_what_it_is(tmp_path):
    model = ModelDescription(token_table=[*SPECIALS, "a"], languages=["en-us"], tokens={}, audio={})
    os.mkfifo(tmp_path / "pipe.wav")  # nobody writes into it
    (tmp_path / "empty.wav").touch()
    (tmp_path / "phone.m4a").write_bytes(b"\0\0\0\x18ftypM4A ")
    for name, says in [
        ("", "is a folder: give a recording"),
        ("pipe.wav", "is no regular file"),
        ("empty.wav", "it is empty; give speech as wav, flac, mp3 or ogg"),
        ("phone.m4a", r"Format not recognised; give speech as wav, .*ffmpeg -i"),
    ]:
        with pytest.raises(SpeechError, match=says):
            read_references(tmp_path / name, model)


def test_the_frames_that_were_read_count_once(read):
    reference = read(0.1 * sum(np.sin(2 * np.pi * 120 * n * TIMES) / n for n in range(1, 20)))
    assert reference.frames == pytest.approx(4 * RATE / 256, abs=2)
    assert reference.lengths.sum() > reference.frames  # crops overlap


def test_tones_that_stay_are_music(read, caplog):
    """Notes that are struck anew come and go as syllables do."""
    notes = sum(np.sin(2 * np.pi * pitch * TIMES) for pitch in (262, 330, 392, 523, 659))
    with caplog.at_level(logging.WARNING):
        read(0.1 * notes * SYLLABLES)
    assert "its tones are held, as in music or singing" in caplog.text


def test_short_speech_is_not_called_music(read, caplog):
    """Of less than two seconds nobody can tell: half of a second's cuts of real speech would be."""
    speech, rate = soundfile.read(HELLO, dtype="float32")
    assert rate == RATE
    for seconds in (0.7, 1.0, 1.5):
        for start in np.arange(0.2, len(speech) / rate - seconds, 0.4):
            with caplog.at_level(logging.WARNING):
                read(speech[int(start * rate) : int((start + seconds) * rate)])
    assert not [record for record in caplog.records if "music" in record.getMessage()]


def test_pauses_are_left_out_and_what_is_said_is_not(read):
    voice = 0.1 * sum(np.sin(2 * np.pi * 120 * n * TIMES) / n for n in range(1, 20))
    words = voice.reshape(4, -1)
    pause = 1e-5 * np.random.default_rng(2).normal(size=5 * RATE)
    fluent, halting = read(voice), read(np.concatenate([part for word in words for part in (word, pause)]))
    assert len(fluent.crops) <= len(halting.crops) <= len(fluent.crops) + 1  # for the edges that stay; with pauses 8
    loud = halting.crops.mean(axis=2) > fluent.crops.mean() - 3.0
    assert loud.mean() > 0.8


def test_a_long_recording_is_refused_in_the_words_of_who_gave_it(read):
    long = np.broadcast_to(np.float32(0.1), 601 * RATE)
    with pytest.raises(SpeechError, match=r"clip\.wav has more than 10 minutes.*: cut 3 to 10 s of speech") as refusal:
        read(long)
    assert "data." not in str(refusal.value)


def test_clicks_in_silence_are_too_short_to_be_a_voice(read):
    click = 0.3 * np.hanning(RATE // 10) * np.random.default_rng(3).normal(size=RATE // 10)
    silence = np.zeros(4 * RATE)
    with pytest.raises(SpeechError, match=r"has 0\.\d\d s of speech besides its pauses, expected at least 0.5 s"):
        read(np.concatenate([click, silence, click]))


@pytest.mark.parametrize("frames", [0, 1, 8])
def test_a_few_frames_are_kept_as_they_are(frames):
    mel = np.full((frames, 80), -3.0, np.float32)
    assert len(without_pauses(mel)) == frames


def test_the_noise_of_a_room_is_left_out(read):
    """What is heard of a voice in noise is nearer to the voice without it than the recording is."""
    voice = sum(np.sin(2 * np.pi * 120 * n * TIMES) / n for n in range(1, 20))
    clean = 0.1 * voice * np.clip(np.sin(2 * np.pi * 3 * TIMES), 0.001, 1.0)
    noisy = clean + 3e-3 * np.random.default_rng(4).normal(size=len(TIMES))
    quiet, loud = (log_mel(each.astype(np.float32)) for each in (clean, noisy))
    wanted, recorded = (without_pauses(mel).mean(axis=0) for mel in (quiet, loud))
    heard = voice_frames(loud).mean(axis=0)
    assert np.abs(heard - wanted).mean() < 0.7 * np.abs(recorded - wanted).mean()


def test_a_voice_in_silence_is_heard_as_it_is():
    mel = np.full((100, 80), LOG_FLOOR, np.float32)
    mel[20:] = np.random.default_rng(5).normal(-4, 1, (80, 80))
    assert np.allclose(voice_frames(mel), without_pauses(mel), atol=0.05)
