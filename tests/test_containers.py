"""The container files hold what they promise, as far as can be seen without a container engine."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from myxtts.cli import _parser
from myxtts.serving.guard import OPEN

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "containers").glob("*/Containerfile"))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
WORDS = {
    "FROM",
    "WORKDIR",
    "COPY",
    "RUN",
    "ENV",
    "USER",
    "EXPOSE",
    "HEALTHCHECK",
    "STOPSIGNAL",
    "ENTRYPOINT",
    "CMD",
    "VOLUME",
}


def instructions(path: Path) -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", " ", path.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def last(path: Path, word: str) -> str:
    return [rest for each, rest in instructions(path) if each == word][-1]


def test_there_is_one_for_the_server_and_one_for_training():
    assert [path.parent.name for path in FILES] == ["server", "train"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_it_is_pinned_and_has_no_rights(path):
    assert {word for word, _ in instructions(path)} <= WORDS
    for _, rest in (each for each in instructions(path) if each[0] == "FROM"):
        assert re.match(r"docker\.io/library/python:3\.11\.\d+-slim-bookworm( AS \w+)?$", rest)
    after_last_from = [word for word, _ in instructions(path)]
    assert "USER" in after_last_from[len(after_last_from) - after_last_from[::-1].index("FROM") :]
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", last(path, "USER"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_what_it_copies_and_installs_is_there(path):
    for _, rest in (each for each in instructions(path) if each[0] == "COPY"):
        sources = rest.split()[:-1]
        if not sources[0].startswith("--from="):
            assert all((ROOT / source).exists() for source in sources)
    recipe = path.read_text(encoding="utf-8")
    asked = [extra for extras in re.findall(r"'\.\[([\w,]+)\]'", recipe) for extra in extras.split(",")]
    assert asked
    assert set(asked) <= set(EXTRAS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_its_commands_are_understood(path):
    entry, command = json.loads(last(path, "ENTRYPOINT")), json.loads(last(path, "CMD"))
    assert entry[0] == "myxtts"
    _parser().parse_args([*entry[1:], *command])
    for _, rest in (each for each in instructions(path) if each[0] == "RUN"):
        for step in rest.split(" && "):
            words = shlex.split(step)
            if words[0].endswith("/myxtts"):
                _parser().parse_args(words[1:])


def test_the_server_is_asked_for_its_health_at_its_port(capsys):
    (path,) = (each for each in FILES if each.parent.name == "server")
    address = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", last(path, "HEALTHCHECK"))
    assert address[1] == last(path, "EXPOSE")
    assert address[2] in OPEN
    with pytest.raises(SystemExit):
        _parser().parse_args(["serve", "--help"])
    assert f"(default: {address[1]})" in capsys.readouterr().out
