"""Whatever is wrong with a request is said before the model is loaded, as a user types it: no TensorFlow until then."""

import json
import subprocess
import sys

import numpy as np
import pytest
import soundfile

from myxtts.features.audio import AudioSettings
from myxtts.features.text import SPECIALS, TextFrontend
from myxtts.models.description import ModelDescription
from myxtts.models.format import WEIGHTS

WRONG = {
    "speed": (["Hi.", "--speed", "9"], "found speed 9, expected 0.25 to 4"),
    "no number": (["Hi.", "--speed", "fast"], "invalid float value: 'fast'"),
    "not a number": (["Hi.", "--speed", "nan"], "found speed nan"),
    "pitch": (["Hi.", "--pitch", "40"], "found pitch 40"),
    "vocoder": (["Hi.", "--vocoder", "brass"], "found the vocoder 'brass', expected one of: griffin-lim"),
    "language": (["Hi.", "--language", "fa"], "speaks en-us, de, not fa"),
    "empty": ([" \n "], "empty text"),
    "no letter": (["?!"], "nothing to say"),
    "unknown letters": (["سلام"], "nothing is left to say"),
    "no file": (["--file", "nowhere.txt"], "nowhere.txt: No such file"),
    "no voice": (["Hi.", "--voice", "nowhere.wav"], "nowhere.wav cannot be used: there is no file"),
    "silent voice": (["Hi.", "--voice", "silent.wav"], "silent.wav cannot be used"),
    "short voice": (["Hi.", "--voice", "short.wav"], "short.wav has 0.30 s of sound, expected at least 0.5 s"),
    "long voice": (["Hi.", "--voice", "long.wav"], "long.wav has more than 10 minutes"),
    "not even its own": (["Hi."], "no voice of its own"),
    "kind of output": (["Hi.", "-o", "out.mp3"], "ends in .wav or .flac"),
    "no folder": (["Hi.", "-o", "nowhere/out.wav"], "there is no folder nowhere"),
    "a folder": (["Hi.", "-o", "folder.wav"], "there is a folder of that name"),
    "read-only": (["Hi.", "-o", "/proc/out.wav"], "cannot write in /proc"),  # for root too
    "its own voice": (
        ["Hi.", "--voice", "silent.wav", "-o", "folder.wav/../silent.wav"],
        "would replace what it is made from",
    ),
    "a language of nobody": (["Hi.", "--language", "nonesuch"], "speaks en-us, de, not nonesuch: choose one of those"),
    "model": (["Hi.", "--model", "nowhere"], "nowhere is not a folder"),
}
CLIPS = ("silent.wav", "short.wav", "long.wav")
# All in one process: what takes long here is to start one.
SAY_ALL = """
import contextlib, io, json, sys
from myxtts.cli import main
answers = {}
for name, words in json.loads(sys.argv[1]).items():
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = main(["say", "--model", "model", "-o", "out.wav", *words, "--json"])
    answers[name] = [code, json.loads(printed.getvalue())["error"]["message"], "tensorflow" in sys.modules]
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model that nobody can load: everything about it is known but its weights."""
    folder = tmp_path_factory.mktemp("request")
    tokens, audio = TextFrontend(kind="characters").settings(), AudioSettings().fingerprint()
    table = [*SPECIALS, *" .!?abcdefghijklmnopqrstuvwxyz"]
    (folder / "model").mkdir()
    ModelDescription(token_table=table, languages=["en-us", "de"], tokens=tokens, audio=audio).save(folder / "model")
    (folder / "model" / WEIGHTS).write_bytes(b"")
    (folder / "folder.wav").mkdir()
    soundfile.write(folder / "silent.wav", np.zeros(22050), 22050)
    noise = np.random.default_rng(0).normal(0, 0.1, 1200 * 1000)
    soundfile.write(folder / "short.wav", noise[:6615], 22050)
    soundfile.write(folder / "long.wav", noise, 1000)
    return folder


@pytest.fixture(scope="module")
def answers(folder):
    words = json.dumps({name: words for name, (words, _) in WRONG.items()})
    done = subprocess.run(
        [sys.executable, "-c", SAY_ALL, words], cwd=folder, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_is_told_before_tensorflow_is_loaded(answers, name):
    code, message, loaded = answers[name]
    assert code == 2
    assert WRONG[name][1] in message
    assert not loaded


def test_nothing_is_written(answers, folder):
    assert sorted(path.name for path in folder.iterdir()) == sorted(["folder.wav", "model", *CLIPS])
