"""How a group of settings checks itself (a type and a range per key, an error that names the cure) and records which
keys were given, and where."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import math
import reprlib
import types
import typing
from collections.abc import Collection, Iterable, Mapping
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


PYTHON = "Python"  # where a setting was given: by a constructor or an assignment
PRESET = "preset "  # followed by its name


@dataclasses.dataclass
class Settings:
    """Base of every group: a dataclass whose assignments are checked, and which knows what was given and where.

    `given` is the one answer to "was this given?". A value equal to the default may well be, and one that a cache or
    the machine has filled in is not.
    """

    section: typing.ClassVar[str] = ""

    # Declared first, so that `dataclasses.replace` hands it on before all that it copies: see `__new__`.
    _given: dataclasses.InitVar[Mapping[str, str] | None] = dataclasses.field(default=None, kw_only=True)

    def __new__(cls, *values: Any, **named: Any) -> typing.Self:
        """Only here can be seen which arguments were named. What comes after `_given` is a copy of another's."""
        made = super().__new__(cls)
        own = [*_fields(cls)][: len(values)] + [*itertools.takewhile(lambda name: name != "_given", named)]
        made.__dict__["_named"] = dict.fromkeys(own, PYTHON)
        return made

    def __post_init__(self, _given: Mapping[str, str] | None) -> None:
        self.__dict__["_given"] = {**(_given or {}), **self.__dict__.pop("_named")}

    def __setattr__(self, key: str, value: Any) -> None:
        self._put(key, value)
        if "_given" in self.__dict__:  # else it is being made
            self._record({key: PYTHON})

    @property
    def given(self) -> Mapping[str, str]:
        """key -> where it was given: 'preset cpu', 'my.yaml', '--set', '--batch-size', 'Python'."""
        return types.MappingProxyType(self.__dict__["_given"])

    @property
    def by_hand(self) -> set[str]:
        """The keys that a search leaves alone: all that were given but those of a preset, which is where to begin."""
        return {key for key, source in self.given.items() if not source.startswith(PRESET)}

    def give(self, values: Mapping[str, Any], source: str) -> None:
        """Assign settings that somebody gave, and record where."""
        for key, value in values.items():
            self._put(key, value)
        self._record(dict.fromkeys(values, source))

    def filled(self, values: Mapping[str, Any], keep: Collection[str] | None = None) -> typing.Self:
        """A copy with these values, which nobody gave, for all keys but `keep`: by default those that were given."""
        made, keep = dataclasses.replace(self), self.given if keep is None else keep
        for key in values.keys() - set(keep):
            made._put(key, values[key])
            made.__dict__["_given"].pop(key, None)
        return made

    def _put(self, key: str, value: Any) -> None:
        declared = _fields(type(self))
        if key not in declared:
            raise ConfigError(f"{self.section}.{key} is not a setting{nearest(key, declared)}")
        object.__setattr__(self, key, _checked(f"{self.section}.{key}", declared[key], value))

    def _record(self, sources: Mapping[str, str]) -> None:
        self.__dict__["_given"] = {**self.__dict__["_given"], **sources}  # a new one: a copy may share the old

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], sources: Mapping[str, str] | None = None) -> typing.Self:
        """`sources` says where each value was given; without it that is Python."""
        if not isinstance(values, Mapping):
            raise ConfigError(f"'{cls.section}' is {_show(values)}, expected keys and values under it")
        for key in values:
            if key not in _fields(cls):
                raise ConfigError(f"{cls.section}.{key} is not a setting{nearest(str(key), _fields(cls))}")
        return cls(**values) if sources is None else cls(_given=sources, **values)

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


_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", list: "a list"}
_CACHE: dict[type, dict[str, _Key]] = {}
_PATHS = ("_path", "_dir", "lexicon", "token_table")  # files may have any name
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 2, 200, 200
_MOST = 2**53  # above, whole numbers are no longer exact as numbers of JSON


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
    if type(value) is int and float in key.kinds and int not in key.kinds and abs(value) <= _MOST:
        value = float(value)
    if type(value) not in key.kinds:
        raise ConfigError(f"{name} is {_show(value)}, expected {key.expects()}")
    if isinstance(value, str) and not name.endswith(_PATHS) and not _is_text(value):
        raise ConfigError(f"{name} is {_show(value)}, which is not UTF-8: type it again, or give another one")
    if isinstance(value, str) and "\0" in value:
        raise ConfigError(f"{name} is {_show(value)}, which contains a NUL character: take it out")
    outside = isinstance(value, int | float) and not isinstance(value, bool) and not _within(value, key.low, key.high)
    if outside or (key.choices and isinstance(value, str) and value not in key.choices):
        hint = nearest(value, key.choices) if key.choices and isinstance(value, str) else ""
        hint = hint if "did you mean" in hint else ""  # what is expected already lists the choices
        size = "" if isinstance(value, str) or abs(value) <= _MOST else f" and no more than {_MOST}"
        raise ConfigError(f"{name} is {_show(value)}, expected {key.expects()}{size}{hint}")
    return value


def _is_text(value: str) -> bool:
    """Not so what a terminal or a file name of another encoding gave: it could not be stored in a cache."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _within(value: float, low: float | None, high: float | None) -> bool:
    """False too for NaN, infinities (of which JSON has none) and numbers that no step counter holds."""
    within = (low is None or value >= low) and (high is None or value <= high)
    return within and (abs(value) <= _MOST if isinstance(value, int) else math.isfinite(value))


def _show(value: Any) -> str:
    """Cut short: a value of YAML aliases to aliases is small in memory, and endless when it is written out."""
    return f"{_SHORT.repr(value)} ({type(value).__name__})"


def choices_of(cls: type[Settings], key: str) -> tuple[str, ...]:
    """The values that a setting may have: the one list of them."""
    return _fields(cls)[key].choices


def describe(cls: type[Settings]) -> list[tuple[str, Any, str, str]]:
    """(key, default, what it expects, documentation) of each setting: what the manual's reference is made of."""
    defaults = {field.name: field.default for field in dataclasses.fields(cls)}
    return [(name, defaults[name], key.expects(), key.doc) for name, key in _fields(cls).items()]
