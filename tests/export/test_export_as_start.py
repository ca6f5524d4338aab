"""A voice can start from an exported model as from the run that it was made from; one that cannot says so."""

import dataclasses
import shutil

import numpy as np
import pytest
from training.small_data import small_config
from training.small_run import SMALL

from myxtts.cache.reader import Cache
from myxtts.cli import main
from myxtts.data.pipeline import Feed
from myxtts.errors import CheckpointError
from myxtts.export.export import export_onnx
from myxtts.inference.exported import Exported
from myxtts.inference.speakers import find_speaker, load_speaker
from myxtts.models import sizes, weights
from myxtts.models.description import ModelDescription, find_checkpoint, weights_file
from myxtts.training.setup import build_model


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)


@pytest.fixture(scope="module")
def run(trained_run):
    return trained_run[0]


def test_a_training_takes_over_what_was_exported(run, packed_voice, tmp_path):
    export_onnx(run, tmp_path / "onnx", "griffin-lim")
    config = small_config(start_from=str(tmp_path / "onnx"))
    model = build_model(config, Feed(Cache(packed_voice), config))
    own, taken_over = weights.load(weights_file(find_checkpoint(run))), weights.weights_of(model)
    tables = {getattr(model.text_encoder, name).path for name in ("symbols", "languages")}  # see test_start_from.py
    assert taken_over.keys() == own.keys() > tables
    for name in own.keys() - tables:
        np.testing.assert_allclose(taken_over[name], own[name], rtol=1e-3, atol=1e-6, err_msg=name)


def test_its_weights_are_half_as_large_and_do_not_speak(run, tmp_path):
    export_onnx(run, tmp_path / "onnx", "griffin-lim")
    kept = weights.load(tmp_path / "onnx" / "weights.safetensors")
    own = weights.load(weights_file(find_checkpoint(run)))
    assert sum(each.nbytes for each in kept.values()) < 0.6 * sum(each.nbytes for each in own.values())
    (tmp_path / "onnx" / "weights.safetensors").write_bytes(b"damaged")
    speaker = load_speaker(find_speaker(tmp_path / "onnx"))
    assert isinstance(speaker, Exported)
    assert speaker.say("one.").seconds > 0


def test_one_without_its_weights_says_what_to_do(run, tmp_path):
    assert main(["export", str(run), "-o", str(tmp_path / "onnx"), "--vocoder", "griffin-lim", "--no-weights"]) == 0
    assert ModelDescription.load(tmp_path / "onnx").languages
    assert load_speaker(find_speaker(tmp_path / "onnx")).say("one.").seconds > 0
    with pytest.raises(CheckpointError, match="weights.safetensors is not.*export the run again, or give the run"):
        find_checkpoint(tmp_path / "onnx")


@pytest.mark.parametrize("named", [[], ["recordings of one (CC-BY 3.0)", "recordings\nof two"]])
def test_whom_it_asks_to_name_is_in_it(run, tmp_path, named):
    checkpoint, begun = find_checkpoint(run), tmp_path / "begun"
    begun.mkdir()
    dataclasses.replace(ModelDescription.load(checkpoint), attribution=named).save(begun)
    shutil.copy(weights_file(checkpoint), begun / "weights.safetensors")
    export_onnx(begun, tmp_path / "onnx", "griffin-lim")
    assert ModelDescription.load(tmp_path / "onnx").attribution == named
    notice = (tmp_path / "onnx" / "NOTICE").read_text(encoding="utf-8")
    listed = "Name it where you publish the voice:\n- recordings of one (CC-BY 3.0)\n- recordings of two\n"
    assert notice.startswith("MyXTTS\n")
    assert notice.endswith(listed) == bool(named)
    assert ("Name it where" in notice) == bool(named)


@pytest.mark.slow
def test_a_saved_model_has_them_too(run, tmp_path):
    assert main(["export", str(run), "-o", str(tmp_path / "saved"), "--format", "savedmodel"]) == 0
    own = weights.load(weights_file(find_checkpoint(run)))
    kept = weights.load(weights_file(find_checkpoint(tmp_path / "saved")))
    for name in own:
        np.testing.assert_allclose(kept[name], own[name], rtol=1e-3, atol=1e-6, err_msg=name)
