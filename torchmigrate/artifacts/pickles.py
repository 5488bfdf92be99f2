"""Pickles taken apart, and never run: a description of what they would build, without importing or calling anything.

The opcodes come from `pickletools`, which documents what each does to the stack.
"""

from __future__ import annotations

import pickletools
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from torchmigrate.artifacts.model import Unreadable

MOST_OPCODES = 5_000_000
"""The most instructions of a pickle: one with a hundred thousand tensors has three million."""


@dataclass(frozen=True, slots=True)
class Global:
    """A name that unpickling would import."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(eq=False, slots=True)
class Mapping:
    """A dictionary as pairs, since its keys may not be hashable as they are described here."""

    pairs: list[tuple[Any, Any]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Made:
    """The result of a call ``what(*args)``, with the state, items and pairs that would be added to it."""

    what: Any
    args: Any
    state: Any = None
    items: list[Any] = field(default_factory=list)
    pairs: list[tuple[Any, Any]] = field(default_factory=list)

    def is_of(self, *names: str) -> bool:
        """Whether the call is to one of these qualified names."""
        return isinstance(self.what, Global) and str(self.what) in names


@dataclass(eq=False, slots=True)
class Stored:
    """A reference to data outside the pickle; torch writes ``("storage", type, key, device, elements)``."""

    key: Any


@dataclass(frozen=True, slots=True)
class Read:
    """A pickle that was taken apart."""

    value: Any
    names: tuple[Global, ...]
    """All names that unpickling it would import, in order."""


_MARK = object()


def read(file: IO[bytes]) -> Read:
    """Take the next pickle of a stream apart. Raises `Unreadable`."""
    machine = _Machine()
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(file)):
            if count > MOST_OPCODES:
                raise Unreadable(f"its pickle has more than {MOST_OPCODES:,} instructions")
            machine.step(opcode.name, argument)
        return Read(machine.stack.pop(), tuple(machine.names))
    except (IndexError, KeyError, TypeError, AttributeError):
        raise Unreadable("its pickle is malformed") from None
    except (ValueError, OverflowError, MemoryError, struct.error, UnicodeError) as error:
        raise Unreadable(f"its pickle is malformed: {str(error)[:120]}") from None


class _Machine:
    """The stack machine of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.names: dict[Global, None] = {}
        self.memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        """Execute one opcode."""
        if do := _STEPS.get(name):
            do(self, argument)
        elif name in _LITERALS:
            self.stack.append(argument)
        elif name in _SIMPLE:
            self.stack.append(_SIMPLE[name]())
        elif name not in _SILENT:
            raise Unreadable(f"its pickle has the instruction {name}, which torch never writes")

    def pop_to_mark(self) -> list[Any]:
        """Pop the values above the last mark, and the mark."""
        at = len(self.stack) - 1
        while self.stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise IndexError
        values = self.stack[at + 1 :]
        del self.stack[at:]
        return values

    def named(self, module: Any, name: Any) -> None:
        """Push a name that would be imported."""
        found = Global(str(module), str(name))
        self.names[found] = None
        self.stack.append(found)

    def put(self, at: int | None) -> None:
        """Remember the top of the stack under a number, or under the next one."""
        self.memo[len(self.memo) if at is None else at] = self.stack[-1]

    def call(self) -> None:
        """Replace a callable and its arguments by what the call would give."""
        args = self.stack.pop()
        self.stack.append(Made(self.stack.pop(), args))

    def instance(self, argument: str) -> None:
        """Do what INST does: it names the class as ``module name``, and its arguments are above the mark."""
        args = tuple(self.pop_to_mark())
        self.named(*argument.split(" ", 1))
        self.stack.append(Made(self.stack.pop(), args))

    def object(self) -> None:
        """Do what OBJ does: the class and its arguments are above the mark."""
        what, *args = self.pop_to_mark()
        self.stack.append(Made(what, tuple(args)))

    def new_with_keywords(self) -> None:
        """Do what NEWOBJ_EX does; the keywords, its last argument, are dropped."""
        self.stack.pop()
        self.call()

    def build(self) -> None:
        """Give an object its state."""
        state = self.stack.pop()
        if isinstance(self.stack[-1], Made):
            self.stack[-1].state = state

    def extend(self, values: list[Any]) -> None:
        """Add to a list or a set, or to the result of a call."""
        target = self.stack[-1]
        (target.items if isinstance(target, Made) else target).extend(values)

    def set_items(self, values: list[Any]) -> None:
        """Add pairs to a dictionary; ``values`` are keys and values in turn."""
        self.stack[-1].pairs.extend(zip(values[::2], values[1::2], strict=True))

    def last(self, count: int) -> list[Any]:
        """Pop the last values."""
        if len(self.stack) < count:
            raise IndexError
        values = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return values


def _pairs(values: list[Any]) -> Mapping:
    return Mapping(list(zip(values[::2], values[1::2], strict=True)))


_STEPS: dict[str, Callable[[_Machine, Any], Any]] = {
    "MARK": lambda m, a: m.stack.append(_MARK),
    "POP": lambda m, a: m.stack.pop(),
    "POP_MARK": lambda m, a: m.pop_to_mark(),
    "DUP": lambda m, a: m.stack.append(m.stack[-1]),
    "TUPLE": lambda m, a: m.stack.append(tuple(m.pop_to_mark())),
    "TUPLE1": lambda m, a: m.stack.append(tuple(m.last(1))),
    "TUPLE2": lambda m, a: m.stack.append(tuple(m.last(2))),
    "TUPLE3": lambda m, a: m.stack.append(tuple(m.last(3))),
    **dict.fromkeys(("LIST", "FROZENSET"), lambda m, a: m.stack.append(m.pop_to_mark())),
    "DICT": lambda m, a: m.stack.append(_pairs(m.pop_to_mark())),
    "APPEND": lambda m, a: m.extend(m.last(1)),
    **dict.fromkeys(("APPENDS", "ADDITEMS"), lambda m, a: m.extend(m.pop_to_mark())),
    "SETITEM": lambda m, a: m.set_items(m.last(2)),
    "SETITEMS": lambda m, a: m.set_items(m.pop_to_mark()),
    "GLOBAL": lambda m, a: m.named(*a.split(" ", 1)),
    "STACK_GLOBAL": lambda m, a: m.named(*m.last(2)),
    "INST": lambda m, a: m.instance(a),
    "OBJ": lambda m, a: m.object(),
    "NEWOBJ_EX": lambda m, a: m.new_with_keywords(),
    **dict.fromkeys(("REDUCE", "NEWOBJ"), lambda m, a: m.call()),
    "BUILD": lambda m, a: m.build(),
    "PERSID": lambda m, a: m.stack.append(Stored(a)),
    "BINPERSID": lambda m, a: m.stack.append(Stored(m.stack.pop())),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), lambda m, a: m.put(a)),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), lambda m, a: m.stack.append(m.memo[a])),
}

_SIMPLE: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_SET": list,
    "EMPTY_DICT": Mapping,
}

_LITERAL_OPCODES = (
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE "
    "SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8"
)
_LITERALS = frozenset(_LITERAL_OPCODES.split())
_SILENT = frozenset({"PROTO", "FRAME", "STOP"})


def walk(value: Any) -> Iterator[Any]:
    """Yield every value in a value, each once, and at most `MOST_OPCODES` of them."""
    seen: set[int] = set()
    rest = [value]
    while rest and len(seen) < MOST_OPCODES:
        one = rest.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, (list, tuple)):
            rest.extend(reversed(one))
        elif isinstance(one, Mapping):
            rest.extend(part for pair in reversed(one.pairs) for part in pair)
        elif isinstance(one, Made):
            rest += [one.state, one.items, *(part for pair in one.pairs for part in pair), one.args, one.what]
        elif isinstance(one, Stored):
            rest.append(one.key)
