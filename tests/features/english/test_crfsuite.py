"""Models of CRFsuite are read from their bytes, and their likeliest labels are those of all ways to label."""

import itertools

import numpy as np
import pytest
from features.english.packages import crf

from myxtts.errors import TextError
from myxtts.features.english.crfsuite import Model

LABELS, SEEN = ["N", "V", "D"], ["a", "b", "c", "d"]


def test_the_likeliest_labels_are_those_of_all_ways_to_label():
    rng = np.random.default_rng(0)
    weights = {(seen, label): float(rng.normal()) for seen in SEEN for label in LABELS}
    steps = {(one, other): float(rng.normal()) for one in LABELS for other in LABELS}
    model = Model(crf(LABELS, weights, steps))
    for _ in range(20):
        sequence = [{str(name): float(rng.random()) for name in rng.choice(SEEN, 2)} for _ in range(5)]

        def score(path, sequence=sequence):
            seen = zip(sequence, path, strict=True)
            alone = sum(weights[name, label] * value for each, label in seen for name, value in each.items())
            return alone + sum(steps[pair] for pair in itertools.pairwise(path))

        assert tuple(model.tag(sequence)) == max(itertools.product(LABELS, repeat=5), key=score)


def test_what_the_model_has_not_seen_counts_for_nothing():
    model = Model(crf(["N", "V"], {("a", "V"): 1.0}, {}))
    assert model.tag([{"a": 1.0, "new": 9.0}, {"new": 1.0}]) == ["V", "N"]
    assert model.tag([]) == []


@pytest.mark.parametrize("content", [b"", b"lCRF", b"not a model" * 20, crf(["N"], {("a", "N"): 1.0}, {})[:70]])
def test_a_damaged_file_is_named(tmp_path, content):
    path = tmp_path / "model.crf"
    path.write_bytes(content)
    with pytest.raises(TextError, match="model.crf"):
        Model.load(path)
