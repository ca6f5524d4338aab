"""Networks that were rebuilt give what their own packages give: recorded with PyTorch 2.13.0 and librosa 0.11.0."""

import importlib.util

import numpy as np
import pytest

from myxtts.features.audio import read_audio, to_float

speech = pytest.importorskip("moonshine_voice")  # carries a few clips

# DistillMOS (distillmos 0.9.1), and DNSMOS's signal, background, overall and P.808 (speechmos 0.0.1.1)
RECORDED = {
    "beckett": (4.33555, 3.64054, 4.12048, 3.36103, 3.92532),
    "error": (2.08490, 1.70817, 1.52460, 1.31273, 2.13718),
}


def needs(package: str):
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"pip install --no-deps {package}")


def sound(name: str) -> tuple[np.ndarray, int]:
    audio, rate = read_audio(f"{speech.__path__[0]}/assets/{name}.wav")
    return to_float(audio), rate


@pytest.mark.slow
@needs("distillmos")
def test_distillmos_is_that_of_its_package():
    from myxtts.evaluation.distillmos import DistillMos

    judge = DistillMos()
    for name, recorded in RECORDED.items():
        assert judge(*sound(name)) == pytest.approx(recorded[0], abs=1e-3)


@pytest.mark.slow
@needs("speechmos")
def test_dnsmos_is_that_of_its_package():
    from myxtts.evaluation.dnsmos import DnsMos

    judge = DnsMos()
    for name, recorded in RECORDED.items():
        assert list(judge(*sound(name)).values()) == pytest.approx(recorded[1:], abs=1e-3)
    quick = DnsMos(most_cuts=1)(*sound("beckett"))
    assert quick["dnsmos_p808"] == pytest.approx(RECORDED["beckett"][4], abs=1e-3)  # of all cuts, it is cheap
    assert quick["dnsmos_overall"] == pytest.approx(RECORDED["beckett"][3], abs=0.2)


@pytest.mark.slow
@needs("resemblyzer")
def test_the_speaker_encoder_is_that_of_its_package():
    from myxtts.evaluation.speaker import SpeakerEncoder

    encode = SpeakerEncoder()
    first, second = encode(*sound("beckett")), encode(*sound("two_cities"))
    assert first @ second == pytest.approx(0.79812, abs=1e-3)
    assert first[[243, 240, 113, 169, 158]] == pytest.approx([0.28363, 0.27389, 0.22734, 0.20994, 0.20747], abs=1e-3)
    assert np.linalg.norm(first) == pytest.approx(1.0, abs=1e-5)


@needs("resemblyzer")
def test_silence_and_a_click_have_an_embedding_too():
    from myxtts.evaluation.speaker import SpeakerEncoder

    encode = SpeakerEncoder()
    for audio in (np.zeros(22050, np.float32), np.ones(100, np.float32)):
        assert np.isfinite(encode(audio, 22050)).all()
