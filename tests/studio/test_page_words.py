"""What the page says: the same in both languages, every word that is used is there, every reason has a Persian name."""

import re
from pathlib import Path

import pytest

import myxtts.studio
from myxtts.corpus.reasons import REASONS
from myxtts.studio.plans import LENGTHS, presets

PAGE = Path(myxtts.studio.__file__).parent / "page"
SCRIPTS = {path.name: path.read_text(encoding="utf-8") for path in PAGE.glob("*.js")}


def words(language):
    text = SCRIPTS[f"words.{language}.js"]
    return dict(re.findall(r'(?:^|[ ,])"?([a-z_][\w ,]*?)"?: "((?:[^"\\]|\\.)*)"', text, flags=re.M))


ENGLISH, PERSIAN = words("en"), words("fa")


def test_both_languages_have_the_same_words():
    own = {key for key in PERSIAN if key.startswith(("what_", "cure_"))}  # the server says these in English
    assert set(PERSIAN) - own == set(ENGLISH)
    assert len(ENGLISH) > 150


def test_both_languages_name_the_same_values():
    for key, text in ENGLISH.items():
        assert set(re.findall(r"\{(\w+)\}", text)) == set(re.findall(r"\{(\w+)\}", PERSIAN[key])), key


def test_every_word_that_is_used_is_there():
    used = {key for name, text in SCRIPTS.items() if not name.startswith("words.")
            for key in re.findall(r'(?<![\w.])(?:t|tile)\("(\w+)"', text)}  # fmt: skip
    used |= {f"preset_{name}" for name in presets()} | {f"length_{name}" for name in [*LENGTHS, "own"]}
    used |= {f"kind_{kind}" for kind in ("demo", "check", "pack", "train", "evaluate")}
    used |= {f"state_{state}" for state in ("running", "done", "stopped", "failed")}
    used |= {f"verdict_{verdict}" for verdict in ("healthy", "data", "recompilation")}
    parts = ("computing", "padding", "waiting for data", "compiling", "validation, samples, checkpoints")
    used |= {f"part_{part}" for part in parts}
    assert used <= set(ENGLISH), used - set(ENGLISH)


def test_every_word_is_used():
    everything = " ".join(text for name, text in SCRIPTS.items() if not re.match(r"words\.(en|fa)", name))
    made = ("step_", "kind_", "state_", "verdict_", "part_", "preset_", "length_", "measure_")
    unused = [key for key in ENGLISH if f'"{key}"' not in everything and not key.startswith(made)]
    assert unused == []


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_of_a_clip_has_a_persian_name(reason):
    not_of_a_clip = {
        "escapes_folder",
        "no_speaker",
        "command",
        "symlink_loop",
    }  # of corpora that the page does not make
    assert reason in not_of_a_clip or {f"what_{reason}", f"cure_{reason}"} <= set(PERSIAN)


def test_nothing_comes_from_the_network():
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/", "")
        assert not re.findall(r"https?://|//[a-z]+\.[a-z]+/", text), path.name
