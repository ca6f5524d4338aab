"""What a voice lacks of its recording's pitch and colour is measured by how it speaks, and made up for."""

from pathlib import Path

import numpy as np
import pytest
from small_models import make_model

from myxtts.features.audio import AudioSettings, load_clip
from myxtts.features.mel import N_MELS, log_mel
from myxtts.features.text import TextFrontend
from myxtts.features.token_table import SPECIALS
from myxtts.inference.colour import mean_spectrum
from myxtts.inference.reference import make_reference, voice_frames
from myxtts.inference.rehearsal import SENTENCES, rehearse
from myxtts.inference.script import Script
from myxtts.inference.synthesizer import Synthesizer
from myxtts.models.description import ModelDescription, find_checkpoint
from myxtts.models.pitch import pitch_of
from myxtts.models.pitch_table import LOWEST, STEPS, mean_pitch, ripples
from myxtts.models.shipped import BASE
from myxtts.models.voice import Voice

SPEECH = Path(__file__).parents[2] / "docs" / "hello.flac"
TILT = np.linspace(1.0, -1.0, N_MELS, dtype=np.float32)
OWN = np.full(N_MELS, -4.0, np.float32)
USUAL = -0.4  # octaves
NOBODY = Voice(np.zeros([1, 8], np.float32), np.zeros([1, 2, 8], np.float32))
LONG = 300  # frames


def wave(coefficient: int) -> np.ndarray:
    return 0.6 * np.cos(np.pi * coefficient * (np.arange(N_MELS) + 0.5) / N_MELS).astype(np.float32)


def harmonics(octaves: float, frames: int = LONG) -> np.ndarray:
    """Log-mel [frames, mels] of a voice that holds its pitch, no two frames alike."""
    row = round((octaves - LOWEST) * STEPS)
    level = np.linspace(0, 0.01, frames, dtype=np.float32)[:, None]
    return np.tile(OWN + ripples()[row], (frames, 1)).astype(np.float32) + level


def noise(frames: int = LONG) -> np.ndarray:
    return np.random.default_rng(1).normal(-4, 1, (frames, N_MELS)).astype(np.float32)


def rehearsed(recording: np.ndarray, say) -> Voice:
    return rehearse(NOBODY, make_reference([recording], 100), OWN, say)


def follows_a_part(recording: np.ndarray):
    """A model that speaks two thirds of how far a recording's pitch is from the usual one, and nothing of its colour,
    but one of its own, which changes with the pitch."""
    pitch = USUAL + (mean_pitch(recording).octaves - USUAL) * 2 / 3

    def say(voice: Voice) -> np.ndarray:
        up = voice.octaves_up or 0.0
        return harmonics(pitch + up) + np.float32(up) * 5 * wave(4)

    return say


@pytest.mark.parametrize("octaves", [-0.9, -0.6, 0.3])
@pytest.mark.parametrize("colour", [TILT, wave(5), wave(15)])
def test_what_is_spoken_has_the_pitch_and_the_colour_of_the_recording(octaves, colour):
    recording = harmonics(octaves) + colour
    say = follows_a_part(recording)
    voice = rehearsed(recording, say)
    assert mean_pitch(say(voice)).octaves == pytest.approx(mean_pitch(recording).octaves, abs=0.02)
    assert abs(mean_pitch(say(NOBODY)).octaves - octaves) > 0.05
    assert np.allclose(mean_spectrum(say(voice) + voice.colour), mean_spectrum(recording), atol=0.15)


def test_no_pitch_is_moved_further_than_a_decoder_can_draw():
    assert rehearsed(harmonics(0.5), lambda voice: harmonics(-1.0)).octaves_up == pytest.approx(0.35)


@pytest.mark.parametrize(("recording", "said"), [(noise(), harmonics(0.0)), (harmonics(0.0), noise())])
def test_without_a_pitch_none_is_moved(recording, said):
    voice = rehearsed(recording, lambda voice: said)
    assert voice.octaves_up is None
    assert np.isfinite(voice.colour).all()


def test_of_a_short_recording_pitch_and_fine_colour_are_followed_in_part():
    """They are those of the few sounds that are in it; what is coarse is followed whole."""
    short, whole = (
        rehearsed(harmonics(-0.3, frames) + wave(3) + wave(15), lambda voice: harmonics(-0.4)) for frames in (86, LONG)
    )
    assert short.octaves_up == pytest.approx(whole.octaves_up / 2, rel=0.05)
    coarse, fine = (wave(each) / np.square(wave(each)).sum() for each in (3, 15))
    assert short.colour @ coarse == pytest.approx(whole.colour @ coarse, rel=0.1)
    assert whole.colour @ fine == pytest.approx(1.0, abs=0.15)
    assert short.colour @ fine == pytest.approx(whole.colour @ fine / 2, rel=0.1)


def test_a_model_of_letters_rehearses_nothing_and_adds_what_its_encoder_was_not_shown():
    """Letters stand for other sounds in each language."""
    frontend = TextFrontend(kind="characters").settings()
    model = make_model(token_table=[*SPECIALS, *"abcdefgh "], voice_reach=1e6, tokens=frontend)
    frames = model.description.reference_frames
    synthesizer = Synthesizer(model, make_reference([noise(90)], frames))
    plain, coarse, fine = (
        synthesizer.hear(make_reference([noise(90) + each], frames)) for each in (0 * TILT, wave(3), wave(12))
    )
    assert plain.octaves_up is None
    assert np.allclose(plain.colour, 0.0, atol=0.01)
    assert np.allclose(coarse.colour, wave(3) * (0.6 - 0.25) / 0.6, atol=0.05)  # the rest is for the encoder
    assert np.allclose(fine.colour, 0.0, atol=0.05)
    assert not np.allclose(fine.vector, plain.vector, atol=1e-3)


def test_a_model_that_knows_few_of_the_sounds_does_not_rehearse():
    description = ModelDescription.load(find_checkpoint(BASE))
    assert len(Script(description).lines_of_symbols(SENTENCES)) == 3
    description.learnt = [*SPECIALS, *"aeiou "]
    assert Script(description).lines_of_symbols(SENTENCES) == []


def test_the_base_knows_every_sound_of_what_is_rehearsed():
    lines = Script(ModelDescription.load(find_checkpoint(BASE))).lines_of_symbols(SENTENCES)
    assert len(lines) == 3
    assert not any(line.skipped for line in lines)


def test_the_pitch_of_speech_is_what_the_model_reads_from_it():
    frames = voice_frames(log_mel(load_clip(SPEECH, AudioSettings())))
    octaves, voiced = pitch_of(frames[None], np.ones([1, len(frames), 1], np.float32)).numpy()[0].T
    assert mean_pitch(frames).octaves == pytest.approx((octaves * voiced).sum() / voiced.sum(), abs=0.01)
    assert mean_pitch(frames).voiced_frames == pytest.approx(voiced.sum(), rel=0.02)


def test_frames_of_crops_that_overlap_count_once_and_keep_their_order():
    frames = noise(250)
    reference = make_reference([frames, frames[:60]], 100)
    assert sum(reference.lengths) > 250
    assert np.array_equal(reference.spoken, frames)


@pytest.fixture(scope="module")
def base() -> Synthesizer:
    return Synthesizer.load(BASE)


def spoken_pitch(base: Synthesizer, voice: Voice, **options) -> float:
    said = base.say("A small brown owl watched us from the chimney of the old mill.", voice, **options)
    return mean_pitch(voice_frames(said.mel)).octaves


@pytest.mark.parametrize("semitones", [-5, 2])
def test_the_base_speaks_at_the_pitch_of_a_recording(base, semitones):
    """Of its own speech, moved to where nobody has spoken."""
    recording = base.say("We walked along the river and talked about the sea.", str(SPEECH), pitch=semitones)
    frames = voice_frames(recording.mel)
    heard = base.hear(make_reference([frames], base.description.reference_frames))
    wanted = mean_pitch(frames).octaves
    away, away_without = (abs(spoken_pitch(base, voice) - wanted) for voice in (heard, heard._replace(octaves_up=None)))
    assert away < 0.12  # octaves: one sentence is spoken higher than another
    assert away < away_without - 0.05
    higher = spoken_pitch(base, heard, pitch=3)
    assert higher == pytest.approx(spoken_pitch(base, heard) + 3 / 12, abs=0.05)
