"""Begins a voice from another model: its weights, its symbols and languages, and those that the new data adds."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from myxtts.cache.reader import Cache
from myxtts.config.config import TrainingConfig, XTTSConfig
from myxtts.errors import ConfigError, install_command
from myxtts.features import espeak, voices
from myxtts.features.languages import relative
from myxtts.features.mel import HOP_SAMPLES, SAMPLE_RATE
from myxtts.models import weights
from myxtts.models.description import ModelDescription, find_checkpoint, weights_file
from myxtts.models.shipped import BASE, shipped

log = logging.getLogger(__name__)

SCRATCH = "scratch"  # what to give where a run shall not start from the base voice
BASE_HOURS = 2.0  # less speech than this does not teach a voice to read
# Of the learning rate from scratch a third: enough to move to a new voice in minutes, too little to forget the text.
FINE_TUNING = {"learning_rate": 5e-4, "warmup_steps": 50}
# Two fifths of a model that reads the same kind of symbols stay: words and languages that were forgotten come back, and
# the voice remains the new one. With none of it many are lost, with more of it the voice is less like the new one
# (docs/log.md, 2026-11-18).
KEPT = {"start_share": 0.4}


def starts_from_another(training: TrainingConfig) -> bool:
    return training.start_from not in (None, SCRATCH)


def for_fine_tuning(config: XTTSConfig, start: str, cache: Cache) -> XTTSConfig:
    """Where nothing was given, what suits a model that can already speak; its size is that model's."""
    known = ModelDescription.load(find_checkpoint(start))
    if not _same_kind(known, cache):
        reads = known.tokens.get("kind")
        log.warning("%s reads %s and these texts are %s, so that this voice learns to read anew: pack with "
                    "data.text_tokens=%s", start, reads, _kind(cache), reads)  # fmt: skip
    size, suits = known.size, FINE_TUNING | (KEPT if _same_kind(known, cache) else {})
    if "size" in config.model.given and config.model.size != size:
        raise ConfigError(
            f"model.size is {config.model.size} ({config.model.given['size']}), but {start} is '{size}': leave the "
            "size out, or train from scratch"
        )
    model, training = config.model.filled({"size": size}), config.training.filled(suits)
    if training.start_share:
        log.info("%g of %s stays in the new voice, so that it forgets little (training.start_share)",
                 training.start_share, start)  # fmt: skip
    return dataclasses.replace(config, model=model, training=training)


def settle_start(config: XTTSConfig, cache: Cache, own: str | None = None, begins: bool = True) -> XTTSConfig:
    """Where nothing was given, a voice of little speech starts from the base voice; and what suits that. A run that
    does not begin, but is resumed, keeps its `own` start."""
    start = config.training.start_from or own
    if start is None and begins and _wants_base(config, cache):
        log.info("%.1f h of speech are little: starting from the base voice (--from scratch to begin from nothing)",
                 _hours(cache))  # fmt: skip
        start = BASE
    if config.training.start_from is None and start is not None:
        config = dataclasses.replace(config, training=config.training.filled({"start_from": start}))
    return for_fine_tuning(config, str(start), cache) if starts_from_another(config.training) else config


def _same_kind(known: ModelDescription, cache: Cache) -> bool:
    return _kind(cache) == known.tokens.get("kind")


def _kind(cache: Cache) -> str:
    return str(cache.body["settings"]["tokens"]["kind"])


def _wants_base(config: XTTSConfig, cache: Cache) -> bool:
    """Little speech does. Where the base voice does not fit, that is said: such a voice hardly learns to read."""
    if _hours(cache) >= BASE_HOURS:
        log.info("%.1f h of speech: this voice begins from nothing (--from base starts from the base voice)",
                 _hours(cache))  # fmt: skip
        return False
    if misfit := _why_not_base(config, cache):
        log.warning("%.1f h of speech are little and this voice begins from nothing, because %s (or mean it, with "
                    "--from scratch)", _hours(cache), misfit)  # fmt: skip
    return not misfit


def _why_not_base(config: XTTSConfig, cache: Cache) -> str:
    """What keeps data from the base voice, and the cure; empty if nothing does."""
    base, kind = ModelDescription.load(shipped(BASE)), _kind(cache)
    if not _same_kind(base, cache):
        wanted, reads = base.tokens["kind"], espeak.is_installed() or voices.version_of_lists()
        needs = "" if reads else f"run {install_command('phonemes')}, then "
        return f"its texts are {kind} and the base voice reads {wanted}: {needs}pack with data.text_tokens={wanted}"
    if "size" in config.model.given and config.model.size != base.size:
        given = f"model.size is {config.model.size} ({config.model.given['size']})"
        return f"{given} and the base voice is {base.size}: leave the size out"
    return ""


def _hours(cache: Cache) -> float:
    return float(cache.columns["n_frames"].sum()) * HOP_SAMPLES / SAMPLE_RATE / 3600


def joined(data: ModelDescription, start: ModelDescription) -> ModelDescription:
    """What reads both: the data's symbols keep their numbers, the languages the model's; each adds the other's."""
    symbols = _both(data.token_table, start.token_table)
    return dataclasses.replace(
        data,
        attribution=start.attribution,
        token_table=symbols,
        learnt=[symbol for symbol in symbols if symbol in {*data.learnt, *start.learnt}],
        languages=_both(start.languages, data.languages),
        reference_frames=start.reference_frames,
        follows_pitch=start.follows_pitch,
    )


def take_over(model: Any, start: str) -> None:
    """Give a model that was described by `joined` the weights of the one it starts from.

    What only the data has begins as the mean of what was learnt, which is nearer to speech than noise is; a language
    of another region begins as the one that is known.
    """
    folder = find_checkpoint(start)
    old, tensors = ModelDescription.load(folder), weights.load(weights_file(folder))
    new = model.description
    regions = [relative(name, old.languages) or name for name in new.languages]
    tables = {"symbols": (old.token_table, new.token_table, old.learnt), "languages": (old.languages, regions, [])}
    model.new_rows = {}
    for name, (before, after, learnt) in tables.items():
        path = getattr(model.text_encoder, name).path
        tensors[path] = _moved(tensors[path], before, after, learnt)
        model.new_rows[path] = [row for row, each in enumerate(after) if each not in (learnt or before)]
    weights.set_weights(model, tensors)
    _say(start, old, new)


def new_rows_of(model: Any) -> Mapping[str, Sequence[int]]:
    """By the path of a variable: the rows of what the model that it started from had not learnt."""
    rows: Mapping[str, Sequence[int]] = getattr(model, "new_rows", {})  # of a vocoder, or one from nothing, none
    return rows


def _moved(table: np.ndarray, before: list[str], after: list[str], learnt: list[str]) -> np.ndarray:
    """Rows by what they stand for."""
    rows: Mapping[str, int] = {name: row for row, name in enumerate(before)}
    known = [rows[name] for name in learnt or before if name in rows]
    mean = table[known].mean(axis=0)
    return np.stack([table[rows[name]] if name in rows else mean for name in after])


def _both(first: list[str], second: list[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))


def _say(start: str, old: ModelDescription, new: ModelDescription) -> None:
    symbols = sum(symbol not in old.learnt for symbol in new.learnt) if old.learnt else 0
    news = [f"{symbols} new symbols"] * bool(symbols)
    for name in new.languages:
        if name not in old.languages:
            known = relative(name, old.languages)
            news.append(f"{name}, which begins as {known}" if known else f"new language {name}")
    log.info("starting from %s%s", start, f", with {', '.join(news)}" if news else "")
    _say_whom_to_name(new.attribution)


def _say_whom_to_name(attribution: list[str]) -> None:
    if attribution:
        log.info("this voice is made from the work of others; name it where you publish the voice: %s (kept as "
                 "attribution in model.json)", "; ".join(attribution))  # fmt: skip
