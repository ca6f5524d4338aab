"""Which settings a resumed run has: those it was started with, but for what is given now."""

import pytest

from myxtts.config.config import XTTSConfig, load
from myxtts.training.resume import is_started, with_settings_of

STARTED = {
    "data": {"batch_size": 12, "num_workers": 7, "text_tokens": "characters", "dataset_path": "voice.cache"},
    "model": {"size": "small"},
    "training": {"steps": 45, "learning_rate": 0.01},
}


@pytest.fixture
def run(tmp_path):
    (tmp_path / "run" / "checkpoints" / "step-5").mkdir(parents=True)
    XTTSConfig.from_dict(STARTED).to_yaml(tmp_path / "run" / "config.yaml")
    return tmp_path / "run"


def test_a_run_keeps_its_settings_and_what_is_given_now_wins(run, caplog):
    caplog.set_level("INFO")
    config = with_settings_of(run, load(preset="cpu", overrides=["data.num_workers=18"]))
    assert (config.data.text_tokens, config.data.dataset_path, config.model.size) == (
        "characters", "voice.cache", "small")  # fmt: skip
    assert (config.data.num_workers, config.data.batch_size) == (18, 16)  # --set, though it is the default; the preset
    assert (config.training.steps, config.training.learning_rate) == (45, 0.01)
    assert "text_tokens" not in config.data.given  # the cache may still decide
    assert "resumes with the settings in its config.yaml; given now: " in caplog.text
    assert "data.num_workers (--set)" in caplog.text


def test_an_end_that_is_given_now_replaces_the_others(run):
    training = with_settings_of(run, load(overrides=["training.minutes=3"])).training
    assert (training.minutes, training.steps, training.learning_rate) == (3.0, None, 0.01)


@pytest.mark.parametrize(("before", "after"), [(1200, 1200), (None, "auto")])
def test_a_frame_budget_that_was_found_stays(run, before, after):
    XTTSConfig.from_dict({"data": {"frame_budget": before}}).to_yaml(run / "config.yaml")
    assert with_settings_of(run, load(overrides=["data.frame_budget=auto"])).data.frame_budget == after
    assert with_settings_of(run, load(overrides=["data.frame_budget=900"])).data.frame_budget == 900


def test_a_run_that_was_not_started_or_lost_its_settings_has_those_given_now(run, tmp_path, caplog):
    config = load(overrides=["data.batch_size=8"])
    assert not is_started(tmp_path)
    assert with_settings_of(tmp_path, config) == config
    (run / "config.yaml").unlink()
    assert with_settings_of(run, config) == config
    assert "resumes with the settings given now alone" in caplog.text
