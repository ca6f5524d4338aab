"""How a stranger is followed: the text is read in a voice near to the model's own, the frames are drawn in one further
away, beyond what was learnt; direction, pitch and colour stay."""

import numpy as np
import pytest
from small_models import make_model

from myxtts.features.mel import LOG_FLOOR
from myxtts.features.token_table import TokenTable
from myxtts.inference.reference import make_reference
from myxtts.inference.synthesizer import Synthesizer
from myxtts.models.voice import Voice, distance, follow

TABLE = list(TokenTable.base().symbols)


def voice(seed: int) -> Voice:
    rng = np.random.default_rng(seed)
    return Voice(rng.normal(size=(1, 8)).astype(np.float32), rng.normal(size=(1, 2, 8)).astype(np.float32))


def shares(shown: Voice, other: Voice, own: Voice) -> tuple[np.ndarray, np.ndarray]:
    """How far on the way from the own voice to another one vector and tokens are."""
    way = (other.vector - own.vector)[:, :-1]
    return (shown.vector - own.vector)[:, :-1] / way, (shown.tokens - own.tokens) / (other.tokens - own.tokens)


@pytest.mark.parametrize("follows_pitch", [True, False])
def test_a_far_voice_is_brought_nearer_in_its_own_direction_more_so_where_the_text_is_read(follows_pitch):
    own, other = voice(1), voice(2)
    far = distance(other, own, follows_pitch)
    followed = follow(other, own, far / 4, follows_pitch)
    for part, share in zip(shares(followed.reader, other, own), (0.35 / 4, 1 / 4), strict=True):
        assert np.allclose(part, share, atol=1e-3)
    for part in shares(followed, other, own):
        assert np.allclose(part, 1.2 * 1.6 / 4, atol=1e-3)
    for each in (followed, followed.reader):
        assert (each.vector[0, -1] == other.vector[0, -1]) == follows_pitch


def test_the_text_is_read_in_a_near_voice_as_it_is():
    own, other = voice(1), voice(2)
    followed = follow(other, own, 100.0, True)
    assert all(np.allclose(part, 1.0, atol=1e-5) for part in shares(followed.reader, other, own))
    assert all(np.allclose(part, 1.2, atol=1e-3) for part in shares(followed, other, own))


def test_the_own_voice_followed_is_itself():
    own = voice(1)
    followed = follow(own, own, 1.0, True)
    for each in (followed, followed.reader):
        assert np.array_equal(each.vector, own.vector)
        assert np.array_equal(each.tokens, own.tokens)


def clip(seed: int, level: float) -> np.ndarray:
    return np.random.default_rng(seed).normal(level, 2, (90, 80)).astype(np.float32)


def speaker(reach: float) -> Synthesizer:
    model = make_model(token_table=TABLE, voice_reach=reach)
    return Synthesizer(model, make_reference([clip(3, -5)], model.description.reference_frames))


def shown(synthesizer: Synthesizer, mel: np.ndarray) -> Voice:
    return synthesizer.hear(make_reference([mel], synthesizer.description.reference_frames))


def away(reach: float) -> float:
    """How far from the model's own voice another one is heard."""
    synthesizer = speaker(reach)
    follows = synthesizer.description.follows_pitch
    return distance(shown(synthesizer, clip(4, -3)), synthesizer.hear(), follows)


def test_a_model_that_knows_its_reach_keeps_to_it():
    far = away(1e6)
    assert far > 0.2
    assert away(far / 1.2 / 4) == pytest.approx(far * 1.6 / 4, rel=1e-4)
    assert away(2 * far) == pytest.approx(far, rel=1e-4)


def test_the_text_hears_what_reads_it_and_the_frames_what_draws_them():
    """Another vector for reading changes how long the text lasts; another one for drawing does not."""
    synthesizer = speaker(1e6)
    heard = shown(synthesizer, clip(4, -3))
    plain = synthesizer.say("a b c d", heard).mel
    drawn = synthesizer.say("a b c d", heard._replace(vector=heard.vector + 30)).mel
    read = synthesizer.say("a b c d", heard._replace(reading_vector=heard.reading_vector + 30)).mel
    attended = synthesizer.say("a b c d", heard._replace(reading_tokens=heard.reading_tokens * -30)).mel
    coloured = synthesizer.say("a b c d", heard._replace(tokens=heard.tokens * -30)).mel
    assert plain.shape == drawn.shape == coloured.shape
    assert not np.allclose(plain, coloured, atol=1e-3)
    assert not np.allclose(plain, drawn, atol=1e-3)
    assert plain.shape != read.shape
    assert plain.shape != attended.shape or not np.allclose(plain, attended, atol=1e-3)
    same = synthesizer.say("a b c d", heard.reader).mel
    both = synthesizer.say("a b c d", Voice(*heard.reader[:2], None, *heard.reader[:2])).mel
    assert np.array_equal(same, both)


def test_the_own_voice_is_never_moved():
    known, unknown = speaker(0.01).hear(), speaker(0.0).hear()
    assert np.array_equal(known.vector, unknown.vector)
    assert known.colour is None


def test_a_model_that_does_not_know_its_reach_hears_a_recording_as_it_is():
    synthesizer = speaker(0.0)
    reference = make_reference([clip(4, -3)], synthesizer.description.reference_frames)
    assert np.array_equal(synthesizer.hear(reference).tokens, synthesizer.encode(reference).tokens)
    assert synthesizer.hear(reference).colour is None


TILT = np.linspace(1.0, -1.0, 80, dtype=np.float32)


def test_a_microphone_changes_the_colour_of_what_is_spoken_and_not_how_it_is_spoken():
    """Two recordings that differ by more than voices do, by a smooth curve over the bins, have one voice; the curve is
    in what is said."""
    synthesizer = speaker(1e6)
    plain, tilted = (shown(synthesizer, clip(4, -3) + curve) for curve in (TILT, 2 * TILT))
    for ours, theirs in ((plain.tokens, tilted.tokens), (plain.vector, tilted.vector)):
        assert np.allclose(ours, theirs, atol=0.05 * np.abs(ours).max())
    assert np.allclose(tilted.colour - plain.colour, TILT, atol=0.1)
    text = "a"
    spoken = [synthesizer.say(text, plain._replace(colour=voice.colour)).mel for voice in (plain, tilted)]
    audible = spoken[0].min(axis=0) > LOG_FLOOR + 2
    assert audible.any()
    assert np.allclose((spoken[1] - spoken[0])[:, audible], TILT[audible], atol=0.1)


def test_a_colour_that_voices_have_is_shown_to_the_encoder():
    synthesizer = speaker(1e6)
    plain, tilted = (shown(synthesizer, clip(4, -3) + curve) for curve in (0, TILT / 4))
    apart = np.linalg.norm(tilted.vector - plain.vector)
    further = np.linalg.norm(shown(synthesizer, clip(4, -3) + TILT).vector - tilted.vector)
    assert apart > 0.01
    assert further < 2 * apart  # of what is three times as far away


def test_no_recording_has_more_colour_than_a_voice_can():
    whistle = np.full((90, 80), LOG_FLOOR, np.float32)
    whistle[:, 40] = 0.0
    assert np.abs(shown(speaker(1.0), whistle).colour).max() <= 5.0


def test_a_quiet_recording_is_no_quiet_voice():
    synthesizer = speaker(1e6)
    plain, quiet = (shown(synthesizer, clip(4, -3) - level) for level in (0, 3.5))
    assert np.allclose(plain.tokens, quiet.tokens, atol=1e-3)
    loudness = plain.colour.mean() - quiet.colour.mean()
    assert np.allclose(plain.colour - quiet.colour, loudness, atol=1e-3)
    assert 0 < loudness < 3.2  # of 3.5 nepers, or 30 dB
