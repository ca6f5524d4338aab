"""Settings: defaults, YAML in and out, and errors that name file, key and cure."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myxtts.config.config import DataConfig, ModelConfig, TrainingConfig, XTTSConfig, load, preset_names
from myxtts.errors import ConfigError

ROOT = Path(__file__).parents[2]


def test_documented_defaults():
    data = DataConfig()
    assert (data.batch_size, data.num_workers, data.prefetch_buffer_size) == (56, 18, 12)
    assert data.preprocessing_mode == "precompute"
    assert TrainingConfig().gradient_accumulation_steps == 1
    assert ModelConfig().size == "tiny"


@given(st.integers(1, 65536), st.booleans(), st.sampled_from(["precompute", "on_the_fly", "auto"]))
def test_yaml_round_trip(batch_size, trim, mode):
    import tempfile

    config = XTTSConfig(data=DataConfig(batch_size=batch_size, trim_silence=trim, preprocessing_mode=mode))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        config.to_yaml(path)
        assert XTTSConfig.from_yaml(path) == config
        assert [entry.name for entry in path.parent.iterdir()] == ["config.yaml"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("data: {batchsize: 4}", ["bad.yaml", "data.batchsize", "batch_size"]),
        ("dta: {}", ["bad.yaml", "'dta'", "data"]),
        ("data: {batch_size: many}", ["bad.yaml", "data.batch_size", "'many'", "a whole number from 1 to 65536"]),
        ("data: {batch_size: true}", ["data.batch_size", "True (bool)"]),
        ("data: {batch_size: 0}", ["data.batch_size", "from 1 to 65536"]),
        ("data: {trim_db: .nan}", ["data.trim_db", "nan"]),
        ("data: {preprocessing_mode: precomputed}", ["precompute, on_the_fly, auto", "did you mean 'precompute'"]),
        ("data: 3", ["'data' is 3 (int)"]),
        ("- 1", ["bad.yaml", "expected the sections"]),
        ("data: {a: [", ["bad.yaml is not YAML"]),
    ],
)
def test_errors_name_file_key_and_cure(tmp_path, text, parts):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        XTTSConfig.from_yaml(path)
    for part in parts:
        assert part in str(error.value)


def test_assignment_is_checked_too():
    config = XTTSConfig()
    config.data.batch_size = 8
    with pytest.raises(ConfigError, match="at least|from 1"):
        config.data.batch_size = -1
    with pytest.raises(ConfigError, match="did you mean 'batch_size'"):
        config.data.batch_sise = 3
    assert config.data.batch_size == 8


def test_batch_size_of_older_files(tmp_path):
    path = tmp_path / "old.yaml"
    path.write_text("training: {batch_size: 9}")
    with pytest.warns(UserWarning, match="data.batch_size"):
        assert XTTSConfig.from_yaml(path).data.batch_size == 9
    path.write_text("training: {batch_size: 9}\ndata: {batch_size: 8}")
    with pytest.raises(ConfigError, match="8 under data and 9 under training"):
        XTTSConfig.from_yaml(path)


def test_an_older_file_can_be_overridden(tmp_path):
    path = tmp_path / "old.yaml"
    path.write_text("training: {batch_size: 9}")
    with pytest.warns(UserWarning, match="data.batch_size") as warned:
        assert load(path, "cpu", ["data.batch_size=48"]).data.batch_size == 48
    assert len(warned) == 1
    path.write_text("data: [1]\ntraining: {batch_size: 9}")
    with pytest.raises(ConfigError, match="'data' is"), pytest.warns(UserWarning, match="batch_size"):
        load(path)


@pytest.mark.parametrize("number", ["1e-4", "1.0e-4", "0.0001", "1E-4"])
def test_a_number_may_be_written_as_people_write_it(tmp_path, number):
    (tmp_path / "c.yaml").write_text(f"training: {{learning_rate: {number}}}")
    assert load(tmp_path / "c.yaml").training.learning_rate == 1e-4
    assert load(overrides=[f"training.learning_rate={number}"]).training.learning_rate == 1e-4
    assert load(overrides=["data.speaker=1e4x"]).data.speaker == "1e4x"


def test_precedence_of_preset_file_and_override(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("data: {num_workers: 3}")
    config = load(path, "gpu_12gb", ["data.batch_size=5", "data.language=fa"])
    assert (config.data.batch_size, config.data.num_workers, config.data.prefetch_buffer_size) == (5, 3, 8)
    assert config.training.gradient_accumulation_steps == 2
    assert config.data.language == "fa"


@pytest.mark.parametrize(
    "override", ["batch_size=3", "data.batch_size", "data.=3", "=", "data.x=1", "data.batch_size=["]
)
def test_bad_overrides(override):
    with pytest.raises(ConfigError):
        load(overrides=[override])


def test_shipped_files_load():
    assert {"cpu", "gpu_12gb", "gpu_24gb", "gpu_24gb_older"} == set(preset_names())
    for name in preset_names():
        load(preset=name)
    for path in (ROOT / "configs").glob("*.yaml"):
        load(path)
    fix = load(ROOT / "configs/config_gpu_bottleneck_fix.yaml").data
    assert (fix.preprocessing_mode, fix.batch_size, fix.num_workers, fix.prefetch_buffer_size) == (
        "precompute",
        48,
        16,
        12,
    )
    with pytest.raises(ConfigError, match="did you mean 'gpu_24gb"):
        load(preset="gpu24gb")


def test_what_the_config_verb_prints_gives_what_was_given_and_nothing_else(tmp_path, capsys):
    """So `myxtts config > my.yaml` leaves all other settings to the cache and the machine."""
    from myxtts.cli import main

    settings = ["data.batch_size=56", "data.speaker='a: #b'", "data.speaker_pattern='(?P<speaker>x)\\n'"]
    assert main(["config", "--preset", "cpu", *(word for each in settings for word in ("--set", each))]) == 0
    text = capsys.readouterr().out
    (tmp_path / "my.yaml").write_text(text, encoding="utf-8")
    loaded, given = load(tmp_path / "my.yaml"), load(preset="cpu", overrides=settings)
    assert loaded == given
    assert loaded.data.given.keys() == given.data.given.keys()
    assert "\n  # trim_db: 45.0\n" in text
    assert "\n  batch_size: 56  # --set\n" in text


def test_config_verb_prints_one_json_object():
    command = [sys.executable, "-m", "myxtts", "config", "--json", "--set", "data.batch_size=48"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shown = json.loads(done.stdout)
    assert shown["data"]["batch_size"] == 48
    assert shown["given"] == {"data.batch_size": "--set"}
    failed = subprocess.run([*command, "--set", "data.nothing=1"], capture_output=True, text=True)
    assert failed.returncode == 2
    assert "data.nothing" in json.loads(failed.stdout)["error"]["message"]


@pytest.mark.parametrize(
    "text", ["data:\n  batch_size: 3\ndata:\n  num_workers: 2\n", "data:\n  batch_size: 3\n  batch_size: 4\n"]
)
def test_a_key_that_stands_there_twice_is_an_error(tmp_path, text):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError, match="stands there twice"):
        load(tmp_path / "c.yaml")


def test_a_bomb_of_aliases_is_shown_in_a_few_words(tmp_path):
    lines = ["    a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"    a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (tmp_path / "c.yaml").write_text("data:\n  batch_size:\n" + "\n".join(lines))
    with pytest.raises(ConfigError, match="expected a whole number") as caught:
        load(tmp_path / "c.yaml")
    assert len(str(caught.value)) < 1000


def test_a_config_that_is_no_file_or_endless_is_not_waited_for(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(b"#" * (1 << 21))
    for name in ("pipe", "long"):
        with pytest.raises(ConfigError, match="cannot read"):
            load(tmp_path / name)


@pytest.mark.parametrize("value", [".inf", "-.inf", ".nan", "1e400"])
def test_a_setting_is_finite(value):
    with pytest.raises(ConfigError, match="max_seconds"):
        load(overrides=[f"data.max_seconds={value}"])


def test_a_name_that_is_not_utf8_is_refused_and_a_path_is_not():
    config = load()
    with pytest.raises(ConfigError, match="not UTF-8"):
        config.data.give({"speaker": "a\udcff"}, "--speaker")
    config.data.give({"dataset_path": "k\udcff"}, "--data")


@pytest.mark.parametrize("key", ["data.dataset_path", "data.speaker", "training.run_dir"])
def test_a_nul_in_a_text_is_refused_before_the_system_is_asked(key):
    with pytest.raises(ConfigError, match="contains a NUL character"):
        load(overrides=[f'{key}="a\\0b"'])


def test_a_pipe_in_a_run_below_dev_is_not_waited_for():
    import os
    import tempfile

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.mkfifo(f"{folder}/config.yaml")
        with pytest.raises(ConfigError, match="is not a regular file"):
            load(f"{folder}/config.yaml")
