"""The values that interpreting a program on a small world knows, and what it guesses from names."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._groups.rank_names import is_rank_name, is_size_name
from .schedule import Channels, Group, Operation, Transfer

WORLD = Group("world")
SINGLE = frozenset({"isend", "irecv", "send", "recv"})
COLLECTIVES = frozenset(
    [
        *("all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_to_all"),
        *("all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "gather", "reduce"),
        *("reduce_scatter", "reduce_scatter_tensor", "scatter"),
    ]
)
RELEVANT = SINGLE | {"batch_isend_irecv", "P2POp", "wait"}
"""Names that, called, may matter; statements without them (and without calls of helpers that have them) are skipped."""


class Unclear(Exception):
    """The code is not understood."""


class Raised(Exception):
    """The program ends with an exception."""


class Returned(Exception):
    """A function has come to its ``return``."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Broken(Exception):
    """A loop has come to a ``break``."""


class Continued(Exception):
    """A round of a loop has come to a ``continue``."""


@dataclass(frozen=True)
class Opaque:
    """A value that is not followed. Equal keys stand for equal values, on every rank."""

    key: str


@dataclass(frozen=True)
class OnCpu(Opaque):
    """A tensor in the CPU's memory (or the CPU itself), which a group with several backends gives to gloo."""


@dataclass(frozen=True)
class Torch:
    """Something of torch's, by its qualified name."""

    name: str


@dataclass(frozen=True)
class Request:
    """What isend, irecv and asynchronous collectives return."""

    operation: Operation


@dataclass(frozen=True)
class PeerOperation:
    """A `P2POp`."""

    transfer: Transfer
    group: Group


@dataclass(eq=False)
class Instance:
    """An object of a class of the file."""

    definition: ast.ClassDef
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A function of the file, and the object that it belongs to."""

    definition: ast.FunctionDef | ast.AsyncFunctionDef
    instance: Instance | None = None


class Assumed(int):
    """A rank that only its name tells, or what a program makes of one: a number, or the outcome of a test."""


class Guess(Assumed):
    """A neighbour's rank that only its name tells."""


@dataclass
class World:
    """What all ranks of one run share.

    ``choices`` are the outcomes of opaque conditions; those not in it are added as they come up. ``end`` is what a
    neighbour is called where there is none (in a ring, which has no ends, it does not occur).
    """

    size: int
    choices: dict[str, bool] = field(default_factory=dict)
    is_ring: bool = True
    end: int | None = None


class NotARing(Exception):
    """A guessed neighbour is compared with ``value``, which stands for there being none."""

    def __init__(self, value: int | None) -> None:
        self.value = value


_NEXT = re.compile(
    r"(?:^|_)(?:next|right|successor|dst|dest|destination|send_to|send_rank|to_rank|down)(?:_|$)"
)
_PREVIOUS = re.compile(
    r"(?:^|_)(?:prev|previous|left|predecessor|src|source|recv_from|recv_rank|from_rank|up)(?:_|$)"
)
DIFFERS = re.compile(
    r"first|last|even|odd|parity|send|recv|receive|src|dst|source|leader|master|main|head|tail|root|stage"
    r"|rank|neighbo|has_|prev|next|left|right|top|bottom|left|edge|bound|owner|coord|peer|member",
    re.IGNORECASE,
)
"""Names in conditions that tell ranks apart."""

BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
COMPARE: Mapping[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
BUILTINS: Mapping[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (abs, bool, divmod, int, len, max, min, sum)},
    "range": lambda *a: list(range(*a))[:64],
    "reversed": lambda a: list(reversed(a)),
    "sorted": sorted,
    "enumerate": lambda *a: list(enumerate(*a)),
    "list": lambda *a: list(*a),
    "tuple": lambda *a: tuple(*a),
    "dict": lambda **a: a,
    "set": lambda *a: list(*a),
}
PLAIN = (int, str, bool, float, type(None), list, tuple, dict)


UNKNOWN = object()
EACH = "each of "
"""What the key of a loop variable begins with whose values are not followed."""


def guess(name: str, rank: int, world: World) -> Any:
    """What a parameter or an attribute of this name probably is; UNKNOWN if the name says nothing."""
    if is_rank_name(name):
        return Assumed(rank)
    if is_size_name(name):
        return world.size
    for pattern, step in ((_NEXT, 1), (_PREVIOUS, -1)):
        if pattern.search(name):
            peer = rank + step
            if world.is_ring:
                return Guess(peer % world.size)
            return Guess(peer) if 0 <= peer < world.size else world.end
    return list(range(world.size)) if name in ("ranks", "group_ranks", "global_ranks") else UNKNOWN


def derived(value: Any, *sources: Any) -> Any:
    """A value that was made of others: assumed, too, if one of them is."""
    is_assumed = any(isinstance(source, Assumed) for source in sources)
    return Assumed(value) if is_assumed and isinstance(value, int) else value


def nothing() -> None:
    """What a round of a `while` loop begins with."""


def channels_of(backend: Any) -> Channels | None:
    if not isinstance(backend, str) or "nccl" in backend:
        lazy = isinstance(backend, str) and ("nccl-lazy" in backend or "nccl-legacy" in backend)
        return Channels.PAIR if lazy else None
    return Channels.DIRECTION


def is_cpu(name: str) -> bool:
    return bool(re.search(r"cpu|gloo|metadata|coordinat", name, re.IGNORECASE))


def holds_request(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(holds_request, value))
    return isinstance(value, Request)


def method_of(definition: ast.ClassDef, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    for statement in definition.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name == name:
            return statement
    return None


def is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)
