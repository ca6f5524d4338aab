"""What is packed and how: the settings of a cache, from a config or from its cache.json, and how two of them differ."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import xxhash

from myxtts.cache.format import FORMAT, MODES, TRACKS, mode_of, tracks_in
from myxtts.config.config import DataConfig
from myxtts.errors import CacheError
from myxtts.features.audio import AudioSettings
from myxtts.features.languages import family_of
from myxtts.features.text import TextFrontend


@dataclass(frozen=True)
class PackSettings:
    """What is packed and how: a group of settings for each track and one for the tokens, one fingerprint each."""

    audio: AudioSettings
    text: TextFrontend
    tracks: tuple[str, ...] = MODES["precompute"]

    @classmethod
    def from_config(cls, data: DataConfig, mode: str | None = None) -> PackSettings:
        audio = AudioSettings(**{name: getattr(data, name) for name in AudioSettings.__dataclass_fields__})
        text = TextFrontend.from_config(data)
        mode = mode or ("audio" if data.preprocessing_mode == "on_the_fly" else "precompute")
        return cls(audio, text, tracks_of(mode))

    @classmethod
    def from_manifest(cls, body: dict[str, Any]) -> PackSettings:
        """The settings a cache was packed with, from its cache.json."""
        audio, tokens = body["settings"]["audio"], body["settings"]["tokens"]
        sound = {name: audio[name] for name in AudioSettings.__dataclass_fields__}
        return cls(AudioSettings(**sound), TextFrontend.from_settings(tokens), tracks_in(body["lengths"]))

    @property
    def mode(self) -> str:
        return mode_of(self.tracks)

    def groups(self) -> dict[str, dict[str, Any]]:
        """All that decides the bytes: of each track by its name, and of `tokens`."""
        made = {name: TRACKS[name].settings for name in self.tracks}
        tracks = {name: self.audio.fingerprint() if make is None else make() for name, make in made.items()}
        return tracks | {"tokens": self.text.settings()}

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, "mode": self.mode, "tracks": list(self.tracks), "settings": self.groups()}

    def unlike(self, body: dict[str, Any]) -> dict[str, list[str]]:
        """Group -> what a cache has otherwise than it is wanted here: {"audio": ["trim_db 45.0, not 60.0"]}."""
        held, wanted = (*tracks_in(body["lengths"]), "tokens"), self.groups()
        packed = dict(body["settings"])
        for groups in (packed, wanted):
            groups["tokens"] = _in_languages(groups["tokens"], body["languages"])
        differ = {
            group: _unlike(packed[group], values) if group in held else ["missing"] for group, values in wanted.items()
        }
        return {group: names for group, names in differ.items() if names}


def _in_languages(tokens: dict[str, Any], languages: list[str]) -> dict[str, Any]:
    """Without readers of languages that a cache has not: that an extra has been installed for them is no matter."""
    if "readers" not in tokens:
        return tokens
    spoken = {family_of(name) for name in languages}
    readers = {language: reader for language, reader in tokens["readers"].items() if language in spoken}
    return tokens | {"readers": readers}


def _unlike(packed: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    return [
        f"{name} {shown(packed.get(name))}, not {shown(value)}"
        for name, value in wanted.items()
        if packed.get(name) != value
    ]


def shown(value: Any) -> str:
    """A lexicon is long: how many words, and a sign by which two of them can be told apart."""
    if not isinstance(value, list):
        return str(value)
    return f"of {len(value)} words, {xxhash.xxh3_64_hexdigest(json.dumps(value).encode())[:6]}"


def tracks_of(mode: str) -> tuple[str, ...]:
    if mode not in MODES:
        raise CacheError(f"mode is {mode!r}, expected one of {', '.join(MODES)}")
    return MODES[mode]
