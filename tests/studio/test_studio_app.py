"""The studio's routes in this process: who is answered, what is taken, what is said."""

import io
import json
import sys
import time
from shutil import copytree

import numpy as np
import psutil
import pytest
import soundfile
from corpora import write_tone
from report import write_long_run
from starlette.testclient import TestClient

from myxtts.config.config import preset_names
from myxtts.models.shipped import BASE, shipped
from myxtts.serving.worker import Worker
from myxtts.studio import tasks
from myxtts.studio.app import make_studio
from myxtts.studio.live import Live
from myxtts.studio.stage import Stage
from myxtts.studio.tasks import running
from myxtts.studio.workshop import Workshop

HOME = "http://127.0.0.1:8021"
OURS = {"x-myxtts": "studio"}


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path / "voices")


@pytest.fixture
def client(workshop):
    stage = Stage(workshop)
    app = make_studio(workshop, stage, Worker(4, stage.tidy), [])
    with TestClient(app, base_url=HOME, headers=OURS) as opened:
        yield opened


@pytest.fixture
def anna(client):
    answer = client.post("/studio/voices", json={"title": "Anna", "language": "en-us", "consent": "my own"})
    assert answer.status_code == 201
    return "/studio/voices/anna"


def wav(samples, rate=22050):
    file = io.BytesIO()
    soundfile.write(file, np.asarray(samples, np.float32), rate, format="WAV", subtype="PCM_16")
    return file.getvalue()


@pytest.fixture(scope="module")
def tone(tmp_path_factory):
    path = tmp_path_factory.mktemp("tone") / "tone.wav"
    write_tone(path, 1.0, rate=48000)
    return path.read_bytes()


def error_of(answer):
    return answer.status_code, answer.json()["error"]["code"]


def pretend_to_check(workshop):
    """As if this very process were checking the recordings of Anna."""
    me, folder = psutil.Process(), workshop.folder / "anna" / "jobs" / "check"
    folder.mkdir(parents=True)
    about = {"kind": "check", "pid": me.pid, "born": me.create_time(), "started": 0}
    (folder / "job.json").write_text(json.dumps(about), encoding="utf-8")


# ---- who is answered -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8021", "192.168.1.7:8021", "127.0.0.1.evil.example", "[", ""]
)
def test_another_name_for_this_machine_is_refused(client, host):
    """A page of another site may have its name point here; then the browser sends that name."""
    for path in ("/", "/studio", "/v1/models", "/health"):
        assert error_of(client.get(path, headers={"host": host})) == (421, "wrong_host")


@pytest.mark.parametrize("host", ["127.0.0.1:8021", "localhost:8021", "[::1]:8021", "localhost:9000"])
def test_this_machine_is_answered(client, host):
    assert client.get("/studio", headers={"host": host}).status_code == 200


def test_another_sites_page_is_refused(client, anna):
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:9999"},
                    {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}):  # fmt: skip
        assert error_of(client.get("/studio", headers=headers)) == (403, "cross_origin")
        assert error_of(client.post(f"{anna}/job", json={"kind": "check"}, headers=headers)) == (403, "cross_origin")


def test_a_link_to_the_page_may_be_followed(client):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=headers).status_code == 200
    assert client.post("/studio/voices", json={}, headers=headers).status_code == 403


def test_a_form_of_another_page_cannot_start_anything(client, anna):
    del client.headers["x-myxtts"]
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert error_of(client.request(method, f"{anna}/job", json={"kind": "check"})) == (403, "not_our_page")


def test_what_is_answered_may_run_nothing_but_our_files(client):
    for path in ("/", "/page/app.js", "/studio", "/nothing", "/v1/models"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
    page = client.get("/").text
    assert "style=" not in page
    assert "<script>" not in page
    assert "//" not in page.replace("<!doctype", "")  # nothing from elsewhere


def test_only_the_files_of_the_page_are_sent(client):
    assert client.get("/page/app.js").headers["content-type"].startswith("text/javascript")
    for path in ("/page/../app.py", "/page/%2e%2e/app.py", "/page//etc/passwd", "/page/"):
        assert client.get(path).status_code == 404


# ---- voices and clips ------------------------------------------------------------------------------------------------


def test_a_clip_becomes_plain_wav_under_a_name_of_ours(client, anna, workshop, tone):
    files = {"sound": ("../../../etc/passwd.wav", tone)}
    added = client.post(f"{anna}/clips", files=files, data={"text": "Hello there."})
    assert added.status_code == 201
    assert added.json() == {"id": "passwd", "text": "Hello there.", "seconds": 1.0}
    sound = soundfile.info(io.BytesIO(client.get(f"{anna}/clips/passwd").content))
    assert (sound.samplerate, sound.channels, sound.subtype) == (48000, 1, "PCM_16")
    inside = {path.relative_to(workshop.folder).as_posix() for path in workshop.folder.rglob("*") if path.is_file()}
    assert inside == {"anna/voice.json", "anna/corpus/manifest.jsonl", "anna/corpus/wavs/passwd.wav"}
    assert client.get(anna).json()["clips"] == 1


def test_a_retake_takes_the_place_of_the_first_take(client, anna, tone):
    first = client.post(f"{anna}/clips", files={"sound": ("read.wav", tone)}, data={"text": "One."}).json()["id"]
    client.post(f"{anna}/clips", files={"sound": ("read.wav", tone)}, data={"text": "One.", "instead_of": first})
    assert [row["text"] for row in client.get(f"{anna}/clips").json()["clips"]] == ["One."]


@pytest.mark.parametrize(
    ("sound", "reason"),
    [(b"not a sound", "undecodable"), (b"", "undecodable"), (wav(np.zeros(22050)), "silent"), (wav([]), "empty_audio")],
)
def test_what_is_no_speech_is_refused_at_once(client, anna, sound, reason):
    answer = client.post(f"{anna}/clips", files={"sound": ("a.wav", sound)}, data={"text": "x"})
    assert error_of(answer) == (400, reason)
    assert "/tmp" not in answer.text
    assert client.get(anna).json()["clips"] == 0


def test_texts_are_mended_and_clips_removed(client, anna, tone):
    client.post(f"{anna}/clips", files={"sound": ("a.wav", tone)}, data={"text": ""})
    assert client.put(f"{anna}/clips/a", json={"text": "Now it has one."}).status_code == 200
    assert client.get(f"{anna}/clips").json()["clips"] == [
        {"id": "a", "text": "Now it has one.", "seconds": 1.0, "problems": []}
    ]
    assert client.put(f"{anna}/clips/a", json={"text": 3}).status_code == 400
    assert client.delete(f"{anna}/clips/a").status_code == 200
    assert client.delete(f"{anna}/clips/a").status_code == 404


def test_a_voice_is_deleted_with_all_it_has(client, anna, workshop, tone):
    client.post(f"{anna}/clips", files={"sound": ("a.wav", tone)}, data={"text": "One."})
    assert client.delete(anna).status_code == 200
    assert [*workshop.folder.iterdir()] == []
    assert client.get("/studio").json()["voices"] == []
    assert error_of(client.delete(anna)) == (404, "unknown_voice")
    assert client.delete("/studio/voices/..%2F..%2Fetc").status_code == 404


def test_a_deleted_voice_speaks_no_more(client, anna, workshop):
    copytree(shipped(BASE), workshop.folder / "anna" / "runs" / "run-1" / "checkpoints" / "last")
    assert len(client.get("/studio/models").json()["models"]) == 2
    client.delete(anna)
    assert [each["id"] for each in client.get("/studio/models").json()["models"]] == ["base"]
    assert [each["id"] for each in client.get("/v1/models").json()["data"]] == ["base"]
    assert client.post("/studio/speak", json={"model": "anna.run-1", "text": "One."}).status_code == 404


def test_a_voice_that_is_worked_on_is_not_deleted(client, anna, workshop):
    pretend_to_check(workshop)
    assert error_of(client.delete(anna)) == (409, "busy")
    assert client.get(anna).status_code == 200


@pytest.mark.parametrize("language", ["en-us", "fa", "de"])
def test_sentences_to_read_are_those_that_were_not_read(client, tone, language):
    made = client.post("/studio/voices", json={"title": "x", "language": language, "consent": "yes"}).json()["name"]
    first, second, *_ = client.get(f"/studio/voices/{made}/sentences").json()["sentences"]
    client.post(f"/studio/voices/{made}/clips", files={"sound": ("a.wav", tone)}, data={"text": first})
    assert client.get(f"/studio/voices/{made}/sentences").json()["sentences"][0] == second


def test_a_text_of_ones_own_is_read_sentence_by_sentence(client, anna):
    answer = client.post(f"{anna}/split", json={"text": "One came. Then two came!\n\nThree did not."}).json()
    assert answer["sentences"] == ["One came.", "Then two came!", "Three did not."]


# ---- what is started -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wish",
    [
        {}, {"kind": "rm"}, {"kind": "start"}, {"kind": "check", "list": "/etc/passwd"}, {"kind": "train"},
        {"kind": "train", "steps": 0}, {"kind": "train", "steps": "9; rm"},
        {"kind": "demo", "utterances": 10**9, "engine": "espeak"},
        {"kind": "demo", "utterances": 4, "engine": "--help"}, {"kind": "evaluate", "run": "../..", "sentences": 1},
        [], 3,
    ],
)  # fmt: skip
def test_nothing_else_than_the_page_offers_can_be_started(client, anna, workshop, wish):
    assert client.post(f"{anna}/job", json=wish).status_code in (400, 404, 409)
    assert not (workshop.folder / "anna" / "jobs").exists()


def test_training_comes_after_packing(client, anna):
    answer = client.post(f"{anna}/job", json={"kind": "train", "steps": 5})
    assert answer.status_code == 409
    assert "pack" in answer.json()["error"]["message"]


def test_what_is_started_is_the_verb_that_a_person_would_type(client, anna, workshop, monkeypatch, run):
    """A program that does nothing stands for Python, so that only the words are looked at."""
    monkeypatch.setattr(sys, "executable", "/bin/true")
    monkeypatch.setattr(tasks, "is_cache", lambda path: True)
    folder = workshop.folder / "anna"

    def words(place, **wish):
        assert client.post(f"{anna}/job", json=wish).status_code == 202
        while running(workshop.voice("anna")) is not None:
            time.sleep(0.05)
        return json.loads((folder / place / "job.json").read_text())["words"]

    corpus, cache, first = str(folder / "corpus"), str(folder / "voice.cache"), str(folder / "runs" / "run-1")
    line = words("jobs/check", kind="check")
    assert line == ["check", corpus, "--list", str(folder / "check.jsonl"), "--language", "en-us", "--speaker", "anna"]
    assert words("jobs/pack", kind="pack")[:5] == ["pack", corpus, "-o", cache, "--rebuild"]
    begun = words("runs/run-2/job", kind="train", steps=400, preset="cpu")
    assert begun == ["train", "--data", cache, "--run", str(folder / "runs/run-2"), "--steps", "400", "--preset", "cpu"]
    resumed = words("runs/run-1/job", kind="train", steps=900, run="run-1")
    assert resumed == ["train", "--data", cache, "--run", first, "--steps", "900", "--replan"]
    judged = words("runs/run-1/evaluate", kind="evaluate", run="run-1", sentences=3)
    assert judged == [
        "evaluate",
        "--model",
        first,
        "--data",
        cache,
        "--sentences",
        "3",
        "--html",
        f"{first}/evaluation.html",
    ]


def test_one_thing_is_done_at_a_time(client, anna, workshop):
    pretend_to_check(workshop)
    assert error_of(client.post(f"{anna}/job", json={"kind": "pack"})) == (409, "busy")
    assert client.get(anna).json()["busy"]["kind"] == "check"


def test_every_preset_says_how_long_it_takes(client):
    plans = client.get("/studio/plans").json()
    assert list(plans["presets"]) == ["automatic", *preset_names()]
    for plan in plans["presets"].values():
        assert plan["batch"] >= 1
        assert plan["seconds_a_step"] is None or plan["seconds_a_step"] > 0
    assert all(steps > 0 for steps in plans["lengths"].values())


# ---- runs ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(anna, workshop):
    return write_long_run(workshop.folder / "anna" / "runs" / "run-1", steps=400)


def test_a_run_is_shown_as_its_log_tells_it(client, anna, run):
    shown = client.get(f"{anna}/runs/run-1").json()
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    last = [line for line in lines if line["kind"] == "step"][-1]
    assert shown["live"]["step"] == last["step"]
    assert shown["live"]["curve"][-1][0] == last["step"]
    assert len(shown["live"]["curve"]) <= 240
    assert sum(shown["live"]["parts"].values()) == pytest.approx(1)
    assert shown["live"]["verdict"]["verdict"] in ("healthy", "data", "recompilation")
    assert [each["step"] for each in shown["samples"]] == sorted(
        (each["step"] for each in shown["samples"]), reverse=True
    )
    assert shown["speaks"] is False


def test_the_newest_step_is_told_before_the_log_is_read_again(run):
    live = Live(clock=lambda: 0.0)  # it is never time to read the log again
    before = live.look(run)["step"]
    line = json.loads((run / "log.jsonl").read_text().splitlines()[-1])
    step = {"time": line["time"], "kind": "step", "step": before + 7, "loss": 1.0, "data_ms": 1.0, "compute_ms": 9.0}
    with open(run / "log.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(step) + "\n")
    assert live.look(run)["step"] == before + 7


def test_a_measured_run_predicts_the_next(client, anna, run):
    plans = client.get("/studio/plans").json()["presets"]
    assert all(plan["measured"] and plan["seconds_a_step"] > 0 for plan in plans.values())


def test_reports_are_shown_without_scripts(client, anna, run):
    assert client.get(f"{anna}/runs/run-1/pages/report").status_code == 404
    (run / "report.html").write_text("<script>1</script>", encoding="utf-8")
    answer = client.get(f"{anna}/runs/run-1/pages/report")
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    for name in ("config.yaml", "..%2Freport", "log.jsonl"):
        assert client.get(f"{anna}/runs/run-1/pages/{name}").status_code == 404


def test_samples_are_sent_by_their_names_only(client, anna, run):
    write_tone(run / "samples" / "step-100-1.wav", 0.3)
    sent = client.get(f"{anna}/runs/run-1/samples/step-100-1.wav")
    assert (sent.status_code, sent.headers["x-synthetic-speech"]) == (200, "MyXTTS")
    for name in ("..%2Flog.jsonl", "log.jsonl", "step-1-1.wav"):
        assert client.get(f"{anna}/runs/run-1/samples/{name}").status_code == 404


def test_programs_find_the_models_where_a_server_has_them(client):
    assert [each["id"] for each in client.get("/v1/models").json()["data"]] == ["base"]
    assert client.get("/studio/models").json()["models"][0]["own_voice"] is True


@pytest.mark.parametrize(
    ("wish", "status"),
    [
        ({"model": "base", "text": ""}, 400), ({"model": "base", "text": "x" * 1001}, 400),
        ({"model": "nobody", "text": "x"}, 404), ({"model": "base", "text": "x", "speed": 9}, 400),
        ({"model": "base", "text": "x", "like": "anna"}, 400), ({"model": "base", "text": "x", "like": "../x"}, 404),
        ({"model": "base", "text": "x", "voice": "/etc/passwd"}, 400),
    ],
)  # fmt: skip
def test_a_wish_that_cannot_be_spoken_is_refused(client, anna, wish, status):
    assert client.post("/studio/speak", json=wish).status_code == status


def test_no_sound_is_opened_by_a_path(client):
    for name in ("..%2Fanna%2Fvoice.json", "0" * 16, "x"):
        assert client.get(f"/studio/spoken/{name}").status_code == 404
