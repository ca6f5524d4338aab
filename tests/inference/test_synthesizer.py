"""What `say` does with good requests and with every kind of bad one."""

import logging
import subprocess
import sys

import numpy as np
import pytest
import soundfile
from corpora import write_tone

from myxtts.errors import CheckpointDamaged, CheckpointError, SpeechError
from myxtts.features.mel import HOP_SAMPLES, LOG_FLOOR
from myxtts.features.text import TextFrontend, TokenTable
from myxtts.inference.longform import SENTENCE_SECONDS
from myxtts.inference.reference import load_reference, make_reference, read_references, save_reference
from myxtts.inference.script import Script
from myxtts.inference.speakers import load_speaker
from myxtts.inference.speech import Speech
from myxtts.inference.synthesizer import Synthesizer
from myxtts.inference.vocoder import VOCODERS, Vocoder, find_vocoder
from myxtts.models import weights
from myxtts.models.description import REFERENCE_FRAMES, ModelDescription


def traces(synthesizer: Synthesizer) -> int:
    graphs = [synthesizer._synthesize, synthesizer._hear]
    return sum(graph.experimental_get_tracing_count() for graph in graphs)


# ---- good requests ---------------------------------------------------------------------------------------------------


def test_a_text_becomes_finite_sound_with_a_frame_for_every_hop(synthesizer, clips):
    speech = synthesizer.say("Hello there.", voice=clips[0])
    assert speech.audio.dtype == np.float32
    assert len(speech.audio) == len(speech.mel) * HOP_SAMPLES > 0
    assert np.isfinite(speech.audio).all()
    assert speech.seconds == len(speech.audio) / speech.sample_rate
    assert {"text_ms", "voice_ms", "mel_ms", "vocoder_ms", "first_audio_ms"} == set(speech.timings)


def test_the_same_request_gives_the_same_bits_and_another_voice_other_ones(synthesizer, clips):
    first, again = (synthesizer.say("Hello.", voice=clips[0]) for _ in range(2))
    assert np.array_equal(first.audio, again.audio)
    other = synthesizer.say("Hello.", voice=clips[1])
    assert first.mel.shape != other.mel.shape or not np.array_equal(first.mel, other.mel)


def test_several_clips_are_averaged(synthesizer, clips):
    """Two clips of one crop each: the voice is the mean of their voices, but for its last number, the pitch, which is
    that of all frames together."""
    one, two = synthesizer.hear(clips[0]), synthesizer.hear([clips[0], clips[0]])
    np.testing.assert_allclose(one.vector[:, :-1], two.vector[:, :-1], atol=1e-5)
    np.testing.assert_allclose(one.vector[:, -1], two.vector[:, -1], atol=0.01)  # surer with twice the frames
    crops = [read_references(path, synthesizer.description) for path in clips[:2]]
    singles = np.concatenate([synthesizer.model.voice(each.crops, each.lengths).vector for each in crops])
    share = np.array([len(reference.lengths) for reference in crops])[:, None] / sum(len(r.lengths) for r in crops)
    together = synthesizer.hear(clips[:2]).vector[0]
    np.testing.assert_allclose(together[:-1], (singles * share).sum(0)[:-1], atol=1e-4)
    assert singles[:, -1].min() - 0.01 <= together[-1] <= singles[:, -1].max() + 0.01


def test_texts_of_any_length_and_speed_are_traced_once(synthesizer, clips):
    synthesizer.say("One.", voice=clips[0])
    before = traces(synthesizer)
    for number, text in enumerate(["Two and three.", "A much longer sentence than all the others before it. End."]):
        synthesizer.say(text, voice=clips[: number + 1], speed=1.0 + number)
    assert traces(synthesizer) == before


def test_what_was_loaded_to_speak_waits_for_no_tracing_at_its_first_text(model_folder):
    speaker = load_speaker(model_folder, find_vocoder("griffin-lim"))
    before = traces(speaker)
    speaker.say("One.", vocoder="griffin-lim")
    assert traces(speaker) == before == 2


def test_a_stream_gives_the_first_sentence_before_the_second_is_computed(synthesizer, clips):
    voice = synthesizer.hear(clips[0])
    text = "First one. Second one. Third one."
    whole = synthesizer.say(text, voice=voice)
    computed = []
    ears = synthesizer._synthesize
    synthesizer._synthesize = lambda *request: computed.append(1) or ears(*request)
    try:
        stream = synthesizer.stream(text, voice)
        first = next(stream)
        assert len(computed) == 1
        rest = list(stream)
    finally:
        synthesizer._synthesize = ears
    assert [piece.text for piece in [first, *rest]] == ["First one.", "Second one.", "Third one."]
    assert np.array_equal(np.concatenate([piece.audio for piece in [first, *rest]]), whole.audio)
    pause = round(SENTENCE_SECONDS * 22050 / HOP_SAMPLES)
    assert np.all(first.mel[-pause:] == LOG_FLOOR)
    assert not first.audio[-pause * HOP_SAMPLES :].any()
    assert rest[-1].audio[-2 * HOP_SAMPLES : -HOP_SAMPLES].any()


def test_sentences_do_not_depend_on_what_was_said_before(synthesizer, clips):
    """No drift: the same sentence at the end of a long text is the same sound."""
    stream = list(synthesizer.stream("Say this. " * 12, voice=clips[0]))
    assert len(stream) == 12
    assert np.array_equal(stream[0].mel, stream[-2].mel)


def test_speed_shortens(synthesizer, clips):
    """An untrained model gives every letter one frame or two, so the text is long and the change large."""
    synthesizer.model.duration_scale.assign(8.0)
    try:
        seconds = [synthesizer.say("a text to be said", voice=clips[0], speed=s).seconds for s in (0.5, 1.0, 2.0)]
    finally:
        synthesizer.model.duration_scale.assign(1.0)
    assert seconds[0] / seconds[1] == pytest.approx(2, rel=0.1)
    assert seconds[1] / seconds[2] == pytest.approx(2, rel=0.1)


def test_the_models_own_voice_is_taken_when_none_is_given(synthesizer, model_folder):
    own = load_reference(model_folder, REFERENCE_FRAMES)
    assert own.crops.shape == (4, REFERENCE_FRAMES, 80)
    assert own.lengths.tolist() == [REFERENCE_FRAMES] * 3 + [50]
    assert synthesizer.say("Hello.").seconds > 0


class Silent:
    def pieces(self, mel, chunk_frames):
        yield np.zeros(len(mel) * HOP_SAMPLES, np.float32)


def test_ten_thousand_characters_are_said_in_pieces(synthesizer, clips, monkeypatch):
    monkeypatch.setitem(VOCODERS, "silent", lambda: Vocoder("silent", Silent))
    text = "One more sentence for the test. " * 320
    pieces = 0
    for speech in synthesizer.stream(text[:10_000], voice=clips[0], vocoder="silent", speed=4.0):
        pieces += 1
        assert len(speech.mel) < 2000
    assert pieces == 313


def test_pitch_goes_up_and_down(synthesizer, clips):
    low, same, high = (synthesizer.say("Hi.", voice=clips[0], pitch=semitones).mel for semitones in (-7, 0, 7))
    np.testing.assert_array_equal(same, synthesizer.say("Hi.", voice=clips[0]).mel)
    assert all(np.abs(moved - same).mean() > 1e-4 for moved in (low, high))


def test_reading_a_voice_takes_crops_of_the_trained_length():
    mel = np.arange(1000, dtype=np.float32)[:, None].repeat(80, axis=1)
    crops, lengths, _, frames = make_reference([mel, mel[:10]], REFERENCE_FRAMES)
    assert frames == 1010
    assert crops.shape == (7, REFERENCE_FRAMES, 80)
    assert lengths.tolist() == [REFERENCE_FRAMES] * 6 + [10]
    assert crops[0, 0, 0] == 0
    assert crops[5, -1, 0] == 999
    assert np.all(crops[6, 10:] == np.float32(LOG_FLOOR))
    assert len(make_reference([np.zeros((100_000, 80))], REFERENCE_FRAMES).crops) == 8


# ---- saving ----------------------------------------------------------------------------------------------------------


def test_a_saved_file_is_16_bit_and_never_clipped(tmp_path):
    loud = np.sin(np.arange(5000) / 10).astype(np.float32) * 3
    Speech(loud, np.zeros((1, 80), np.float32)).save(tmp_path / "a.wav")
    audio, rate = soundfile.read(tmp_path / "a.wav")
    assert soundfile.info(tmp_path / "a.wav").subtype == "PCM_16"
    assert rate == 22050
    np.testing.assert_allclose(audio, loud / 3 * 0.98, atol=1e-4)
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]


def test_a_file_that_cannot_be_written_says_why(tmp_path):
    speech = Speech(np.zeros(10, np.float32), np.zeros((1, 80), np.float32))
    with pytest.raises(SpeechError, match=r"a\.mp3.*\.wav"):
        speech.save(tmp_path / "a.mp3")
    with pytest.raises(SpeechError, match="No such file"):
        speech.save(tmp_path / "nowhere" / "a.wav")


# ---- bad requests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("", {}, "empty text"),
        (" \n\t ", {}, "empty text"),
        ("?! ...", {}, "nothing to say"),
        ("👍👍", {}, "nothing is left to say.*👍"),
        ("سلام دنیا", {}, "nothing is left to say.*س"),
        ("Hi.", {"speed": 0.1}, "speed 0.1, expected 0.25 to 4"),
        ("Hi.", {"speed": float("nan")}, "speed"),
        ("Hi.", {"pitch": 13}, "found pitch 13, expected -12 to 12"),
        ("Hi.", {"vocoder": "nothing"}, "griffin-lim"),
        ("Hi.", {"language": "fa"}, "speaks en-us, de, not fa"),
        ("Hi.", {"voice": []}, "at least one"),
        ("Hi.", {"voice": "/no/such/file.wav"}, "no file /no/such/file.wav"),
    ],
)
def test_a_request_that_cannot_be_met_says_why_before_anything_is_spoken(synthesizer, text, options, says):
    with pytest.raises(SpeechError, match=says):
        synthesizer.stream(text, **options)


def test_references_that_cannot_be_used(synthesizer, tmp_path):
    (tmp_path / "text.wav").write_text("not a sound")
    soundfile.write(tmp_path / "silent.wav", np.zeros(22050), 22050)
    write_tone(tmp_path / "short.wav", 0.3)
    for name, says in [
        ("text", "decoded"),
        ("silent", "loudest sample"),
        ("short", r"0\.3. s of sound.*at least 0\.5"),
    ]:
        with pytest.raises(SpeechError, match=f"{name}.wav.*{says}"):
            synthesizer.say("Hi.", voice=tmp_path / f"{name}.wav")


def test_without_a_voice_a_model_asks_for_one(voiceless_synthesizer):
    with pytest.raises(SpeechError, match="--voice"):
        voiceless_synthesizer.say("Hi.")


def test_unknown_symbols_are_left_out_and_named_once(synthesizer, clips, caplog):
    with caplog.at_level(logging.WARNING):
        speech = synthesizer.say("Hello 👍 ☃ there. One ☃ more 👍.", voice=clips[0])
    of_texts = [record for record in caplog.records if record.name == "myxtts.inference.script"]
    assert [record.getMessage().rpartition(": ")[2] for record in of_texts] == ["👍 ☃"]
    assert speech.skipped == "👍☃"


def test_languages_by_any_name(synthesizer, voiceless_synthesizer):
    assert synthesizer._script.language(None) == 0
    assert synthesizer._script.language("de") == 1
    assert synthesizer._script.language("EN_us") == 0
    assert voiceless_synthesizer._script.language("en") == 0
    assert voiceless_synthesizer._script.language("en-gb") == 0  # the same language of another region
    with pytest.raises(SpeechError, match="en-us"):
        voiceless_synthesizer._script.language("fr")


# ---- models that cannot be used --------------------------------------------------------------------------------------


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(CheckpointError, match="holds no model"):
        Synthesizer.load(tmp_path)


def test_a_damaged_voice_of_its_own_is_named(tmp_path):
    weights.save(tmp_path / "voice.safetensors", {"reference": np.zeros((2, 7, 80), np.float16)})
    with pytest.raises(CheckpointDamaged, match=r"reference \[2, 7, 80\]"):
        load_reference(tmp_path, REFERENCE_FRAMES)


def test_a_voice_is_heard_in_crops_of_the_length_that_the_model_was_trained_with(tmp_path, clips, model_writer):
    folder = model_writer(tmp_path / "model", ["en-us"], reference_frames=64)
    mel = np.random.default_rng(0).normal(-5, 2, (100, 80))
    save_reference(folder, [mel], 64)
    synthesizer = Synthesizer.load(folder)
    assert read_references(clips[0], synthesizer.description).crops.shape[1:] == (64, 80)
    assert synthesizer.hear(clips[0]).vector.shape[0] == synthesizer.hear().vector.shape[0] == 1
    save_reference(folder, [mel], 65)
    with pytest.raises(CheckpointDamaged, match=r"expected lengths \[n\] and reference \[n, 64, 80\]"):
        Synthesizer.load(folder)


def test_griffin_lim_and_splitting_need_no_tensorflow():
    code = "import sys, myxtts.inference.vocoder, myxtts.inference.longform; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- phonemes --------------------------------------------------------------------------------------------------------


def test_letters_that_no_voice_can_read_do_not_silence_their_sentence(caplog):
    description = ModelDescription(
        token_table=list(TokenTable.base().symbols), languages=["English"], tokens=TextFrontend().settings()
    )
    script = Script(description)
    plain = script.lines("Hello there.", script.language("en"))[0]
    strange = script.lines("Hello 𓀀 there. Bye.", script.language("en-US"))
    assert strange[0].skipped == "𓀀"
    assert strange[0].tokens.tolist() == plain.tokens.tolist()
    assert [line.text for line in strange] == ["Hello 𓀀 there.", "Bye."]
    assert "𓀀" in caplog.text
    with pytest.raises(SpeechError, match="English"):
        script.language("klingonese")
    with pytest.raises(SpeechError, match="nothing is left.*𓀀"):
        script.lines("𓀀", 0)
