"""One source for each choice, one word for each thing, and nothing cited that a reader does not have."""

import argparse
import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from myxtts.cli import _parser, say
from myxtts.config.config import DataConfig, ModelConfig, TrainingConfig
from myxtts.config.settings import choices_of, describe
from myxtts.corpus.detect import LAYOUTS
from myxtts.data.threads import MAX_THREADS
from myxtts.errors import MissingExtra, install_command
from myxtts.models.description import ModelDescription
from myxtts.models.sizes import SIZES
from myxtts.training.schedule import KINDS

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def verbs() -> dict[str, argparse.ArgumentParser]:
    return next(action.choices for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))


def flags_of(verb: argparse.ArgumentParser) -> set[str]:
    return {flag for action in verb._actions for flag in action.option_strings}


# ---- choices ---------------------------------------------------------------------------------------------------------


def test_sizes_and_schedules_are_those_of_the_settings():
    assert tuple(SIZES) == choices_of(ModelConfig, "size")
    assert choices_of(TrainingConfig, "schedule") == KINDS
    made = ModelDescription(token_table=["<pad>"], languages=["en-us"])
    assert (made.size, made.reference_frames) == (ModelConfig().size, DataConfig().reference_frames)


def test_flags_take_and_show_the_values_of_their_setting():
    train = verbs()["train"]
    shown = " ".join(train.format_help().split())
    assert f"{', '.join(choices_of(ModelConfig, 'size'))}: model.size" in shown
    assert ", ".join(LAYOUTS) in shown
    assert train.parse_args(["--layout", "somebody_elses"]).given_by_flags[0][1] == "somebody_elses"


def test_say_has_no_defaults_of_its_own():
    flags = {action.dest: action.default for action in verbs()["say"]._actions}
    assert {flags[name] for name in say._OPTIONS} == {None}


def test_the_manual_names_the_limit_of_threads():
    (meaning,) = (doc for key, *_, doc in describe(DataConfig) if key == "num_workers")
    assert f"({MAX_THREADS} at most)" in meaning


# ---- one word for data -----------------------------------------------------------------------------------------------


def test_data_is_called_data_by_every_verb():
    for name, verb in verbs().items():
        flags = flags_of(verb)
        assert not flags & {"--cache", "--corpus", "--dataset"}, name
        if any("data.dataset_path" in action.dest for action in verb._actions):
            assert "--data" in flags, name
    assert {"--data", "--train-data", "--val-data"} <= flags_of(verbs()["train"])  # the second is documented
    assert not [name for name, verb in verbs().items() if name != "train" and "--train-data" in flags_of(verb)]


# ---- what a reader has -----------------------------------------------------------------------------------------------


def text_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    kinds = {".py", ".md", ".ipynb", ".yaml", ".toml", ""}
    return [ROOT / name for name in listed if Path(name).suffix in kinds and name != "tests/test_one_source.py"]


@pytest.mark.parametrize("pattern", [r"\bDESIGN\b", r"\bMODEL\.md\b", r"\bSTYLE\.md\b", r"myxtts\[\w"])
def test_nothing_is_cited_or_installed_that_is_not_there(pattern):
    """Files of others, and a release on PyPI before there is one."""
    missing = [
        str(path) for path in text_files() if path.is_file() and re.search(pattern, path.read_text(errors="replace"))
    ]
    assert missing == []


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"dev", "docs"}))
def test_an_extra_is_installed_by_the_names_of_its_packages_and_named_in_notice(extra, monkeypatch):
    lines = [f'{package}; extra == "{name}"' for name, packages in EXTRAS.items() for package in packages]
    monkeypatch.setattr(metadata, "requires", lambda name: lines)  # as of today, whatever is installed
    command = install_command(extra)
    assert command.startswith("pip install ")
    for package in EXTRAS[extra]:
        assert package.partition(";")[0] in command  # a marker is for pip
    assert command in str(MissingExtra("x", extra, "this"))
    assert re.search(rf"[Ee]xtra `{extra}`", (ROOT / "NOTICE").read_text()), extra


def test_a_copy_that_was_never_installed_is_installed_from_its_folder(monkeypatch):
    def refuse(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", refuse)
    assert install_command("demo") == "pip install '.[demo]' in the folder of MyXTTS"
