"""A voice from text to sound where eSpeak is not installed: English phonemes of the extra phonemes-en all the way."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from corpora import write_corpus
from features.english.packages import write_packages
from features.english.test_english import HIDE_ESPEAK, SAID

ROWS = 24
VERBS = """
import contextlib, io, json, sys
from training.small_run import SMALL
from myxtts.cli import main
from myxtts.models import sizes
sizes.SIZES["tiny"] = SMALL
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        code = main([*words, "--json"])
    print(json.dumps([code, json.loads(printed.getvalue())]))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """[exit code, what was printed] of pack, train and say; and where they ran."""
    folder = tmp_path_factory.mktemp("english")
    write_packages(folder / "site")
    write_corpus(folder / "voice", ROWS, (0.5, 1.2))
    texts = [*SAID]
    lines = [f"utt{n:05}|{texts[n % len(texts)]}\n" for n in range(ROWS)]
    (folder / "voice" / "metadata.csv").write_text("".join(lines), encoding="utf-8")
    cache, run = str(folder / "x.cache"), str(folder / "run")
    settings = {
        "data.num_buckets": 1, "data.batch_size": 8, "data.reference_frames": 32, "data.auto_tune_performance": "false",
        "training.start_from": "scratch", "training.sample_steps": 0,
    }  # fmt: skip
    sets = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    verbs = [
        ["pack", str(folder / "voice"), "-o", cache, "--set", "data.text_tokens=phonemes"],
        ["train", "--data", cache, "--run", run, "--steps", "3", *sets],
        ["say", "The cat can live.", "--model", run, "--vocoder", "griffin-lim", "-o", str(folder / "out.wav")],
        ["say", "Сколько?", "--model", run, "--language", "ru", "-o", str(folder / "no.wav")],
    ]
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder / "site"), str(Path(__file__).parents[2]), *sys.path])
    }
    command = [sys.executable, "-c", HIDE_ESPEAK + VERBS, json.dumps(verbs)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()], folder


@pytest.mark.slow
def test_it_is_packed_trained_and_spoken_without_espeak(answers):
    (packed, trained, said, refused), folder = answers
    assert [code for code, _ in (packed, trained, said)] == [0, 0, 0]
    assert packed[1]["utterances"] == ROWS
    body = json.loads((folder / "x.cache" / "cache.json").read_text())
    assert body["settings"]["tokens"]["kind"] == "phonemes"
    assert "misaki" in json.dumps(body["settings"]["tokens"]["readers"])
    assert {"ð", "æ", "ˈ"} <= set(body["token_table"])
    assert trained[1]["step"] == 3
    assert (said[1]["sentences"], said[1]["skipped"]) == (1, "")
    assert said[1]["seconds"] > 0
    assert (folder / "out.wav").stat().st_size > 44
    assert refused[0] == 2
    assert not (folder / "no.wav").exists()
