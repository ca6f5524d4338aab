"""What a voice lacks of its recording's pitch and colour is measured by how it speaks, and made up for."""

from pathlib import Path

import numpy as np
import pytest

from myxtts.features.audio import AudioSettings, load_clip
from myxtts.features.mel import log_mel
from myxtts.features.text import TextFrontend
from myxtts.inference.colour import mean_spectrum
from myxtts.inference.reference import make_reference, voice_frames
from myxtts.inference.rehearsal import pitch_of, rehearse
from myxtts.inference.script import Script
from myxtts.inference.synthesizer import Synthesizer
from myxtts.models.description import ModelDescription, find_checkpoint
from myxtts.models.pitch import pitch_of as pitch_by_tensorflow
from myxtts.models.pitch_table import LOWEST, STEPS, ripples
from myxtts.models.shipped import BASE
from myxtts.models.voice import Voice

SPEECH = Path(__file__).parents[2] / "docs" / "hello.flac"
TILT = np.linspace(1.0, -1.0, 80, dtype=np.float32)
OWN = np.full(80, -4.0, np.float32)
USUAL = -0.4  # octaves
NOBODY = Voice(np.zeros([1, 8], np.float32), np.zeros([1, 2, 8], np.float32))


def harmonics(octaves: float, frames: int = 120) -> np.ndarray:
    """Log-mel [frames, mels] of a voice that holds its pitch."""
    row = round((octaves - LOWEST) * STEPS)
    return np.tile(OWN + ripples()[row], (frames, 1)).astype(np.float32)


def noise(frames: int = 120) -> np.ndarray:
    return np.random.default_rng(1).normal(-4, 1, (frames, 80)).astype(np.float32)


def follows_a_part(frames: np.ndarray):
    """A model that speaks two thirds of how far a recording's pitch is from the usual one, and nothing of its tilt."""
    wanted = pitch_of(frames)
    return lambda voice: harmonics(USUAL + (wanted - USUAL) * 2 / 3 + (voice.octaves_up or 0.0))


def rehearsed(recording: np.ndarray, say) -> Voice:
    return rehearse(NOBODY, make_reference([recording], 200), OWN, say)


@pytest.mark.parametrize("octaves", [-1.2, -0.5, 0.3])
def test_what_is_spoken_has_the_pitch_and_the_colour_of_the_recording(octaves):
    recording = harmonics(octaves) + TILT
    say = follows_a_part(recording)
    voice = rehearsed(recording, say)
    assert pitch_of(say(voice)) == pytest.approx(octaves, abs=0.03)
    assert abs(pitch_of(say(NOBODY)) - octaves) > 0.03
    spoken = mean_spectrum(say(voice) + voice.colour)
    assert np.allclose(spoken, mean_spectrum(recording), atol=0.3)


def test_a_pitch_that_is_far_away_was_misheard_and_is_not_followed_all_the_way():
    recording = harmonics(0.5)
    voice = rehearsed(recording, lambda voice: harmonics(-1.0))
    assert voice.octaves_up == pytest.approx(0.35)


@pytest.mark.parametrize(("recording", "said"), [(noise(), harmonics(0.0)), (harmonics(0.0), noise())])
def test_without_a_pitch_none_is_moved(recording, said):
    voice = rehearsed(recording, lambda voice: said)
    assert voice.octaves_up is None
    assert np.isfinite(voice.colour).all()


def test_a_model_that_cannot_rehearse_gets_the_colour_by_which_a_recording_differs_from_its_own_voice():
    voice = rehearsed(np.tile(OWN + TILT, (90, 1)), lambda voice: np.zeros([0, 80], np.float32))
    assert voice.octaves_up is None
    assert np.allclose(voice.colour, TILT, atol=0.05)


def speech() -> np.ndarray:
    return voice_frames(log_mel(load_clip(SPEECH, AudioSettings())))


def test_the_pitch_of_speech_is_what_the_model_reads_from_it():
    frames = speech()
    there = pitch_by_tensorflow(frames[None], np.ones([1, len(frames), 1], np.float32)).numpy()[0]
    octaves, voiced = there.T
    assert pitch_of(frames) == pytest.approx((octaves * voiced).sum() / voiced.sum(), abs=0.01)


def test_a_model_of_letters_rehearses_nothing():
    """They stand for other sounds in each language."""
    description = ModelDescription.load(find_checkpoint(BASE))
    description.tokens = TextFrontend(kind="characters").settings()
    assert not Script(description).rehearsal()


def test_the_base_knows_every_sound_of_what_is_rehearsed():
    lines = Script(ModelDescription.load(find_checkpoint(BASE))).rehearsal()
    assert len(lines) == 3
    assert not any(line.skipped for line in lines)


@pytest.mark.parametrize("semitones", [-5, 0, 4])
def test_the_base_speaks_at_the_pitch_of_a_recording(semitones):
    """Of its own speech, which nobody has heard at this pitch."""
    base = Synthesizer.load(BASE)
    recording = base.say("We walked along the river and talked about the sea.", str(SPEECH), pitch=semitones)
    wanted = pitch_of(voice_frames(recording.mel))
    heard = base.hear(make_reference([voice_frames(recording.mel)], base.description.reference_frames))
    with_it, without = (
        pitch_of(voice_frames(base.say("A small brown owl watched us from the chimney.", voice).mel)) - wanted
        for voice in (heard, heard._replace(octaves_up=0.0))
    )
    assert abs(with_it) < 0.12
    assert abs(with_it) < abs(without) + 0.03
