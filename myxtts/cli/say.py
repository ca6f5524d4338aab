"""`myxtts say` speaks a text in the voice of a reference clip."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, UsageError, add_verb, as_text, check_output, progress_bar

_OPTIONS = ("language", "speed", "pitch", "seed", "vocoder")  # of a request; each is a flag


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "say", run, "speak a text in the voice of a reference clip",
        "  myxtts say 'Good morning.' --voice me.wav -o morning.wav\n"
        "  myxtts say 'Good morning.' --model runs/anna -o morning.wav\n"
        "  myxtts say --file story.txt --voice me.wav --voice me2.wav --model runs/anna -o story.wav\n"
        "  echo 'From a pipe.' | myxtts say - --model runs/anna -o pipe.wav")  # fmt: skip
    parser.add_argument("text", metavar="TEXT", nargs="?", help="what to say; - reads it from standard input")
    parser.add_argument("--file", metavar="FILE", type=Path, help="a text file (UTF-8) to read aloud")
    parser.add_argument("--model", metavar="RUN", type=Path, default=Path("base"),
                        help="run, checkpoint or exported model (default: base, which comes with MyXTTS)")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="OUT.wav", type=Path, required=True, help=".wav or .flac")
    parser.add_argument("--voice", metavar="REF.wav", type=Path, action="append",
                        help="a recording of the wanted voice; may be repeated (default: as trained)")  # fmt: skip
    parser.add_argument(
        "--language",
        metavar="CODE",
        help="default: the one that most of the recordings are in, or one that is written in the letters of the text",
    )
    parser.add_argument("--lexicon", metavar="FILE", type=Path,
                        help="words and how they are said, besides those the model was trained with")  # fmt: skip
    parser.add_argument("--speed", metavar="X", type=float, help="2 is twice as fast (0.25 to 4)")
    parser.add_argument("--pitch", metavar="N", type=float, help="semitones up or down (-12 to 12)")
    parser.add_argument("--seed", metavar="N", type=int, help="another breath in the sound; the same N, the same sound")
    parser.add_argument("--vocoder", metavar="NAME|DIR",
                        help="neural (default), griffin-lim, or the run or folder of a vocoder")  # fmt: skip


def run(arguments: argparse.Namespace) -> Result:
    text = _text(arguments)
    check_output("-o", arguments.output, (".wav", ".flac"))
    _keep_inputs(arguments)
    from myxtts.inference.speakers import find_speaker, load_speaker

    folder = find_speaker(arguments.model)  # once: a training that goes on meanwhile may find a better one
    request, voice = _checked(arguments, text, folder)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from myxtts.inference.speech import SpeechFile

    pieces = load_speaker(folder, request.vocoder).speak(request, voice)
    with progress_bar(len(text), "speaking", "char") as bar, SpeechFile(arguments.output) as speech:
        for piece in pieces:
            speech.add(piece)
            bar.update(len(piece.text))
    result = {
        "output": str(arguments.output),
        "seconds": round(speech.seconds, 3),
        "sentences": speech.sentences,
        "skipped": speech.skipped,
        "timings": {name: round(value, 1) for name, value in speech.timings.items()},
    }
    return 0, result, f"{arguments.output}: {speech.seconds:.1f} s of speech, {speech.sentences} sentence(s)"


def _checked(arguments: argparse.Namespace, text: str, folder: Path) -> tuple[Any, Any]:
    """What to say and in which voice; whatever is wrong with either is said before TensorFlow is loaded."""
    from myxtts.features.lexicon import Lexicon
    from myxtts.inference.reference import load_reference, read_voice
    from myxtts.inference.request import make_request
    from myxtts.inference.script import Script
    from myxtts.inference.vocoder import default_vocoder
    from myxtts.models.description import ModelDescription

    description = ModelDescription.load(folder)
    lexicon = Lexicon.load(arguments.lexicon) if arguments.lexicon else None
    options = {name: value for name in _OPTIONS if (value := getattr(arguments, name)) is not None}
    request = make_request(Script(description, lexicon), text, **{"vocoder": default_vocoder(folder)} | options)
    return request, read_voice(arguments.voice, load_reference(folder, description.reference_frames), description)


def _keep_inputs(arguments: argparse.Namespace) -> None:
    for given in (*(arguments.voice or ()), arguments.file, arguments.lexicon):
        if given is not None and os.path.exists(given) and os.path.exists(arguments.output) \
                and given.samefile(arguments.output):  # fmt: skip
            raise UsageError(f"-o {arguments.output} would replace what it is made from: choose another name")


def _text(arguments: argparse.Namespace) -> str:
    if (arguments.text is None) == (arguments.file is None):
        raise UsageError("give one TEXT, or --file FILE, or - for standard input")
    if arguments.file is not None:
        return as_text(arguments.file.read_bytes(), "the text")
    return as_text(sys.stdin.buffer.read(), "the text") if arguments.text == "-" else str(arguments.text)
