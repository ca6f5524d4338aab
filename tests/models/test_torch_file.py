"""PyTorch files are read byte for byte, and whatever is wrong with one is an error in which nothing has run."""

import collections
import os
import pickle
import zipfile

import numpy as np
import pytest
import torch_files

from myxtts.errors import CheckpointDamaged, CheckpointError
from myxtts.models.torch_file import read_tensors

FORMATS = pytest.mark.parametrize("older", [False, True], ids=["zip", "older"])


@pytest.fixture
def tensors() -> dict:
    rng = np.random.default_rng(5)
    return collections.OrderedDict(
        a=rng.normal(size=(3, 4)).astype(np.float32),
        turned=np.asfortranarray(rng.normal(size=(2, 5)).astype(np.float32)),
        half=rng.normal(size=7).astype(np.float16),
        whole=np.arange(6).reshape(1, 6),
        number=np.array(2.5),
        empty=np.zeros((0, 3), np.float32),
    )


@FORMATS
def test_tensors_come_back_as_they_were_saved(tmp_path, tensors, older):
    loaded = read_tensors(torch_files.save(tmp_path / "file.pt", {"step": 3, "generator": tensors}, older), "generator")
    assert list(loaded) == list(tensors)
    for name, array in tensors.items():
        assert loaded[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded[name], array)


@FORMATS
def test_a_bare_state_dict_needs_no_name(tmp_path, tensors, older):
    assert list(read_tensors(torch_files.save(tmp_path / "file.pt", tensors, older))) == list(tensors)


@FORMATS
def test_what_is_missing_is_named_beside_what_is_there(tmp_path, tensors, older):
    path = torch_files.save(tmp_path / "file.pt", {"model": tensors}, older)
    with pytest.raises(CheckpointError, match="file.pt.*holds model, expected 'generator'"):
        read_tensors(path, "generator")


class Evil:
    """What a pickle that runs code looks like."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


class WithState:
    def __init__(self):
        self.mischief = True


EVIL = {
    "a command": lambda mark: Evil(os.system, f"touch {mark}"),
    "eval": lambda mark: Evil(eval, f"open({str(mark)!r}, 'w')"),
    "a file": lambda mark: Evil(open, str(mark), "w"),
    "an object": lambda mark: WithState(),
    "a function by itself": lambda mark: os.system,
    "an array of another program": lambda mark: np.float64(3),
}


@FORMATS
@pytest.mark.parametrize("kind", EVIL)
@pytest.mark.parametrize("deep", [False, True])
def test_a_pickle_that_runs_code_is_refused_and_nothing_runs(tmp_path, tensors, older, kind, deep):
    mark = tmp_path / "it ran"
    evil = EVIL[kind](mark)
    value = {"generator": tensors | {"evil": evil}} if deep else evil
    path = torch_files.save(tmp_path / "evil.pt", value, older)
    with pytest.raises(CheckpointError, match=r"evil.pt cannot be read: its pickle (names|uses|sets).*nothing"):
        read_tensors(path, "generator")
    assert not mark.exists()


def test_a_bare_pickle_is_refused_and_nothing_runs(tmp_path):
    mark = tmp_path / "it ran"
    path = tmp_path / "plain.pkl"
    for protocol in range(6):
        path.write_bytes(pickle.dumps(Evil(os.system, f"touch {mark}"), protocol))
        with pytest.raises(CheckpointError):
            read_tensors(path)
        path.write_bytes(pickle.dumps([1, 2], protocol))
        with pytest.raises(CheckpointError):
            read_tensors(path)
    assert not mark.exists()


@FORMATS
def test_a_file_cut_anywhere_is_an_error(tmp_path, tensors, older):
    whole = torch_files.save(tmp_path / "whole.pt", {"generator": tensors}, older).read_bytes()
    cut = tmp_path / "cut.pt"
    for length in {*range(0, len(whole), 7), len(whole) - 1}:
        cut.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="cut.pt"):
            read_tensors(cut, "generator")


@FORMATS
def test_flipped_bytes_end_in_tensors_or_in_an_error(tmp_path, tensors, older):
    whole = torch_files.save(tmp_path / "whole.pt", {"generator": tensors}, older).read_bytes()
    rng, refused = np.random.default_rng(1), 0
    for _ in range(400):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] = rng.integers(256)
        (tmp_path / "damaged.pt").write_bytes(damaged)
        try:
            read_tensors(tmp_path / "damaged.pt", "generator")
        except CheckpointError:
            refused += 1
    assert refused > 100


def test_a_tensor_that_reaches_outside_of_its_bytes_is_refused(tmp_path, tensors, monkeypatch):
    class Longer(np.ndarray):
        shape = (1000, 1000)

    array = np.zeros(12, np.float32).view(Longer)
    with pytest.raises(CheckpointDamaged, match="x reaches outside of its 12 elements"):
        read_tensors(torch_files.save(tmp_path / "file.pt", {"x": array}))


def test_a_compressed_zip_is_refused_before_it_unfolds(tmp_path):
    path = tmp_path / "bomb.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\0" * 1_000_000)
    with pytest.raises(CheckpointError, match="compressed"):
        read_tensors(path)


def test_a_value_that_holds_itself_is_read_to_its_end(tmp_path, tensors):
    tensors["again"] = tensors["a"]
    round_ = {"generator": tensors}
    path = torch_files.save(tmp_path / "file.pt", round_, older=True)
    assert "again" in read_tensors(path, "generator")
    loop: list = []
    loop.append(loop)
    path = torch_files.save(tmp_path / "loop.pt", {"generator": tensors, "loop": loop}, older=True)
    assert "again" in read_tensors(path, "generator")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "neither a zip nor a pickle"),
        (b"RIFF1234", "neither a zip nor a pickle"),
        (b"PK\x05\x06" + b"\0" * 18, "zip without data.pkl"),
    ],
)
def test_other_files_are_named_as_such(tmp_path, content, message):
    (tmp_path / "other.bin").write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        read_tensors(tmp_path / "other.bin")


def test_no_file_and_the_other_byte_order_are_errors(tmp_path, tensors):
    with pytest.raises(CheckpointError, match="nowhere.pt: No such file"):
        read_tensors(tmp_path / "nowhere.pt")
    with pytest.raises(CheckpointError, match="Is a directory"):
        read_tensors(tmp_path)
    path = torch_files.save(tmp_path / "file.pt", tensors)
    path.write_bytes(path.read_bytes().replace(b"little", b"biggie"))
    with pytest.raises(CheckpointError, match=r"byte order|damaged"):
        read_tensors(path)
