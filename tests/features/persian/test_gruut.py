"""The tagger of gruut-lang-fa, where it is installed: here a small model of the same form."""

import itertools
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from myxtts.features.persian.gruut import _marginals

LABELS = ["N", "Ne", "V"]
WORDS = {"کتاب": "Ne", "من": "N", "قرمز": "Ne", "است": "V"}  # قرمز is what only this model takes for a bearer of ezafe


@pytest.fixture
def package(tmp_path):
    """A package gruut_lang_fa whose model has three tags, a weight for each word, and a few pairs."""
    folder = tmp_path / "site" / "gruut_lang_fa"
    (folder / "pos").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (tmp_path / "site" / "gruut_lang_fa-9.9.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: gruut_lang_fa\nVersion: 9.9\n"
    (tmp_path / "site" / "gruut_lang_fa-9.9.dist-info" / "METADATA").write_text(metadata)
    (folder / "pos" / "postagger.model").write_bytes(model())
    return tmp_path


def model() -> bytes:
    observations = [b"*", *(b"u:w=" + word.encode() for word in WORDS)]
    sizes = [len(LABELS) + len(LABELS) ** 2] + [len(LABELS)] * len(WORDS)
    weights = {0: 0.25, len(LABELS) + LABELS.index("V") * 3 + LABELS.index("Ne"): -2.0}
    for number, label in enumerate(WORDS.values()):
        weights[sizes[0] + number * len(LABELS) + LABELS.index(label)] = 20.0 if label == "Ne" else 6.0
    lines = [b"#mdl#2#%d" % len(weights), b"#rdr#1/0/0", b"1:*,", b"#qrk#%d" % len(LABELS)]
    lines += [b"%d:%s," % (len(label), label.encode()) for label in LABELS]
    lines += [b"#qrk#%d" % len(observations), *(b"%d:%s," % (len(name), name) for name in observations)]
    return (
        b"\n".join([*lines, *(b"%d=%s" % (at, value.hex().encode()) for at, value in sorted(weights.items()))]) + b"\n"
    )


def run(package, code: str) -> str:
    path = os.pathsep.join([str(package / "site"), *sys.path])
    env = os.environ | {"PYTHONPATH": path, "XDG_CACHE_HOME": str(package / "kept")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


SAY = """
import json
from myxtts.features.text import TextFrontend
frontend = TextFrontend(stress=False, bos=False, eos=False)
print(json.dumps(["".join(frontend.symbols([text], "fa")[0]) for text in ("کتاب من است", "قرمز است")]))
print(json.dumps(frontend.settings()["readers"]))
"""


def test_it_is_asked_and_named_in_the_fingerprint(package):
    said, readers = map(json.loads, run(package, SAY).splitlines())
    assert said[0].split()[0].endswith("e")
    assert said[1].split()[0].endswith("e")  # our own tagger alone would not
    assert readers["fa"] == "own + gruut-lang-fa 9.9"


def test_what_was_read_is_kept_and_read_again_if_it_is_damaged(package):
    first = run(package, SAY)
    [kept] = (package / "kept" / "myxtts").iterdir()
    assert kept.name == "gruut-lang-fa-9.9.npz"
    (package / "site" / "gruut_lang_fa" / "pos" / "postagger.model").rename(package / "model")
    assert run(package, SAY) == first
    (package / "model").rename(package / "site" / "gruut_lang_fa" / "pos" / "postagger.model")
    kept.write_bytes(kept.read_bytes()[:100])
    assert run(package, SAY) == first


def test_where_nothing_can_be_kept_it_works_too(package):
    (package / "kept").write_text("a file in the way")
    assert run(package, SAY)


def test_its_marginals_are_those_of_all_ways_to_tag():
    rng = np.random.default_rng(0)
    first, steps = rng.random(3).astype("f4"), rng.random((9, 3, 3)).astype("f4")
    whole = np.zeros((9, 3))
    for path in itertools.product(range(3), repeat=9):
        share = first[path[0]] * math.prod(steps[t][path[t - 1], path[t]] for t in range(1, 9))
        for t, tag in enumerate(path):
            whole[t, tag] += share
    assert _marginals(first, steps) == pytest.approx(whole / whole.sum(1, keepdims=True), abs=1e-5)


def test_its_scores_are_finite_whatever_it_is_given(package):
    code = """
import math
from myxtts.features.persian.gruut import GruutTagger
tagger = GruutTagger.load()
odds = tagger.scores(["کتاب", "من", "است", "قرمز"])
assert odds[0] > 5 and odds[3] > 5 and odds[1] < -3 and odds[2] < -3, odds
for words in (["x"] * 500, ["!", "1", "کتاب"] * 300, ["است", "کتاب"] * 100, ["a"]):
    assert len(tagger.scores(words)) == len(words) and all(map(math.isfinite, tagger.scores(words)))
"""
    run(package, code)
