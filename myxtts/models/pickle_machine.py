"""Reads the pickle of a PyTorch file without running it: a table of opcodes that can build nothing but plain values.

Unpickling calls whatever a file names. Here nothing is ever imported or called: a name is a `Name`, a call of one of
the few names that PyTorch writes becomes a `Call` to be looked at, and every other name or opcode is an error.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import Any, NamedTuple

from myxtts.errors import CheckpointDamaged, CheckpointError

_MARK = object()


class Name(NamedTuple):
    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class Call(NamedTuple):
    """What unpickling would have called, and with what."""

    function: Name
    arguments: tuple[Any, ...]


class Stored(NamedTuple):
    """A persistent id: what PyTorch writes where the bytes of a tensor belong."""

    id: Any


DICT = Name("collections", "OrderedDict")
TENSOR = Name("torch._utils", "_rebuild_tensor_v2")
PARAMETER = Name("torch._utils", "_rebuild_parameter")
KINDS = {
    Name("torch", f"{kind}Storage"): kind
    for kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
}
_CALLABLE = (DICT, TENSOR, PARAMETER)


def read_pickle(file: Any) -> Any:
    """The value of the pickle that begins here; the file is left behind its end."""
    machine = _Machine()
    try:
        while (name := _read_opcode(file)) != "STOP":
            machine.step(name, _read_argument(name, file))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        # The machine's stack is whatever the file says: a damaged one pops too much or adds to a number.
        raise CheckpointDamaged(f"its pickle is damaged or cut off ({error}): download the file again") from None
    return machine.stack.pop() if len(machine.stack) == 1 else _not_one(len(machine.stack))


def _read_opcode(file: Any) -> str:
    code = file.read(1)
    name = _NAMES.get(code.decode("latin-1"))
    if not code or name is None:
        raise ValueError("it ends in the middle" if not code else f"there is no opcode {code!r}")
    if name not in _KNOWN:
        raise CheckpointError(
            f"its pickle uses {name}, which no checkpoint of tensors needs: nothing of it was run; "
            "save the state dict alone and give that"
        )
    return name


def _read_argument(name: str, file: Any) -> Any:
    if name == "GLOBAL":  # not by pickletools, which undoes escapes that unpickling leaves alone
        return Name(*(file.readline().removesuffix(b"\n").decode("ascii") for _ in range(2)))
    argument = _OPCODES[name].arg
    return None if argument is None else argument.reader(file)


def _not_one(count: int) -> Any:
    raise CheckpointDamaged(f"its pickle ends with {count} values, expected one: download the file again")


class _Machine:
    """The stack and memo of a pickle; one method for each thing that a checkpoint needs."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        if name in _CONSTANTS:
            self.stack.append(argument if _CONSTANTS[name] is _ARGUMENT else _CONSTANTS[name])
        elif name in _TUPLES:
            self._tuple(_TUPLES[name])
        elif name != "PROTO":
            _METHODS[name](self, argument)

    def put(self, place: int) -> None:
        self.memo[place] = self.stack[-1]

    def get(self, place: int) -> None:
        self.stack.append(self.memo[place])

    def empty_dict(self, _: Any) -> None:
        self.stack.append({})

    def empty_list(self, _: Any) -> None:
        self.stack.append([])

    def mark(self, _: Any) -> None:
        self.stack.append(_MARK)

    def _since_mark(self) -> list[Any]:
        at = len(self.stack) - 1 - self.stack[::-1].index(_MARK)
        items, self.stack[at:] = self.stack[at + 1 :], []
        return items

    def _tuple(self, length: int) -> None:
        parts = [self.stack.pop() for _ in range(length)][::-1]
        self.stack.append(tuple(parts))

    def tuple_since_mark(self, _: Any) -> None:
        self.stack.append(tuple(self._since_mark()))

    def append(self, _: Any) -> None:
        last = self.stack.pop()
        self.stack[-1].append(last)

    def extend(self, _: Any) -> None:
        items = self._since_mark()
        self.stack[-1].extend(items)

    def set_item(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-1][key] = value

    def set_items(self, _: Any) -> None:
        items = self._since_mark()
        self.stack[-1].update(zip(items[::2], items[1::2], strict=True))

    def name(self, name: Name) -> None:
        if name not in _CALLABLE and name not in KINDS:
            raise CheckpointError(
                f"its pickle names {name}, which is not a part of a tensor: nothing of it was run; "
                "do not trust this file, or save the state dict alone and give that"
            )
        self.stack.append(name)

    def call(self, _: Any) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if function not in _CALLABLE or not isinstance(arguments, tuple):
            raise CheckpointError(f"its pickle calls {function}, which is not a part of a tensor: nothing was run")
        self.stack.append({} if function == DICT else Call(function, arguments))

    def forget_state(self, _: Any) -> None:
        """BUILD gives a dict of tensors its `_metadata`, which no weight needs."""
        self.stack.pop()
        if type(self.stack[-1]) is not dict:
            raise CheckpointError("its pickle sets the state of an object, expected tensors only: nothing was run")

    def persistent(self, _: Any) -> None:
        self.stack.append(Stored(self.stack.pop()))


_ARGUMENT = object()
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()} | dict.fromkeys(
    ("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "BINSTRING", "SHORT_BINSTRING"), _ARGUMENT
)
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_METHODS: dict[str, Callable[[_Machine, Any], None]] = {
    "BINPUT": _Machine.put, "LONG_BINPUT": _Machine.put, "BINGET": _Machine.get, "LONG_BINGET": _Machine.get,
    "EMPTY_DICT": _Machine.empty_dict, "EMPTY_LIST": _Machine.empty_list, "MARK": _Machine.mark,
    "TUPLE": _Machine.tuple_since_mark, "APPEND": _Machine.append, "APPENDS": _Machine.extend,
    "SETITEM": _Machine.set_item, "SETITEMS": _Machine.set_items, "GLOBAL": _Machine.name, "REDUCE": _Machine.call,
    "BUILD": _Machine.forget_state, "BINPERSID": _Machine.persistent,
}  # fmt: skip
_KNOWN = {*_CONSTANTS, *_TUPLES, *_METHODS, "PROTO", "STOP"}
_OPCODES = {opcode.name: opcode for opcode in pickletools.opcodes}
_NAMES = {opcode.code: opcode.name for opcode in pickletools.opcodes}
