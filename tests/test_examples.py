"""Each example runs as its first lines say; the notebook from top to bottom, at reduced size."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from corpora import write_corpus, write_tone

from myxtts.cache.pack import pack
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.config.config import DataConfig
from myxtts.corpus.read import open_corpus
from myxtts.doctor.measurements import Measurements

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
NOTEBOOK = EXAMPLES / "train_your_voice.ipynb"


def example(name: str, *words, **environment) -> subprocess.CompletedProcess:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *map(str, words)]
    settings = os.environ | environment
    return subprocess.run(command, env=settings, capture_output=True, text=True, timeout=240)


def test_there_is_a_test_for_each():
    tested = {"custom_corpus.py", "diagnose_a_loader.py", "feed_pytorch.py", "train_your_voice.ipynb"}
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == tested


# ---- a custom corpus -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("labs")
    for n, speaker in enumerate(["anna", "anna", "reza"]):
        write_tone(folder / speaker / f"{n}.wav", 0.6, n)
        (folder / speaker / f"{n}.lab").write_text(f"Good morning, {speaker}.", encoding="utf-8")
    (folder / "reza" / "9.lab").write_text("Nobody recorded this.", encoding="utf-8")
    return folder


def test_a_corpus_of_ones_own_is_packed_and_a_bad_row_keeps_its_reason(labs, tmp_path):
    done = example("custom_corpus.py", labs, tmp_path / "voice.cache")
    assert done.returncode == 0, done.stderr
    assert "3 utterances of anna, reza; rejected: {'missing_audio': 1}" in done.stdout
    cache = Cache(tmp_path / "voice.cache")
    assert [cache.utterance_id(n) for n in range(3)] == ["anna/0", "anna/1", "reza/2"]
    assert cache.text(2) == "Good morning, reza."


def test_as_an_entry_point_it_is_found_by_itself(labs, monkeypatch):
    from importlib import metadata

    from myxtts.corpus import detect

    monkeypatch.syspath_prepend(str(EXAMPLES))
    line = re.search(r'^ +labs = "my_package:(\w+)"$', (EXAMPLES / "custom_corpus.py").read_text(), flags=re.M)
    point = metadata.EntryPoint("labs", f"custom_corpus:{line[1]}", detect.ENTRY_POINTS)
    entry_points = metadata.entry_points

    def with_ours(**wanted):
        return [point] if wanted == {"group": detect.ENTRY_POINTS} else entry_points(**wanted)

    monkeypatch.setattr(metadata, "entry_points", with_ours)
    rows = list(open_corpus(labs).rows())
    assert [getattr(row, "reason", row.id) for row in rows] == ["anna/0", "anna/1", "reza/2", "missing_audio"]


def test_a_reader_takes_twenty_lines():
    text = (EXAMPLES / "custom_corpus.py").read_text(encoding="utf-8")
    assert len(re.search(r"^class Labs.*?\n\n\n", text, flags=re.M | re.S)[0].strip().splitlines()) <= 20


# ---- somebody else's loader ------------------------------------------------------------------------------------------


def test_the_doctor_on_somebody_elses_loader(monkeypatch, capsys):
    """Its loader and its step are called; the times are those of such a loader that was recorded."""
    gallery = json.loads((ROOT / "tests" / "doctor" / "gallery.json").read_text())
    times = next(row["measured"] for row in gallery if row["case"] == "heavy collate")

    def observe(data, step, *_):
        step(next(iter(data)))
        return Measurements.from_dict(times)

    monkeypatch.setattr("myxtts.doctor.diagnosis.observe", observe)
    runpy.run_path(str(EXAMPLES / "diagnose_a_loader.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith("verdict: python loader (the loader)")
    assert "cure 1" in printed


def test_the_documented_script_on_ones_own_data(briefly, capsys, voice_cache, tmp_path, monkeypatch):
    (tmp_path / "my.yaml").write_text(f"data: {{dataset_path: {voice_cache}}}")
    monkeypatch.chdir(tmp_path)
    script = runpy.run_path(str(ROOT / "utilities" / "diagnose_gpu_bottleneck.py"))
    words = ["--batch-size", "16", "--num-batches", "50", "--config", "my.yaml", "--step-ms", "10", "--json"]
    assert script["main"](words) in (0, 1)  # healthy, or not on a busy machine
    assert json.loads(capsys.readouterr().out)["measured"]["batch"] == 16
    assert [path.name for path in tmp_path.iterdir()] == ["my.yaml"]


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def voice_cache(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("torch")
    write_corpus(folder / "voice", 40, (0.4, 1.0))
    pack(open_corpus(folder / "voice"), folder / "voice.cache", PackSettings.from_config(DataConfig()))
    return folder / "voice.cache"


def test_without_pytorch_it_says_what_to_install(voice_cache, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('not here')")
    done = example("feed_pytorch.py", voice_cache, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "this example needs PyTorch: pip install torch==2.13.0\n"


def test_a_pytorch_loop_is_fed_from_the_cache(voice_cache):
    pytest.importorskip("torch", exc_type=ImportError)
    done = example("feed_pytorch.py", voice_cache, STEPS="41")
    assert done.returncode == 0, done.stderr[-2000:]
    losses = [float(loss) for loss in re.findall(r"^step +\d+  loss ([\d.]+)", done.stdout, flags=re.M)]
    assert len(losses) == 3
    assert losses[-1] < 0.5 * losses[0]


# ---- the notebook ----------------------------------------------------------------------------------------------------

SMALL = """
import sys
sys.path[:0] = [{tests!r}, {training!r}]
from small_run import SMALL
from myxtts.models.sizes import SIZES
SIZES["tiny"] = SMALL
"""


@pytest.fixture(scope="module")
def notebook():
    nbformat = pytest.importorskip("nbformat")
    return nbformat.read(NOTEBOOK, as_version=4)


def test_the_notebook_holds_no_outputs(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None), "clear all outputs before saving"


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom(notebook, tmp_path, monkeypatch):
    pytest.importorskip("hibari")
    nbclient = pytest.importorskip("nbclient")
    from nbformat.v4 import new_code_cell

    tests = Path(__file__).parent
    smaller = {"UTTERANCES": "24", "MINUTES": "0.05", "FOLDER": "voice", "SENTENCE": "The lazy dog."}
    smaller["SETTINGS"] = "data.num_buckets=1 training.sample_steps=0"
    for name, value in smaller.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CORPUS", raising=False)
    small = new_code_cell(SMALL.format(tests=str(tests), training=str(tests / "training")))
    notebook.cells.insert(2, small)  # after the parameters: a model that compiles in a second
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3", resources=place).execute()
    output = "".join(out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", []))
    assert "every byte is as it was written: True" in output
    assert re.search(r"step \d+: done; the step waited", output)
    assert "steps" in output
    made = {path.name for path in (tmp_path / "voice").iterdir()}
    assert {"corpus", "run", "hello.wav", "hello-in-the-voice-of-the-first-clip.wav"} <= made
    pictures = [out for cell in notebook.cells for out in cell.get("outputs", []) if "image/png" in out.get("data", {})]
    assert len(pictures) == 2
