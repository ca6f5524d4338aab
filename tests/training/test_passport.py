"""Workers that would not train the same run, or not at the same pace, are told apart before the first step."""

import pytest

from myxtts.training.passport import difference

OURS = {"version": "1.0", "tensorflow": "2.21", "devices": "GPU", "cache": "ab", "settings": {"a": 1}, "plan": "p"}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"devices": "CPU"}, "trains on CPU, not GPU: run 'myxtts gpu-check' on the machine that finds no GPU"),
        ({"tensorflow": "2.20"}, "TensorFlow 2.20, not 2.21: install the same version"),
        ({"settings": {"a": 2}}, "a is 2, not 1: give every worker the same settings"),
        ({"plan": "q"}, "its batches come in another order: give every worker the same data and settings"),
        ({}, ""),
    ],
)
def test_the_first_difference_is_told_with_its_cure(other, said):
    assert difference(OURS, OURS | other) == said
