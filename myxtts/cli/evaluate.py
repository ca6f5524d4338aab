"""`myxtts evaluate` lets a voice speak sentences it was not trained on, and asks every judge that is installed."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from myxtts.cli.shared import Result, UsageError, add_verb, check_output, find_cache, positive, progress_bar

_SENTENCES, _EACH_VOICE = 40, 2
_SHOWN = 6  # sentences on the page
_DRAWN = {"before": "before", "spoken": "synthetic", "real": "real"}  # from top to bottom


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "evaluate", run, "judges of a voice, beside the real recordings and their copy",
        "  myxtts evaluate --model runs/anna --data voice.cache\n"
        "  myxtts evaluate --model runs/anna --data voice.cache --sentences 100 --html heard.html\n"
        "  myxtts evaluate --model runs/anna --data voice.cache --judges distillmos,intelligibility --json\n"
        "  myxtts evaluate --model runs/anna --before base --data voice.cache --html heard.html\n"
        "  myxtts evaluate --model runs/anna --data voice.cache --others other-people/\n"
        "  myxtts evaluate --model base --data ten-minutes/ --val-data held-back/\n"
        "  myxtts evaluate --model runs/many --voices unseen/ --plot matrix.png")  # fmt: skip
    parser.add_argument("--model", metavar="RUN", type=Path, required=True,
                        help="run directory, checkpoint or exported model")  # fmt: skip
    parser.add_argument("--before", metavar="RUN", type=Path,
                        help="also by another model, such as the one it was started from")  # fmt: skip
    parser.add_argument(
        "--data",
        metavar="CACHE",
        type=Path,
        help="the cache that was trained on; with --voices: whose held-out texts are spoken",
    )
    parser.add_argument("--val-data", metavar="CACHE", type=Path,
                        help="as given to train: what is spoken; clips of --data show who speaks")  # fmt: skip
    parser.add_argument("--voices", metavar="DIR", type=Path,
                        help="unseen voices: a folder for each, VOICE_1.wav ..., or a manifest")  # fmt: skip
    parser.add_argument("--others", metavar="DIR", type=Path,
                        help="with --data: people to be told apart from, in the shapes of --voices")  # fmt: skip
    parser.add_argument("--sentences", metavar="N", type=positive,
                        help=f"how many (default {_SENTENCES}; {_EACH_VOICE} for each of --voices)")  # fmt: skip
    parser.add_argument("--judges", metavar="NAMES",
                        help="distillmos,dnsmos,intelligibility,similarity,distortion,sharpness,speed "
                             "(default: all that are installed)")  # fmt: skip
    parser.add_argument("--whisper", metavar="DIR", type=Path,
                        help="weights of faster-whisper, to listen with them in every language")  # fmt: skip
    parser.add_argument(
        "--language", metavar="CODE", help="with --voices (default: the one that most of the recordings are in)"
    )
    parser.add_argument("--vocoder", metavar="NAME|DIR", help="as in say")
    parser.add_argument("--plot", metavar="FILE.png", type=Path,
                        help="draw one sentence, spoken above real; with --voices who sounds like whom")  # fmt: skip
    parser.add_argument("--html", metavar="FILE.html", type=Path, help="a page to listen to and look at, in one file")


def run(arguments: argparse.Namespace) -> Result:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    _check(arguments)
    from myxtts.evaluation.evaluate import evaluate
    from myxtts.evaluation.judges import find_judges
    from myxtts.evaluation.subjects import beside_others

    held_out: Any = _held_out(arguments) if arguments.data else None
    subject, vocoder = _subject(arguments, arguments.model, arguments.language, held_out)
    if arguments.others:
        subject = beside_others(subject, arguments.others)
    before = _before(arguments, next(iter(subject.languages), None), held_out)
    names = arguments.judges.split(",") if arguments.judges else None
    judges, missing = find_judges(names, subject.gallery, subject.languages, arguments.whisper)
    with progress_bar(len(subject.sentences), "listening", "sentence") as bar:
        evaluation = evaluate(
            lambda sentence: subject.speak(sentence, vocoder),
            subject.sentences,
            judges,
            vocoder,
            progress=lambda _: bar.update(),
            keep_clips=_SHOWN if arguments.html else 1,
            same_text=subject.same_text,
            before=before,
        )
    evaluation.missing = missing
    return _tell(arguments, evaluation, subject, judges)


def _subject(
    arguments: argparse.Namespace, model: Path, language: str | None, held_out: Any, as_itself: bool = True
) -> tuple[Any, Any]:
    """The sentences that a model speaks, and the vocoder that makes their sound."""
    from myxtts.evaluation.subjects import cache_subject, voices_subject
    from myxtts.inference.speakers import find_speaker, load_speaker
    from myxtts.inference.vocoder import default_vocoder, find_vocoder

    folder = find_speaker(model)
    vocoder = find_vocoder(arguments.vocoder or default_vocoder(folder))
    synthesizer = load_speaker(folder, vocoder)
    if arguments.voices:
        each, texts = arguments.sentences or _EACH_VOICE, held_out and held_out[:2]
        return voices_subject(synthesizer, arguments.voices, each, language, texts), vocoder
    cache, rows, others, clips = held_out
    most = arguments.sentences or _SENTENCES
    return cache_subject(synthesizer, cache, rows, others, most, clips, as_itself), vocoder


def _before(arguments: argparse.Namespace, language: str | None, held_out: Any) -> Any:
    """Speaks the same sentences by the model that is compared with; None where there is none."""
    if arguments.before is None:
        return None
    from myxtts.errors import SpeechError

    try:
        subject, vocoder = _subject(arguments, arguments.before, language, held_out, as_itself=False)
    except SpeechError as error:
        raise UsageError(f"--before {arguments.before}: {error}; leave --before out, or name another model") from None
    return lambda sentence: subject.speak(sentence, vocoder)


def _check(arguments: argparse.Namespace) -> None:
    """Before an hour of listening."""
    for flag, path, ends in (("--plot", arguments.plot, ".png"), ("--html", arguments.html, ".html")):
        if path is not None:
            check_output(flag, path, (ends,))
    if arguments.data is None and arguments.voices is None:
        raise UsageError("give --data CACHE, --voices DIR or both")
    if arguments.val_data is not None and (arguments.data is None or arguments.voices is not None):
        raise UsageError("--val-data goes with --data, whose clips show its speakers, and without --voices")
    if arguments.others is not None and arguments.voices is not None:
        raise UsageError("--others goes with --data: the voices of --voices are told apart from each other")


def _held_out(arguments: argparse.Namespace) -> tuple[Any, Any, Any, Any]:
    """The cache, the rows that were held back from training, those whose clips show a voice, and their cache."""
    import numpy as np

    from myxtts.cache.open import open_cache
    from myxtts.training.split import split

    cache = open_cache(find_cache(arguments.data))
    if arguments.val_data is not None:
        held_back = open_cache(find_cache(arguments.val_data))
        if missing := [name for name in held_back.speakers if name not in cache.speakers]:
            raise UsageError(f"{arguments.data} has no clip of '{missing[0]}', who speaks in {arguments.val_data}: "
                             "give the data that was trained on, with the same names of speakers")  # fmt: skip
        return held_back, np.arange(len(held_back)), np.arange(len(cache)), cache
    parts = split(cache)
    if not len(parts.validation[0]):
        raise UsageError(f"{arguments.data} is too small to have held sentences back: evaluate on a larger one")
    return cache, parts.validation[0], parts.train[0], cache


def _tell(arguments: argparse.Namespace, evaluation: Any, subject: Any, judges: Any) -> Result:
    from myxtts.evaluation.subjects import matrix_heard
    from myxtts.evaluation.voices import across_languages

    matrix = None if subject.same_text else matrix_heard(judges)
    answer, across = evaluation.to_dict(), None
    if arguments.before:
        answer["before"] = str(arguments.before)
    if matrix is not None:
        names, values = matrix
        answer["matrix"] = {"voices": list(names), "similarity": values.round(4).tolist()}
        across = across_languages(names, values, subject.languages_of, subject.languages[0])
    if across is not None:
        answer["across_languages"] = across._asdict()
    if arguments.plot:
        _draw(arguments.plot, evaluation.clips[0], matrix)
    if arguments.html:
        _write_page(arguments, answer, evaluation.clips, matrix, across)
    return 0, answer, str(evaluation) if across is None else f"{evaluation}\n{across}"


def _draw(path: Path, clip: Any, matrix: Any) -> None:
    from myxtts.evaluation.picture import draw_spectrograms, similarity_matrix
    from myxtts.files import write_whole

    if matrix is not None:
        write_whole(path, similarity_matrix(*matrix))
    else:
        drawn = {title: kind for title, kind in _DRAWN.items() if kind in clip.mels}
        draw_spectrograms(path, {f"{title}: {clip.text}": clip.mels[kind] for title, kind in drawn.items()})


def _write_page(arguments: argparse.Namespace, answer: dict[str, Any], clips: Any, matrix: Any, across: Any) -> None:
    from myxtts.evaluation.picture import similarity_matrix, small_spectrogram
    from myxtts.report.evaluation import Heard, write_evaluation

    heard = [
        Heard(clip.text, clip.speaker, clip.sounds,
              {kind: small_spectrogram(mel) for kind, mel in clip.mels.items()}, clip.heard)
        for clip in clips
    ]  # fmt: skip
    drawn = None if matrix is None else similarity_matrix(*matrix)
    told = "" if across is None else f"{across}."
    write_evaluation(arguments.html, str(arguments.model), answer, heard, drawn, told)
