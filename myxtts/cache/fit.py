"""Whether a cache is what the settings ask for. What was given must agree with it; what was not is taken from it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from myxtts.cache.manifest import load_manifest
from myxtts.cache.pack import corpora_in, load_table
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings, shown
from myxtts.config.config import DataConfig, XTTSConfig, in_yaml
from myxtts.errors import CacheMismatch, MissingExtra
from myxtts.features.audio import AudioSettings
from myxtts.features.lexicon import Lexicon
from myxtts.features.text import OPTIONS
from myxtts.features.token_table import TokenTable
from myxtts.features.voices import english_reader

READING = ("layout", "speaker", "language", "speaker_pattern")  # how a corpus is read
_AUDIO = tuple(AudioSettings.__dataclass_fields__)
_TEXT = {setting: name for name, setting in OPTIONS.items()}
_FLAGS = {"mel": "auto_rebuild_mel_cache", "tokens": "auto_rebuild_token_cache"}


@dataclass(frozen=True)
class Misfit:
    """One reason why a cache is not what is wanted; `part`, mel (with audio) or tokens, would have to be made anew."""

    part: str
    what: str
    setting: tuple[str, Any] | None = None  # the key and value that were given

    @property
    def flag(self) -> str:
        """The setting that allows to make the part anew."""
        return _FLAGS[self.part]


def settings_in(body: dict[str, Any]) -> dict[str, Any]:
    """The settings a cache was packed with, under the names of the config. Of several corpora those of the first."""
    audio, tokens = body["settings"]["audio"], body["settings"]["tokens"]
    packed = {name: audio[name] for name in _AUDIO if name in audio}
    packed |= {name: tokens[key] for name, key in _TEXT.items() if key in tokens}
    packed |= {name: one.get(name) for one in corpora_in(body)[:1] for name in READING}
    return packed | ({"preprocessing_mode": "on_the_fly"} if body["mode"] == "audio" else {})


def settle(data: DataConfig, caches: Sequence[Cache]) -> DataConfig:
    """The settings to read caches with: those given, which must agree with every cache, else the caches' own."""
    for cache in caches:
        _refuse_unlike(caches[0], cache)
        refuse(cache.folder, misfits(data, cache.body))
    packed = [settings_in(cache.body) for cache in reversed(caches)]  # where a cache has no mel, the mode is its
    return data.filled({name: value for each in packed for name, value in each.items()})


def made_like(cache: Path, config: XTTSConfig) -> XTTSConfig:
    """The config with which another corpus is packed as this cache was: for validation."""
    packed = {name: value for name, value in settings_in(load_manifest(cache)).items() if name not in READING}
    return replace(config, data=config.data.filled(packed))


def _refuse_unlike(first: Cache, other: Cache) -> None:
    """Caches that are mixed must be made alike."""
    mine, theirs = settings_in(first.body), settings_in(other.body)
    unlike = [f"{name} {shown(mine[name])} and {shown(theirs[name])}" for name in (*_AUDIO, *_TEXT)
              if name in mine and name in theirs and mine[name] != theirs[name]]  # fmt: skip
    if unlike:
        raise CacheMismatch(
            f"{first.folder} and {other.folder} were packed with other settings ({'; '.join(unlike)}): pack one of "
            "them as the other is"
        )


def refuse(cache: Path, misfits: Sequence[Misfit], corpus: Path | str = "CORPUS") -> None:
    """An error that names what was given and where, what the cache has, and the cure; nothing if nothing was found."""
    if not misfits:
        return
    sets = [f"--set data.{key}={in_yaml(value)}" for key, value in (each.setting for each in misfits if each.setting)]
    command = shlex.join(["myxtts", "pack", "--rebuild", str(corpus), "-o", str(cache)])
    leave = "leave out what was given to use the cache as it is, or " if sets else ""
    raise CacheMismatch(
        f"{cache} was packed with other settings: {'; '.join(each.what for each in misfits)}: {leave}run "
        f"'{' '.join([command, *map(_quoted, sets)])}'"
    )


def _quoted(words: str) -> str:
    flag, _, value = words.partition(" ")
    return f"{flag} {shlex.quote(value)}"


def misfits(data: DataConfig, body: dict[str, Any], mode: str | None = None) -> list[Misfit]:
    """What was given and is not what the cache has. `mode` is a packing mode that was asked for besides."""
    packed, given = settings_in(body), data.given
    differing = [_misfit(data, name, packed[name]) for name in (*_AUDIO, *_TEXT)
             if name in given and name in packed and _as_packed(data, name) != packed[name]]  # fmt: skip
    if body["mode"] == "audio" and mode == "precompute":
        differing.append(Misfit("mel", "mel frames are wanted, the cache has audio only"))
    elif body["mode"] == "audio" and "preprocessing_mode" in given and data.preprocessing_mode == "precompute":
        differing.append(_misfit(data, "preprocessing_mode", "audio only (on_the_fly)"))
    return differing + _misread(data, body) + _misnumbered(data, body)


def _as_packed(data: DataConfig, name: str) -> Any:
    """A setting as a cache writes it down: of a lexicon the words, wherever they come from; who is meant by `auto`."""
    value = getattr(data, name)
    if name == "english_phonemes":
        return english_reader(value)
    return Lexicon.of(value).to_json() if name == "lexicon" else value


def _misfit(data: DataConfig, name: str, packed: Any) -> Misfit:
    value = getattr(data, name)
    part = "mel" if name in (*_AUDIO, "preprocessing_mode") else "tokens"
    what = f"data.{name} is {shown(value)} ({data.given[name]}), the cache has {shown(packed)}"
    return Misfit(part, what, (name, value))


def _misread(data: DataConfig, body: dict[str, Any]) -> list[Misfit]:
    """Settings that say how a corpus is read, and that none of the corpora in the cache was read with."""
    misread = []
    for name in READING:
        wanted, packed = getattr(data, name), list(dict.fromkeys(one.get(name) for one in corpora_in(body)))
        if name in data.given and wanted not in packed and (name, wanted) != ("layout", "auto"):
            misread.append(_misfit(data, name, " and ".join(map(str, packed))))
    return misread


def _misnumbered(data: DataConfig, body: dict[str, Any]) -> list[Misfit]:
    if "token_table" not in data.given or TokenTable(body["token_table"]).extends(load_table(data.token_table)):
        return []
    return [_misfit(data, "token_table", "another numbering")]


def outdated(body: dict[str, Any]) -> list[Misfit]:
    """Parts that this version of the code would make otherwise, with the very settings of the cache."""
    try:
        unlike = PackSettings.from_manifest(body).unlike(body)
    except MissingExtra:
        return []  # without eSpeak nobody can tell, and nothing could be packed
    return [Misfit("tokens" if group == "tokens" else "mel", f"this version makes other {group} ({', '.join(names)})")
            for group, names in unlike.items()]  # fmt: skip
