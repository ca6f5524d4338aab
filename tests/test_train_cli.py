"""`train`, `say` and `evaluate` as a user types them, on a model so small that a voice takes seconds."""

import io
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
import soundfile
from corpora import write_corpus
from training.small_run import SMALL
from training.stand_in import StandInModel, build_stand_in

from myxtts.cli import _parser, main
from myxtts.cli.train import OPTIMIZATION_LEVELS, settings_of
from myxtts.config.config import XTTSConfig
from myxtts.data.starting_points import with_starting_point
from myxtts.models import sizes, weights
from myxtts.training.checkpoint import RunLock, load
from myxtts.training.run_log import read_log

ROOT = Path(__file__).parents[1]
SETTINGS = {
    "data.text_tokens": "characters", "data.num_buckets": 1, "data.batch_size": 8, "data.reference_frames": 32,
    "training.precision": "float32", "training.validation_steps": 1000, "training.sample_steps": 0,
}  # fmt: skip

EAGER = {"enable_graph_mode": False}  # nothing to compile where only the verb matters


def sets(**more) -> list[str]:
    chosen = SETTINGS | {f"training.{name}": value for name, value in more.items()}
    return [word for name, value in chosen.items() for word in ("--set", f"{name}={str(value).lower()}")]


def quick() -> list[str]:
    """Of the cache's own settings none is given."""
    chosen = SETTINGS | {"training.enable_graph_mode": "false"}
    return [word for name, value in chosen.items() if name != "data.text_tokens"
            for word in ("--set", f"{name}={value}")]  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("train") / "voice", 40, (0.4, 1.2))


@pytest.fixture
def ask(capsys):
    """Runs a verb in this process: (exit code, what it printed on stdout, on stderr)."""

    def answer(*words, code=0):
        capsys.readouterr()
        text = main([str(word) for word in words])
        printed = capsys.readouterr()
        assert text == code, printed.out + printed.err
        assert "Traceback" not in printed.err
        return printed

    return answer


@pytest.fixture
def stand_in(monkeypatch):
    """Where it is the verb that matters and not the voice."""
    monkeypatch.setattr("myxtts.training.start.build_model", build_stand_in)


def steps_of(run: Path) -> list[dict]:
    return [line for line in read_log(run) if line["kind"] == "step"]


# ---- killed and resumed ----------------------------------------------------------------------------------------------


def small_run(run: Path, corpus: Path) -> list[str]:
    deterministic = sets(deterministic=True, validation_steps=15, checkpoint_minutes=0.01, warmup_steps=10)
    script = Path(__file__).parent / "training" / "small_run.py"
    return [sys.executable, script, "train", "--train-data", corpus, "--run", run, "--steps", "75", *deterministic]


def kill_at(run: Path, corpus: Path, step: int, delay_seconds: float) -> int:
    """kill -9 some moments after a step was logged; the last step that was."""
    process = subprocess.Popen(small_run(run, corpus), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not ((run / "log.jsonl").is_file() and len(steps_of(run)) >= step):
        time.sleep(0.02)
    time.sleep(delay_seconds)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    return steps_of(run)[-1]["step"]


@pytest.mark.slow
def test_a_run_killed_twice_has_the_losses_of_an_undisturbed_one_bit_for_bit(corpus, tmp_path):
    main(["pack", str(corpus), "--set", "data.text_tokens=characters"])
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    straight_run = subprocess.Popen(small_run(tmp_path / "straight", corpus), **quiet)  # beside the other
    chance, run = random.Random(1), tmp_path / "killed"
    for step in (20, 45):
        reached = kill_at(run, corpus, step, chance.uniform(0, 0.1))
        for path in (run / "checkpoints").glob("step-*"):
            load(path)  # whatever is visible is whole
        assert load(run / "checkpoints" / "last").step >= reached - 15  # no more than an interval is lost
    subprocess.run(small_run(run, corpus), **quiet, timeout=300, check=True)
    assert straight_run.wait(timeout=300) == 0
    kept = ("loss", "mel", "prior", "duration", "grad_norm", "learning_rate", "step", "epoch")
    killed, straight = ([{name: line[name] for name in kept} for line in steps_of(place)]
                        for place in (run, tmp_path / "straight"))  # fmt: skip
    assert len(straight) == 75
    assert killed == straight
    measured = [[line["mel_error"] for line in read_log(place) if line["kind"] == "validation"]
                for place in (run, tmp_path / "straight")]  # fmt: skip
    assert measured[0] == measured[1]
    assert len([line for line in read_log(run, given_up=True) if line["kind"] == "resume"]) == 2
    for name in ("weights", "ema", "optimiser"):
        ours, theirs = (weights.load(place / "checkpoints" / "last" / f"{name}.safetensors")
                        for place in (run, tmp_path / "straight"))  # fmt: skip
        assert all(np.array_equal(ours[key], value) for key, value in theirs.items())


# ---- train -----------------------------------------------------------------------------------------------------------


def test_train_packs_goes_on_and_is_one_json_object(corpus, tmp_path, ask, stand_in):
    words = ["train", "--train-data", corpus, "--run", tmp_path / "run", *sets(**EAGER)]
    result = json.loads(ask(*words, "--steps", 3, "--json").out)
    assert (result["step"], result["interrupted"], result["why"]) == (3, False, "done")
    assert set(result) == {
        "run", "step", "seconds", "why", "interrupted", "best", "stall", "traces_after_start", "micro_batches"
    }  # fmt: skip
    assert (corpus / "cached_features" / "voice.cache" / "cache.json").is_file()
    said = ask(*words, "--epochs", 2)
    assert "at step 3" in said.err
    assert f"next: myxtts say 'Hello.' --model {tmp_path / 'run'}" in said.out
    assert len(steps_of(tmp_path / "run")) == 2 * 4
    assert (tmp_path / "run" / "report.html").is_file()


def test_reset_asks_and_moves_the_old_run_aside(corpus, tmp_path, ask, stand_in):
    run = tmp_path / "run"
    words = ["train", "--train-data", corpus, "--run", run, "--steps", 2, *sets(**EAGER)]
    ask(*words)
    kept = (run / "log.jsonl").read_bytes()
    error = json.loads(ask(*words, "--reset", "--json", code=2).out)["error"]
    assert "add --yes" in error["message"]
    assert (run / "log.jsonl").read_bytes() == kept
    ask(*words, "--reset", "--yes")
    (aside,) = tmp_path.glob("run.before-reset-*")
    assert (aside / "log.jsonl").read_bytes() == kept
    assert load(aside / "checkpoints" / "last").step == 2
    assert not [line for line in read_log(run) if line["kind"] == "resume"]


def test_reset_touches_nothing_that_is_no_run_or_in_use(corpus, tmp_path, ask, stand_in):
    words = ["train", "--train-data", corpus, "--steps", 2, "--reset", "--yes", *sets(), "--run"]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("dear")
    assert "holds no run" in ask(*words, tmp_path / "thesis", code=2).err
    assert (tmp_path / "thesis" / "chapter.txt").is_file()
    (tmp_path / "busy" / "checkpoints").mkdir(parents=True)
    with RunLock(tmp_path / "busy"):
        assert "in use by process" in ask(*words, tmp_path / "busy", code=2).err
    assert "there is no corpus" in ask(*words, tmp_path / "busy", "--train-data", tmp_path / "typo", code=2).err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["busy", "thesis"]


def test_changed_batches_name_replan_and_replan_goes_on(corpus, tmp_path, ask, stand_in):
    words = ["train", "--train-data", corpus, "--run", tmp_path / "run", *sets(**EAGER)]
    ask(*words, "--steps", 2)
    assert "--replan" in ask(*words, "--steps", 4, "--batch-size", 4, code=2).err
    ask(*words, "--steps", 4, "--batch-size", 4, "--replan")
    assert [line["batch"] for line in steps_of(tmp_path / "run")] == [8, 8, 4, 4]


def test_the_directory_of_a_run_is_enough_to_resume_it(corpus, tmp_path, ask, stand_in):
    ask("train", "--train-data", corpus, "--run", tmp_path / "run", "--steps", 2, *sets(**EAGER))
    ask("train", "--run", tmp_path / "run", "--steps", 4)
    assert [line["batch"] for line in steps_of(tmp_path / "run")] == [8, 8, 8, 8]
    used = XTTSConfig.from_yaml(tmp_path / "run" / "config.yaml")
    assert (used.data.dataset_path, used.data.text_tokens, used.training.steps) == (str(corpus), "characters", 4)
    ask("train", "--config", tmp_path / "run" / "config.yaml", "--run", tmp_path / "run", "--steps", 5)
    assert len(steps_of(tmp_path / "run")) == 5


def test_a_given_setting_that_contradicts_the_cache_is_refused_and_one_not_given_is_the_caches(
    corpus, tmp_path, ask, stand_in
):
    """As the issue tried it: both are what the defaults are, and both were overruled in silence."""
    cache = tmp_path / "voice.cache"
    ask("pack", corpus, "-o", cache, "--set", "data.text_tokens=characters", "--set", "data.trim_db=60")
    words = ["train", "--train-data", cache, "--run", tmp_path / "run", "--steps", 1]
    error = ask(*words, "--set", "data.text_tokens=phonemes", "--set", "data.trim_db=45", code=2).err
    assert "data.text_tokens is phonemes (--set), the cache has characters" in error
    assert "data.trim_db is 45.0 (--set), the cache has 60.0" in error
    assert not (tmp_path / "run").exists()
    ask(*words, *quick())
    used = XTTSConfig.from_yaml(tmp_path / "run" / "config.yaml").data
    assert (used.text_tokens, used.trim_db) == ("characters", 60.0)


def test_validation_data_is_packed_as_the_training_data_is(corpus, tmp_path, ask, stand_in):
    held = write_corpus(tmp_path / "held", 9, (0.4, 0.8))
    cache = tmp_path / "voice.cache"
    ask("pack", corpus, "-o", cache, "--set", "data.text_tokens=characters", "--set", "data.trim_db=60")
    ask("train", "--train-data", cache, "--val-data", held, "--run", tmp_path / "run", "--steps", 1, *quick())
    packed = json.loads((held / "cached_features" / "held.cache" / "cache.json").read_text())["settings"]
    assert (packed["tokens"]["kind"], packed["audio"]["trim_db"]) == ("characters", 60.0)


def test_sigterm_ends_with_130_and_prints_the_command_that_goes_on(corpus, tmp_path, ask, monkeypatch):
    class Interrupted(StandInModel):
        def losses_of(self, *arguments):
            os.kill(os.getpid(), signal.SIGTERM)
            return super().losses_of(*arguments)

    monkeypatch.setattr(
        "myxtts.training.start.build_model", lambda config, feed: build_stand_in(config, feed, Interrupted)
    )
    words = ["train", "--train-data", corpus, "--run", tmp_path / "a run", "--steps", 9, "--reset", "--yes",
             *sets(**EAGER)]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["/usr/lib/myxtts/__main__.py", *map(str, words)])
    answer = ask(*words, code=130)
    (command,) = re.findall(r"Resume with: (.*)", answer.err)
    assert shlex.split(command)[:4] == ["python", "-m", "myxtts", "train"]
    assert not {"--reset", "--yes"} & set(shlex.split(command))
    monkeypatch.setattr("myxtts.training.start.build_model", build_stand_in)
    ask(*shlex.split(command)[3:])
    assert len(steps_of(tmp_path / "a run")) == 9


@pytest.mark.parametrize("level", OPTIMIZATION_LEVELS)
def test_optimization_levels_are_bundles_of_settings(corpus, tmp_path, ask, monkeypatch, level):
    asked, nothing = {}, {"step": 0, "seconds": 0, "why": "", "best": None, "stall": 0, "interrupted": False}

    def start_nothing(config, *_, **__):
        asked["config"] = config
        return nothing

    monkeypatch.setattr("myxtts.training.start.start_training", start_nothing)
    ask("train", "--train-data", corpus, "--optimization-level", level, "--num-workers", 3, "--disable-gpu-prefetch",
        "--model-size", "small", "--minutes", 1.5, "--set", "data.text_tokens=characters")  # fmt: skip
    config = asked["config"]
    expected = with_starting_point(XTTSConfig.from_dict(OPTIMIZATION_LEVELS[level]))  # what no level decides
    assert config.training.enable_xla_compilation is (level == "experimental")
    assert config.training.precision == ("float32" if level == "basic" else "auto")
    assert config.data.prefetch_buffer_size == expected.data.prefetch_buffer_size
    assert (config.data.prefetch_to_gpu, config.data.enhanced_gpu_prefetch) == (False, False)
    assert (config.data.num_workers, config.model.size, config.training.minutes) == (3, "small", 1.5)


def test_what_set_names_wins_over_the_bundle():
    words = ["train", "--optimization-level", "basic", "--set", "data.prefetch_buffer_size=7",
             "--set", "training.precision = bfloat16"]  # fmt: skip
    config = settings_of(_parser().parse_args(words))
    assert (config.data.prefetch_buffer_size, config.training.precision) == (7, "bfloat16")
    assert (config.data.prefetch_to_gpu, config.training.enable_xla_compilation) == (False, False)
    config = settings_of(_parser().parse_args([*words, "--prefetch-buffer-size", "3"]))
    assert config.data.prefetch_buffer_size == 3  # a flag for that one setting says it last


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no data is named: .*myxtts demo-corpus"),
        (["--train-data", "nowhere"], "there is no corpus nowhere"),
        (["--train-data", "x", "--minutes", "-1"], "training.minutes is -1"),
        (["--train-data", "x", "--steps", "0"], "1 or more"),
        (["--train-data", "x", "--optimization-level", "wild"], "invalid choice"),
        (["--train-data", "x", "--set", "training.presicion=float32"], "did you mean 'precision'"),
    ],
)
def test_what_cannot_be_trained_is_said_in_one_line(ask, words, message):
    answer = ask("train", *words, code=2)
    assert re.search(message, answer.err)
    assert answer.out == ""
    assert re.search(message, json.loads(ask("train", *words, "--json", code=2).out)["error"]["message"])


def test_train_main_without_data_offers_the_demo_corpus(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "train_main.py"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "no data is named" in done.stderr
    assert "myxtts demo-corpus" in done.stderr
    assert list(tmp_path.iterdir()) == []


# ---- say -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def voice(trained_run) -> Path:
    return trained_run[0]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)


def test_say_writes_what_it_tells(voice, tmp_path, ask, small, corpus):
    result = json.loads(ask("say", "The quick brown fox. A lazy dog.", "--model", voice, "-o", tmp_path / "a.wav",
                          "--voice", corpus / "wavs" / "utt00001.wav", "--json").out)  # fmt: skip
    assert set(result) == {"output", "seconds", "sentences", "skipped", "timings"}
    assert set(result["timings"]) == {"text_ms", "voice_ms", "mel_ms", "vocoder_ms"}
    assert (result["output"], result["sentences"], result["skipped"]) == (str(tmp_path / "a.wav"), 2, "")
    audio, rate = soundfile.read(tmp_path / "a.wav")
    assert rate == 22050
    assert len(audio) % 256 == 0
    assert result["seconds"] == pytest.approx(len(audio) / rate, abs=1e-3)
    assert len(audio) > 256 * len("The quick brown fox. A lazy dog.") + 0.2 * rate  # a frame a letter, and the pause


def test_say_reads_files_and_standard_input(voice, tmp_path, ask, small, monkeypatch):
    (tmp_path / "story.txt").write_text("\ufeffThe lazy dog.", encoding="utf-8")
    assert "1 sentence" in ask("say", "--file", tmp_path / "story.txt", "--model", voice, "-o", tmp_path / "f.wav").out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"The lazy dog.")))
    ask("say", "-", "--model", voice / "checkpoints" / "last", "-o", tmp_path / "s.wav")
    assert (tmp_path / "f.wav").read_bytes() == (tmp_path / "s.wav").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["", "--model", "VOICE", "-o", "x.wav"], "empty text"),
        (["Hello.", "--model", "nowhere", "-o", "x.wav"], "nowhere is not a folder"),
        (["Hello.", "--file", "f.txt", "--model", "VOICE", "-o", "x.wav"], "give one TEXT, or --file"),
        (["--model", "VOICE", "-o", "x.wav"], "give one TEXT, or --file"),
        (["--file", "nowhere.txt", "--model", "VOICE", "-o", "x.wav"], "nowhere.txt: No such file"),
        (["--file", "latin.txt", "--model", "VOICE", "-o", "x.wav"], "not UTF-8"),
        (["Hello.", "--model", "VOICE", "-o", "x.mp3"], "ends in .wav or .flac"),
        (["Hello.", "--model", "VOICE", "-o", "x.wav", "--speed", "9"], "found speed 9"),
        (["Hello.", "--model", "VOICE", "-o", "x.wav", "--voice", "nowhere.wav"], "nowhere.wav cannot be used"),
        (["Hello.", "--model", "VOICE", "-o", "x.wav", "--language", "fa"], "speaks en-us, not fa"),
    ],
)
def test_what_cannot_be_said_is_told_without_a_traceback(voice, tmp_path, ask, small, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    Path("latin.txt").write_bytes(b"caf\xe9")
    text = ask("say", *(str(voice) if word == "VOICE" else word for word in words), code=2)
    assert message in text.err
    assert text.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latin.txt"]


def test_evaluate_needs_a_model_and_held_back_sentences(voice, tmp_path, ask, small):
    assert "not a cache" in ask("evaluate", "--model", voice, "--data", tmp_path, code=2).err
    enough = write_corpus(tmp_path / "enough", 24)
    ask("pack", enough)
    assert "nowhere is not a folder" in ask("evaluate", "--model", "nowhere", "--data", enough, code=2).err
    few = write_corpus(tmp_path / "few", 6)
    ask("pack", few)
    assert "too small to have held sentences back" in ask("evaluate", "--model", voice, "--data", few, code=2).err


def test_evaluate_prints_draws_and_writes_what_the_judges_said(voice, corpus, tmp_path, ask, small):
    judges = ("--judges", "sharpness,distortion,speed", "--vocoder", "griffin-lim")
    places = ("--plot", tmp_path / "a.png", "--html", tmp_path / "a.html")
    ask("pack", corpus, "--set", "data.text_tokens=characters")
    result = json.loads(ask("evaluate", "--model", voice, "--data", corpus, *judges, *places, "--sentences", 2,
                          "--json").out)  # fmt: skip
    assert set(result) == {"sentences", "scores", "missing", "notes", "rows"}
    assert (result["sentences"], result["missing"]) == (2, {})
    assert set(result["scores"]) == {"mcd_db", "pitch_error", "voicing_error", "duration_ratio", "duration_error",
                                   "sharpness_bins", "sharpness_time", "rtf"}  # fmt: skip
    assert result["scores"]["mcd_db"]["synthetic"] > result["scores"]["mcd_db"]["copy"] > 0
    assert set(result["rows"][0]) == {"text", "speaker", "language", "seconds", "heard", "scores"}
    assert {row["speaker"] for row in result["rows"]} == {"speaker0", "speaker1"}  # each in its own voice
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.count("<audio") == page.count("<img") == 6
    assert "<script" not in page
    assert "'mos' is not a judge" in ask("evaluate", "--model", voice, "--data", corpus, "--judges", "mos", code=2).err
    assert "give --data CACHE" in ask("evaluate", "--model", voice, code=2).err


def test_evaluate_lets_another_model_speak_the_same_sentences(voice, corpus, tmp_path, ask, small):
    ask("pack", corpus, "--set", "data.text_tokens=characters")
    first = voice / "checkpoints" / "last"
    words = ("--data", corpus, "--judges", "sharpness", "--vocoder", "griffin-lim", "--sentences", 2, "--json")
    result = json.loads(ask("evaluate", "--model", voice, "--before", first, *words, "--plot", tmp_path / "a.png",
                            "--html", tmp_path / "a.html").out)  # fmt: skip
    assert result["before"] == str(first)
    alone = json.loads(ask("evaluate", "--model", first, *words).out)
    both = result["scores"]["sharpness_bins"]
    assert both["before"] == alone["scores"]["sharpness_bins"]["synthetic"]
    assert set(both) == {"before", "synthetic", "copy"}
    assert (tmp_path / "a.html").read_text(encoding="utf-8").count("<audio") == 8
    assert "nowhere is not a folder" in ask("evaluate", "--model", voice, "--before", "nowhere", *words, code=2).out
    for flag, wrong, says in (
        ("--plot", "nowhere/a.png", "there is no folder nowhere"),
        ("--html", "a.txt", "in .html"),
    ):
        answer = ask("evaluate", "--model", "not looked at", flag, wrong, *words, code=2).out
        assert says in answer


def test_evaluate_tells_who_sounds_like_whom(voice, corpus, tmp_path, ask, small, monkeypatch):
    """With an encoder that takes the first samples of a sound for its voice."""
    for n in range(4):
        (tmp_path / "voices" / f"v{n % 2}").mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus / "wavs" / f"utt0000{n}.wav", tmp_path / "voices" / f"v{n % 2}" / f"{n}.wav")
    monkeypatch.setattr("myxtts.evaluation.speaker.SpeakerEncoder", lambda: lambda audio, rate: audio[:2000])
    places = ("--voices", tmp_path / "voices", "--plot", tmp_path / "m.png", "--html", tmp_path / "m.html")
    judge = ("--vocoder", "griffin-lim", "--judges", "similarity")
    result = json.loads(ask("evaluate", "--model", voice, *places, *judge, "--sentences", 1,
                          "--json").out)  # fmt: skip
    assert not result["notes"]
    assert "across_languages" not in result
    assert result["matrix"]["voices"] == ["v0", "v1"]
    assert np.array(result["matrix"]["similarity"]).shape == (2, 2)
    assert set(result["scores"]) == {"similarity", "similarity_others", "above_others", "nearest"}
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    assert "Who sounds like whom" in (tmp_path / "m.html").read_text(encoding="utf-8")


def test_evaluate_tells_of_voices_of_other_languages_and_of_single_clips(
    voice, corpus, tmp_path, ask, small, monkeypatch
):
    """The encoder hears the same voice in everything, so that none is nearer to itself."""
    wavs = corpus / "wavs"
    rows = [("anna", "en-us", 0), ("anna", "en-us", 1), ("ben", "de", 2)]
    lines = [f"{wavs / f'utt{n:05d}.wav'},One.,{speaker},{language}\n" for speaker, language, n in rows]
    (tmp_path / "voices.csv").write_text("audio,text,speaker,language\n" + "".join(lines), encoding="utf-8")
    monkeypatch.setattr("myxtts.evaluation.speaker.SpeakerEncoder", lambda: lambda audio, rate: np.ones(1))
    words = ("evaluate", "--model", voice, "--voices", tmp_path / "voices.csv", "--vocoder", "griffin-lim")
    words += ("--judges", "similarity", "--sentences", 1, "--html", tmp_path / "a.html")
    result = json.loads(ask(*words, "--json").out)
    assert result["across_languages"] == {
        "language": "en-us", "voices": 1, "speakers": 1, "above_every_speaker": 0.0, "above_their_mean": 0.0
    }  # fmt: skip
    assert result["notes"]["similarity"].startswith("1 of 2 voices have one clip")
    assert [set(row["scores"]["similarity"]) for row in result["rows"]] == [
        {"synthetic", "real", "copy"},
        {"synthetic"},
    ]
    assert "1 of 2 voices have one clip" in (tmp_path / "a.html").read_text(encoding="utf-8")
    said = ask(*words).out
    assert "similarity to the same speaker: 1 of 2 voices have one clip" in said
    assert "1 voices of other languages speak en-us; share nearer to themselves: 0.00" in said
