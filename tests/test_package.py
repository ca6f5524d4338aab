"""The package's own door: short names for a first script, and an import that costs nothing."""

import subprocess
import sys

import pytest

import myxtts

SHORT = sorted(set(myxtts.__all__) - {"__version__"})


def test_the_short_names_are_those_of_the_rooms():
    from myxtts.data.ljspeech import LJSpeechDataset
    from myxtts.inference.synthesizer import Synthesizer

    assert myxtts.Synthesizer is Synthesizer
    assert myxtts.LJSpeechDataset is LJSpeechDataset
    for name in SHORT:
        assert getattr(myxtts, name).__name__ == name
        assert name in dir(myxtts)


def test_another_name_is_an_error_that_lists_them():
    with pytest.raises(AttributeError, match="no attribute 'Synthesiser': it has .*Synthesizer"):
        myxtts.Synthesiser  # noqa: B018


def test_importing_the_package_imports_no_framework():
    heavy = "{'tensorflow', 'keras', 'soundfile', 'scipy', 'yaml'}"
    code = f"import sys, myxtts; sys.exit(', '.join(sorted({heavy} & set(sys.modules))) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
