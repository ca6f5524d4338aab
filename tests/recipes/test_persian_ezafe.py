"""The recipe of the ezafe tagger: what it takes from a vowelled text, its gradient, and a model trained on a little."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from scipy.sparse import csr_matrix

RECIPE = Path(__file__).parents[2] / "recipes" / "persian_ezafe"


@pytest.fixture(autouse=True)
def recipe_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(RECIPE))


def test_labels_are_what_the_signs_say_and_unknown_where_they_are_silent(tmp_path):
    from corpus import UNKNOWN, read_sentences

    path = tmp_path / "text.txt"
    lines = ["کِتابِ مَنْ رویِ میزْ اَسْتْ .", "خانهٔ او خوبی دارَدْ وَ مَرْدُم", "مَرْدِ خوبی کِه رَفْتْ .", "این را کسی ننوشت"]
    path.write_text("\n".join(lines), encoding="utf-8")
    sentences = list(read_sentences(path))
    assert len(sentences) == 3  # the last one has no signs
    assert sentences[0] == (["کتاب", "من", "روی", "میز", "است", "."], [1, 0, 1, 0, 0, 0])
    assert dict(zip(*sentences[1], strict=True)) == {
        "خانه": 1, "او": 0, "خوبی": UNKNOWN, "دارد": 0, "و": 0, "مردم": UNKNOWN,
    }  # fmt: skip
    assert dict(zip(*sentences[2], strict=True))["خوبی"] == UNKNOWN


def test_the_crf_sums_over_what_it_does_not_know():
    import crf

    rng = np.random.default_rng(0)
    lengths, known = [4, 2, 3], np.array([1, 0, -1, 1, 0, -1, -1, -1, 1])
    chains = crf.Chains.of(lengths)
    scores, transitions = rng.random((9, 2)) + 0.1, rng.normal(size=(2, 2))
    allowed = np.stack([known != 1, known != 0], 1)
    log_z, labels, _ = crf.expect(chains, scores * allowed, transitions)
    total, first = 0.0, 0
    for length in lengths:
        weights = {}
        for number in range(2**length):
            path = [number >> bit & 1 for bit in range(length)]
            weight = np.prod([scores[first + t, label] * allowed[first + t, label] for t, label in enumerate(path)])
            weight *= np.exp(sum(transitions[a, b] for a, b in zip(path, path[1:], strict=False)))
            weights[tuple(path)] = weight
        z = sum(weights.values())
        total += np.log(z)
        for t in range(length):
            share = sum(weight for path, weight in weights.items() if path[t]) / z
            assert labels[first + t, 1] == pytest.approx(share)
        first += length
    assert log_z == pytest.approx(total)


def test_the_slope_is_that_of_the_loss(monkeypatch):
    import crf

    rng = np.random.default_rng(1)
    features = csr_matrix((rng.random((9, 5)) < 0.5).astype(float))
    seen = {}
    monkeypatch.setattr(
        scipy.optimize, "minimize",
        lambda loss, start, **_: seen.update(loss=loss) or scipy.optimize.OptimizeResult(x=start),
    )  # fmt: skip
    crf.train(features, [4, 2, 3], np.array([1, 0, -1, 1, 0, -1, -1, 0, 1]), 0.5, 1)
    at = rng.normal(size=9)
    slope = scipy.optimize.approx_fprime(at, lambda x: seen["loss"](x)[0], 1e-6)
    assert seen["loss"](at)[1] == pytest.approx(slope, abs=1e-3)


def test_a_small_model_learns_its_sentences(tmp_path):
    sentence, other = "کِتابِ مَنْ خوبْ اَسْتْ .", "او کِتابْ رَا خَریدْ ."
    (tmp_path / "text.txt").write_text("\n".join([sentence, other] * 20), encoding="utf-8")
    command = [sys.executable, RECIPE / "train.py", tmp_path / "text.txt", "--out", tmp_path / "model.npz"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "F1 1.000" in done.stdout

    from myxtts.features.persian.ezafe import EzafeTagger

    model = np.load(tmp_path / "model.npz", allow_pickle=False)
    tagger = EzafeTagger(model["weights"], float(model["unit"]), model["transitions"])
    assert tagger.tag(["کتاب", "من", "خوب", "است", "."]) == [True, False, False, False, False]
    assert tagger.tag(["او", "کتاب", "را", "خرید", "."]) == [False] * 5
