"""`myxtts serve` as programs use it: by the official client of OpenAI, by Wyoming's, and by clients that misbehave."""

import asyncio
import io
import json
import socket
import warnings

import numpy as np
import pytest
import soundfile
from corpora import write_tone
from serving.client import ask, comment, form, samples
from serving.conftest import end_server, start_server

from myxtts.serving.encoding import formats

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what they import: pydantic, audioop
    import openai
    from wyoming.audio import AudioStart
    from wyoming.info import Describe, Info

pytestmark = pytest.mark.slow  # TensorFlow is loaded twice, here and in the server

TEXT = "one two three. four! six?"


@pytest.fixture(scope="session")
def client(server):
    with openai.OpenAI(
        base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", timeout=300, max_retries=0
    ) as made:
        yield made


@pytest.fixture(scope="session")
def spoken(client) -> np.ndarray:
    """The text, as samples of the wav."""
    answer = client.audio.speech.create(model="anna", voice="alloy", input=TEXT, response_format="wav")
    return samples("wav", answer.content)[0]


def test_it_is_what_the_synthesizer_says(models, spoken):
    from myxtts.inference.speech import limit_peak
    from myxtts.inference.synthesizer import Synthesizer

    speech = Synthesizer.load(models.own).say(TEXT, vocoder="griffin-lim")
    assert len(spoken) == len(speech.audio)
    assert np.corrcoef(spoken, limit_peak(speech.audio))[0, 1] > 0.98


@pytest.mark.parametrize("kind", formats())
def test_every_format_holds_all_of_it(client, spoken, kind):
    answer = client.audio.speech.create(model="anna", voice="default", input=TEXT, response_format=kind)
    decoded, rate = samples(kind, answer.content)
    assert answer.response.headers["X-Synthetic-Speech"] == "MyXTTS"
    assert kind == "pcm" or comment(kind, answer.content) == "Synthetic speech made with MyXTTS"
    assert len(spoken) / 22_050 <= len(decoded) / rate + 1e-3 < len(spoken) / 22_050 + 0.15


def test_a_stream_is_the_same_sound(client, spoken):
    create = client.audio.speech.with_streaming_response.create
    with create(model="anna", voice="default", input=TEXT, response_format="wav") as answer:
        assert answer.headers["transfer-encoding"] == "chunked"
        pieces = [*answer.iter_bytes(1000)]
    np.testing.assert_array_equal(samples("wav", b"".join(pieces))[0], spoken)


def test_speed_language_and_seed(client, spoken):
    def seconds(**options):
        answer = client.audio.speech.create(model="anna", voice="echo", input=TEXT, response_format="pcm", **options)
        return len(answer.content) / 48_000

    assert seconds(speed=2.0) < 0.7 * len(spoken) / 22_050
    assert seconds(extra_body={"language": "de"}) > 0
    with pytest.raises(openai.BadRequestError, match="griffin-lim draws nothing at random"):
        seconds(extra_body={"seed": 3})
    with pytest.raises(openai.BadRequestError, match="speaks en-us, de, not fa"):
        seconds(extra_body={"language": "fa"})


def test_errors_are_those_of_the_client(client):
    create = client.audio.speech.create
    with pytest.raises(openai.NotFoundError) as error:
        create(model="tts-1", voice="alloy", input=TEXT)
    assert error.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as error:
        create(model="anna", voice="nobody", input=TEXT)
    assert error.value.param == "voice"
    with pytest.raises(openai.BadRequestError, match="empty text"):
        create(model="anna", voice="alloy", input="   ")
    with pytest.raises(openai.BadRequestError, match="no voice of its own"):
        create(model="voiceless", voice="alloy", input=TEXT)


def test_models_are_listed(client):
    assert [model.id for model in client.models.list()] == ["anna", "voiceless"]
    assert client.models.retrieve("anna").owned_by == "myxtts"


ODD = [
    "9" * 60, "1e999 ٣٤٥٦٧٨٩ ⅷ ²³", "\u202eabc\u0000def\u200b", "👩‍👩‍👧‍👦 one", "a" * 400, "\U000e0001\ufeff",
    "one.\n" * 8, "😀" * 900,
]  # fmt: skip


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_texts_are_spoken_or_refused(server, text):
    answer = ask(server.port, "POST", "/v1/audio/speech", {"model": "anna", "input": text, "response_format": "opus"})
    assert answer.status in (200, 400), answer.body
    if answer.status == 400:
        assert answer.error["message"]
    else:
        assert len(samples("opus", answer.body)[0])


def test_a_slow_reader_gets_all_of_it(server, spoken):
    body = json.dumps({"model": "anna", "input": TEXT, "response_format": "wav"}).encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        head = f"POST /v1/audio/speech HTTP/1.0\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        data = b""
        while piece := connection.recv(512):
            data += piece
    np.testing.assert_array_equal(samples("wav", data.partition(b"\r\n\r\n")[2])[0], spoken)


# ---- voices ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def clip(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("clip") / "clip.wav"
    write_tone(path, 3.0, seed=1)
    return path.read_bytes()


def add(server, clip, **fields):
    return ask(server.port, "POST", "/v1/audio/voices", *form(fields, clip))


def test_a_voice_is_added_used_and_deleted(server, client, spoken, clip):
    added = add(server, clip, name="tom", consent="Tom, by letter of 3 May")
    assert (added.status, added.json["model"]) == (201, "anna")
    assert sorted(path.name for path in server.voices.iterdir()) == ["tom.json", "tom.safetensors"]
    listed = ask(server.port, "GET", "/v1/audio/voices").json["data"]
    assert [(voice["id"], voice["model"]) for voice in listed] == [("default", "anna"), ("tom", "anna")]
    answer = client.audio.speech.create(model="anna", voice="tom", input=TEXT, response_format="wav")
    assert not np.array_equal(samples("wav", answer.content)[0], spoken)
    assert add(server, clip, name="tom", consent="Tom").status == 409
    with pytest.raises(openai.BadRequestError, match="was added for the model anna"):
        client.audio.speech.create(model="voiceless", voice="tom", input=TEXT)
    assert ask(server.port, "DELETE", "/v1/audio/voices/tom").json["deleted"] is True
    assert not [*server.voices.iterdir()]
    assert ask(server.port, "DELETE", "/v1/audio/voices/tom").status == 404


def test_a_clip_of_noise_is_taken_with_a_warning(models, tmp_path):
    sound, noise = io.BytesIO(), 0.1 * np.random.default_rng(0).standard_normal(3 * 22_050)
    soundfile.write(sound, noise, 22_050, format="WAV")
    server = start_server(models, tmp_path)
    added = add(server, sound.getvalue(), name="hiss", consent="nobody's voice")
    (warning,) = added.json["warnings"]
    assert added.status == 201
    assert warning.startswith("the reference clip hardly sounds like speech: its level hardly changes")
    described = ask(server.port, "GET", "/openapi.json").json["paths"]["/v1/audio/voices"]["post"]["responses"]["201"]
    assert set(described["content"]["application/json"]["schema"]["properties"]) == set(added.json)
    assert f"the voice hiss was added, but {warning}" in end_server(server)


def test_bad_uploads_are_refused_and_leave_nothing(server, clip):
    good = {"name": "eve", "consent": "Eve"}
    for fields, sound, param in (
        (good | {"name": "../eve"}, clip, "name"),
        (good | {"name": "alloy"}, clip, "name"),
        (good | {"consent": " "}, clip, "consent"),
        (good, None, "audio_sample"),
        (good, b"", "audio_sample"),
        (good, b"RIFF" + bytes(200), "audio_sample"),
        (good, clip[:4000], "audio_sample"),
    ):
        answer = add(server, sound, **fields)
        assert (answer.status, answer.error["param"]) == (400, param), answer.body
        assert "/tmp" not in answer.error["message"]
    assert (
        ask(server.port, "POST", "/v1/audio/voices", b"--x", {"Content-Type": "multipart/form-data; boundary=x"}).status
        == 400
    )
    assert add(server, bytes(17 << 20), **good).status == 413
    assert not [*server.voices.iterdir()]


# ---- Wyoming ---------------------------------------------------------------------------------------------------------


def talk(port: int, *events, last: str) -> list:
    """What comes back until an event of the type `last`."""
    from wyoming.client import AsyncTcpClient

    async def run():
        received = []
        async with AsyncTcpClient("127.0.0.1", port) as connection:
            for event in events:
                await connection.write_event(event.event())
            while not received or received[-1].type != last:
                received.append(await asyncio.wait_for(connection.read_event(), 300))
                assert received[-1] is not None
        return received

    return asyncio.run(run())


def sound_of(events) -> np.ndarray:
    assert [event.type for event in events if event.type != "audio-chunk"][:2] == ["audio-start", "audio-stop"]
    note = {"comment": "Synthetic speech made with MyXTTS"}
    assert events[0].data == {"rate": 22_050, "width": 2, "channels": 1} | note
    assert AudioStart.from_event(events[0]).rate == 22_050  # what clients do not know harms none
    return np.frombuffer(b"".join(event.payload or b"" for event in events), "<i2")


def test_wyoming_describes_its_voices(server):
    (event,) = talk(server.wyoming, Describe(), last="info")
    (program,) = Info.from_event(event).tts
    assert program.supports_synthesize_streaming
    assert [(voice.name, voice.languages) for voice in program.voices] == [("anna", ["en-US", "de"])]


def test_wyoming_speaks_a_text(server, spoken):
    from wyoming.tts import Synthesize, SynthesizeVoice

    events = talk(server.wyoming, Synthesize(TEXT, SynthesizeVoice(name="anna")), last="audio-stop")
    np.testing.assert_allclose(sound_of(events) / 32768, spoken, atol=1e-3)
    (error,) = talk(server.wyoming, Synthesize(TEXT, SynthesizeVoice(name="nobody")), last="error")
    assert "expected one of: anna" in error.data["text"]
    assert talk(server.wyoming, Synthesize("one", SynthesizeVoice(language="de")), last="audio-stop")


def test_wyoming_speaks_while_the_text_still_comes(server, spoken):
    from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop

    chunks = [SynthesizeChunk(TEXT[start : start + 5]) for start in range(0, len(TEXT), 5)]
    sent = [SynthesizeStart(), *chunks, Synthesize(TEXT), SynthesizeStop()]
    events = talk(server.wyoming, *sent, last="synthesize-stopped")
    sound = sound_of(events)
    assert 0.5 * len(spoken) < len(sound) <= len(spoken)  # the pauses between the sentences are the sender's


def test_wyoming_survives_what_is_not_wyoming(server):
    for rubbish in (
        b"GET / HTTP/1.1\r\n\r\n",
        b'{"type": "synthesize", "data_length": 99999999}\n',
        b"[]\n",
        b"\xff\n",
    ):
        with socket.create_connection(("127.0.0.1", server.wyoming), timeout=60) as connection:
            connection.sendall(rubbish)
            assert connection.recv(100) == b""
    assert ask(server.port, "GET", "/health").status == 200


# ---- the end ---------------------------------------------------------------------------------------------------------


def test_it_finishes_what_is_being_spoken(models, tmp_path):
    import http.client

    server = start_server(models, tmp_path)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
    body = {"model": "anna", "input": "one two three four. " * 8, "response_format": "wav"}
    connection.request("POST", "/v1/audio/speech", json.dumps(body))
    answer = connection.getresponse()
    first = answer.read(1000)
    server.process.terminate()
    data = first + answer.read()  # an IncompleteRead if it was cut
    assert len(samples("wav", data)[0]) > 22_050
    connection.close()
    assert "Traceback" not in end_server(server)
