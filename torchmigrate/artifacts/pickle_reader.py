"""Pickles taken apart, and never run: a description of what they would build, without importing or calling anything.

The opcodes come from `pickletools`, which documents what each does to the stack.
"""

from __future__ import annotations

import pickletools
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from torchmigrate.artifacts.artifact import UnreadableArtifact

MOST_OPCODES = 5_000_000
"""The most instructions of a pickle: one with a hundred thousand tensors has three million."""


@dataclass(frozen=True, slots=True)
class ImportedName:
    """A name that unpickling would import."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(eq=False, slots=True)
class PickledDict:
    """A dictionary as pairs, since its keys may not be hashable as they are described here."""

    pairs: list[tuple[Any, Any]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class PickledCall:
    """The result of a call ``what(*args)``, with the state, items and pairs that would be added to it."""

    what: Any
    args: Any
    state: Any = None
    items: list[Any] = field(default_factory=list)
    pairs: list[tuple[Any, Any]] = field(default_factory=list)

    def is_call_to(self, *names: str) -> bool:
        """Return whether the call is to one of these qualified names."""
        return isinstance(self.what, ImportedName) and str(self.what) in names


@dataclass(eq=False, slots=True)
class StorageReference:
    """A reference to data outside the pickle; torch writes ``("storage", type, key, device, elements)``."""

    key: Any


@dataclass(frozen=True, slots=True)
class PickleContents:
    """A pickle that was taken apart."""

    value: Any
    names: tuple[ImportedName, ...]
    """All names that unpickling it would import, in order."""
    opcodes: frozenset[str] = frozenset()
    """The names of its instructions."""


_MARK = object()


def read_pickle(file: IO[bytes]) -> PickleContents:
    """Take the next pickle of a stream apart. Raises `UnreadableArtifact`."""
    machine = _PickleMachine()
    opcodes = set()
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(file)):
            if count > MOST_OPCODES:
                raise UnreadableArtifact(f"the pickle has more than {MOST_OPCODES:,} instructions")
            opcodes.add(opcode.name)
            if do := _OPCODE_STEPS.get(opcode.name):
                do(machine, argument)
            elif opcode.name in _LITERAL_NAMES:
                machine.stack.append(argument)
            elif opcode.name in _CONSTANT_OPCODES:
                machine.stack.append(_CONSTANT_OPCODES[opcode.name]())
            elif opcode.name not in _IGNORED_OPCODES:
                raise UnreadableArtifact(
                    f"the pickle has the instruction {opcode.name}, which torch never writes"
                )
        return PickleContents(machine.stack.pop(), tuple(machine.names), frozenset(opcodes))
    except (IndexError, KeyError, TypeError, AttributeError):
        raise UnreadableArtifact("the pickle is malformed") from None
    except (ValueError, OverflowError, MemoryError, struct.error, UnicodeError) as error:
        raise UnreadableArtifact(f"the pickle is malformed: {str(error)[:120]}") from None


class _PickleMachine:
    """The stack machine of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.names: dict[ImportedName, None] = {}
        self.memo: dict[int, Any] = {}

    def pop_to_mark(self) -> list[Any]:
        """Pop the values above the last mark, and the mark."""
        values = []
        while (value := self.stack.pop()) is not _MARK:
            values.append(value)
        return values[::-1]

    def push_name(self, module: Any, name: Any) -> None:
        """Push a name that would be imported."""
        found = ImportedName(str(module), str(name))
        self.names[found] = None
        self.stack.append(found)

    def remember_top(self, at: int | None) -> None:
        """Store the top of the stack in the memo under a number, by default the next one."""
        self.memo[len(self.memo) if at is None else at] = self.stack[-1]

    def push_inst(self, argument: str) -> None:
        """Do what INST does: it names the class as ``module name``, and its arguments are above the mark."""
        args = tuple(self.pop_to_mark())
        self.push_name(*argument.split(" ", 1))
        self.stack.append(PickledCall(self.stack.pop(), args))

    def push_obj(self) -> None:
        """Do what OBJ does: the class and its arguments are above the mark."""
        what, *args = self.pop_to_mark()
        self.stack.append(PickledCall(what, tuple(args)))

    def set_state(self) -> None:
        """Give an object its state."""
        state = self.stack.pop()
        if isinstance(self.stack[-1], PickledCall):
            self.stack[-1].state = state

    def add_items(self, values: list[Any]) -> None:
        """Add to a list or a set, or to the result of a call."""
        target = self.stack[-1]
        (target.items if isinstance(target, PickledCall) else target).extend(values)

    def add_pairs(self, values: list[Any]) -> None:
        """Add pairs to a dictionary; ``values`` are keys and values in turn."""
        self.stack[-1].pairs.extend(zip(values[::2], values[1::2], strict=True))

    def push_dict(self) -> None:
        """Replace the keys and values above the mark by a dictionary."""
        values = self.pop_to_mark()
        self.stack.append(PickledDict())
        self.add_pairs(values)

    def pop_last(self, count: int) -> list[Any]:
        """Pop the last values."""
        return [self.stack.pop() for _ in range(count)][::-1]


_OPCODE_STEPS: dict[str, Callable[[_PickleMachine, Any], Any]] = {
    "MARK": lambda m, a: m.stack.append(_MARK),
    "POP": lambda m, a: m.stack.pop(),
    "POP_MARK": lambda m, a: m.pop_to_mark(),
    "DUP": lambda m, a: m.stack.append(m.stack[-1]),
    "TUPLE": lambda m, a: m.stack.append(tuple(m.pop_to_mark())),
    "TUPLE1": lambda m, a: m.stack.append(tuple(m.pop_last(1))),
    "TUPLE2": lambda m, a: m.stack.append(tuple(m.pop_last(2))),
    "TUPLE3": lambda m, a: m.stack.append(tuple(m.pop_last(3))),
    **dict.fromkeys(("LIST", "FROZENSET"), lambda m, a: m.stack.append(m.pop_to_mark())),
    "DICT": lambda m, a: m.push_dict(),
    "APPEND": lambda m, a: m.add_items(m.pop_last(1)),
    **dict.fromkeys(("APPENDS", "ADDITEMS"), lambda m, a: m.add_items(m.pop_to_mark())),
    "SETITEM": lambda m, a: m.add_pairs(m.pop_last(2)),
    "SETITEMS": lambda m, a: m.add_pairs(m.pop_to_mark()),
    "GLOBAL": lambda m, a: m.push_name(*a.split(" ", 1)),
    "STACK_GLOBAL": lambda m, a: m.push_name(*m.pop_last(2)),
    "INST": lambda m, a: m.push_inst(a),
    "OBJ": lambda m, a: m.push_obj(),
    **dict.fromkeys(("REDUCE", "NEWOBJ"), lambda m, a: m.stack.append(PickledCall(*m.pop_last(2)))),
    "NEWOBJ_EX": lambda m, a: m.stack.append(PickledCall(*m.pop_last(3)[:2])),  # without the keywords
    "BUILD": lambda m, a: m.set_state(),
    "PERSID": lambda m, a: m.stack.append(StorageReference(a)),
    "BINPERSID": lambda m, a: m.stack.append(StorageReference(m.stack.pop())),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), lambda m, a: m.remember_top(a)),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), lambda m, a: m.stack.append(m.memo[a])),
}

_CONSTANT_OPCODES: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple, "EMPTY_LIST": list, "EMPTY_SET": list, "EMPTY_DICT": PickledDict,
}  # fmt: skip

_LITERAL_OPCODES = (
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE "
    "SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8"
)
_LITERAL_NAMES = frozenset(_LITERAL_OPCODES.split())
_IGNORED_OPCODES = frozenset({"PROTO", "FRAME", "STOP"})


def walk_values(value: Any) -> Iterator[Any]:
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
        elif isinstance(one, PickledDict):
            rest.extend(part for pair in reversed(one.pairs) for part in pair)
        elif isinstance(one, PickledCall):
            rest += [one.state, one.items, *(part for pair in one.pairs for part in pair), one.args, one.what]
        elif isinstance(one, StorageReference):
            rest.append(one.key)
