"""The door of this room: a run or checkpoint becomes a folder that speaks elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from myxtts.errors import CheckpointError, SpeechError
from myxtts.export.acoustic import add_acoustic
from myxtts.export.graph import Graph
from myxtts.export.hifigan import add_hifigan
from myxtts.export.reference import add_reference
from myxtts.export.vocoder import add_excitation, add_vocoder
from myxtts.features.mel import SAMPLE_RATE
from myxtts.files import clone_file, write_whole
from myxtts.inference.export_description import ACOUSTIC, EXCITATION, REFERENCE, VOCODER, ExportDescription
from myxtts.inference.speech import NOTE
from myxtts.models import weights
from myxtts.models.description import ModelDescription, find_checkpoint, weights_file
from myxtts.models.format import VOICE, WEIGHTS
from myxtts.models.hifigan_layers import CONTEXT_FRAMES as HIFIGAN_CONTEXT
from myxtts.models.shipped import VOCODER as SHIPPED_VOCODER
from myxtts.models.shipped import shipped
from myxtts.models.sizes import size_named
from myxtts.models.vocoder_description import OURS, VocoderDescription
from myxtts.models.vocoder_table import CONTEXT_FRAMES

GRIFFIN_LIM = "griffin-lim"


def export_onnx(
    model: Path, folder: Path, vocoder: str = "neural", int8: bool = False, start: bool = True
) -> ExportDescription:
    """Write the graphs and everything beside them that is needed to speak; the description last.

    `start`: also the weights in half precision, from which another training can start.
    """
    checkpoint = find_checkpoint(model)
    description = ModelDescription.load(checkpoint)
    sound = vocoder_folder(vocoder)
    kind = GRIFFIN_LIM if sound is None else VocoderDescription.load(sound).kind
    make_empty(folder)
    size, own = size_named(description.size), weights.load(weights_file(checkpoint))
    notes = {"note": NOTE, "sample_rate": str(SAMPLE_RATE), "languages": json.dumps(description.languages)}

    def write(name: str, tensors: dict[str, Any], add: Callable[[Graph], None]) -> None:
        graph = Graph(name.partition(".")[0], tensors, int8)
        add(graph)
        write_whole(folder / name, graph.to_bytes(notes))

    frames, follows = description.reference_frames, description.follows_pitch
    write(ACOUSTIC, own, lambda graph: add_acoustic(graph, size, follows))
    write(REFERENCE, own, lambda graph: add_reference(graph, size, frames, follows))
    if sound is not None:
        learnt = weights.load(weights_file(sound))
        write(VOCODER, learnt, add_vocoder if kind == OURS else add_hifigan)
    if kind == OURS:
        write(EXCITATION, {}, add_excitation)
    copy_what_speaks(checkpoint, description, folder)
    if start:
        weights.save(folder / WEIGHTS, weights.halved(own))
    export = ExportDescription(kind, CONTEXT_FRAMES if kind == OURS else HIFIGAN_CONTEXT, int8)
    export.save(folder)
    return export


def make_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CheckpointError(f"{folder} is there and not empty: choose another -o, or remove it first")
    folder.mkdir(parents=True, exist_ok=True)


def copy_what_speaks(checkpoint: Path, description: ModelDescription, folder: Path) -> None:
    """What is needed beside networks: the description, the model's own voice, the licences."""
    description.save(folder)
    if (checkpoint / VOICE).is_file():
        clone_file(checkpoint / VOICE, folder / VOICE)
    write_whole(folder / "LICENSE", _licence("LICENSE").encode())
    write_whole(folder / "NOTICE", (_licence("NOTICE") + _whom_to_name(description.attribution)).encode())


def _whom_to_name(attribution: list[str]) -> str:
    if not attribution:
        return ""
    listed = "".join(f"- {' '.join(each.split())}\n" for each in attribution)
    return f"\nThe voice in this folder is made from the work of others. Name it where you publish the voice:\n{listed}"


def vocoder_folder(name: str) -> Path | None:
    if name == GRIFFIN_LIM:
        return None
    if name == "neural":
        return shipped(SHIPPED_VOCODER)
    if not Path(name).is_dir():
        raise SpeechError(f"found the vocoder '{name}', expected neural, {GRIFFIN_LIM}, or the folder of a vocoder")
    return find_checkpoint(name)


def _licence(name: str) -> str:
    """Of the installed package, else of the source tree that this runs from."""
    source = Path(__file__).parents[2] / name
    if source.is_file():
        return source.read_text(encoding="utf-8")
    text = metadata.distribution("myxtts").read_text(f"licenses/{name}")
    if text is None:
        raise CheckpointError(f"the package has lost its {name}: install MyXTTS again")
    return text
