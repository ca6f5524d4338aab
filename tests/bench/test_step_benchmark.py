"""The benchmark of a step keeps up with the model that it measures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "step.py"


@pytest.mark.slow
@pytest.mark.parametrize(("part", "name"), [("speech", "neural"), ("ways", "graph float32")])
def test_it_measures(part, name):
    words = [sys.executable, str(BENCHMARK), "--part", part, "--repeats", "1", "--steps", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1])[name]
