"""How a group of settings checks itself: a type and a range per key, an error that names the cure."""

from __future__ import annotations

import dataclasses
import difflib
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from myxtts.errors import ConfigError


def setting(
    default: Any, doc: str, low: float | None = None, high: float | None = None, choices: tuple[str, ...] = ()
) -> Any:
    """Declare one key: its default, one sentence of documentation and what values it may take."""
    return dataclasses.field(default=default, metadata={"doc": doc, "low": low, "high": high, "choices": choices})


def nearest(word: str, known: Iterable[str]) -> str:
    """' (did you mean x?)' if some known word is close, else the list of them all."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean '{close[0]}'?)" if close else f" (known: {', '.join(known)})"


class Settings:
    """Base of every group: a dataclass whose assignments are checked, whenever they happen."""

    section: typing.ClassVar[str] = ""

    def __setattr__(self, key: str, value: Any) -> None:
        declared = _fields(type(self))
        if key not in declared:
            raise ConfigError(f"{self.section}.{key} is not a setting{nearest(key, declared)}")
        object.__setattr__(self, key, _checked(f"{self.section}.{key}", declared[key], value))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> typing.Self:
        if not isinstance(values, Mapping):
            raise ConfigError(f"'{cls.section}' is {_show(values)}, expected keys and values under it")
        for key in values:
            if key not in _fields(cls):
                raise ConfigError(f"{cls.section}.{key} is not a setting{nearest(str(key), _fields(cls))}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _fields(type(self))}


@dataclasses.dataclass(frozen=True)
class _Key:
    kinds: tuple[type, ...]
    doc: str
    low: float | None
    high: float | None
    choices: tuple[str, ...]

    def expects(self) -> str:
        names = ["nothing (null)" if kind is type(None) else _WORDS[kind] for kind in self.kinds]
        text = " or ".join(names)
        if self.choices:
            text += f", one of {', '.join(self.choices)}"
        if self.low is not None and self.high is not None:
            text += f" from {self.low} to {self.high}"
        elif self.low is not None:
            text += f", at least {self.low}"
        elif self.high is not None:
            text += f", at most {self.high}"
        return text


_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_CACHE: dict[type, dict[str, _Key]] = {}


def _fields(cls: type) -> dict[str, _Key]:
    if cls not in _CACHE:
        hints = typing.get_type_hints(cls)
        _CACHE[cls] = {
            field.name: _Key(_kinds(hints[field.name]), **field.metadata) for field in dataclasses.fields(cls)
        }
    return _CACHE[cls]


def _kinds(hint: Any) -> tuple[type, ...]:
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)


def _checked(name: str, key: _Key, value: Any) -> Any:
    if type(value) is int and float in key.kinds and int not in key.kinds:
        value = float(value)
    if type(value) not in key.kinds:
        raise ConfigError(f"{name} is {_show(value)}, expected {key.expects()}")
    outside = isinstance(value, int | float) and not isinstance(value, bool) and not _within(value, key.low, key.high)
    if outside or (key.choices and isinstance(value, str) and value not in key.choices):
        hint = nearest(value, key.choices) if key.choices and isinstance(value, str) else ""
        hint = hint if "did you mean" in hint else ""  # what is expected already lists the choices
        raise ConfigError(f"{name} is {_show(value)}, expected {key.expects()}{hint}")
    return value


def _within(value: float, low: float | None, high: float | None) -> bool:
    """False for NaN too."""
    return (low is None or value >= low) and (high is None or value <= high) and value == value


def _show(value: Any) -> str:
    return f"{value!r} ({type(value).__name__})"


def describe(cls: type[Settings]) -> list[tuple[str, Any, str, str]]:
    """(key, default, what it expects, documentation) of each setting: what the manual's reference is made of."""
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    return [(name, defaults[name], key.expects(), key.doc) for name, key in _fields(cls).items()]
