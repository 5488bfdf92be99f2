"""The values that the interpreter follows, and what it guesses from names."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._groups.rank_names import is_rank_name, is_size_name
from .communicators import Channels, Operation

FunctionDefinition = ast.FunctionDef | ast.AsyncFunctionDef

SINGLE_OPERATIONS = frozenset({"isend", "irecv", "send", "recv"})
COLLECTIVE_OPERATIONS = frozenset(
    [
        *("all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_to_all"),
        *("all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "gather", "reduce"),
        *("reduce_scatter", "reduce_scatter_tensor", "scatter"),
    ]
)


class UnclearCode(Exception):
    """The code is not understood."""


class ProgramRaised(Exception):
    """The program ends with an exception."""


class FunctionReturned(Exception):
    """A function has reached its ``return``."""

    def __init__(self, value: Any) -> None:
        self.value = value


class LoopBroken(Exception):
    """A loop has reached a ``break``."""


class LoopContinued(Exception):
    """A round of a loop has reached a ``continue``."""


class NotARing(Exception):
    """A neighbor guessed by name is compared with ``value``, which stands for a missing neighbor."""

    def __init__(self, value: int | None) -> None:
        self.value = value


@dataclass(frozen=True)
class Opaque:
    """A value that is not followed. Equal keys stand for equal values, on every rank."""

    key: str


@dataclass(frozen=True)
class CpuTensor(Opaque):
    """A tensor in the CPU's memory (or the CPU device), which a group with several backends passes to gloo."""


@dataclass(frozen=True)
class TorchName:
    """A function or module of torch (or `os`), by its qualified name."""

    name: str


@dataclass(eq=False)
class FileObject:
    """An object of a class of the file."""

    definition: ast.ClassDef
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BoundFunction:
    """A function of the file, and the object that it is bound to."""

    definition: FunctionDefinition
    instance: FileObject | None = None


class AssumedRank(int):
    """A number or truth value that depends on a variable that only its name shows to be a rank."""


class GuessedNeighbor(AssumedRank):
    """The rank of a neighbor that only the variable's name shows."""


@dataclass
class RankWorld:
    """What all ranks of one run share.

    ``choices`` are the outcomes of unknown conditions; new ones are added as they come up. ``end`` is the value that
    stands for a missing neighbor (it does not occur in a ring). ``is_presumed`` says that every rank was taken to pass
    all tensors, which shows what may overlap, but not that anything hangs.
    """

    size: int
    choices: dict[str, bool] = field(default_factory=dict)
    is_ring: bool = True
    end: int | None = None
    is_presumed: bool = False


def _compile_words(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|_)(?:{words})(?:_|$)")


_NEXT = _compile_words("next|right|successor|dst|dest|destination|send_to|send_rank|to_rank|down")
_PREVIOUS = _compile_words("prev|previous|left|predecessor|src|source|recv_from|recv_rank|from_rank|up")
RANK_WORDS = re.compile(
    r"first|last|even|odd|parity|send|recv|receive|src|dst|source|leader|master|main|head|tail|root|stage"
    r"|rank|neighbo|has_|prev|next|left|right|top|bottom|edge|bound|owner|coord|peer|member",
    re.IGNORECASE,
)
"""Names in conditions that tell ranks apart."""
_CPU_GROUP = re.compile(r"cpu|gloo|metadata|coordinat", re.IGNORECASE)

BINARY_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
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
COMPARISONS: Mapping[type, Callable[[Any, Any], bool]] = {
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
    **{f.__name__: f for f in (abs, bool, divmod, int, len, list, max, min, sorted, sum, tuple)},
    "range": lambda *a: list(range(*a)[:64]),
    "reversed": lambda a: list(reversed(a)),
    "enumerate": lambda *a: list(enumerate(*a)),
    "dict": lambda **a: a,
    "set": list,
}
PLAIN_TYPES = (int, str, bool, float, type(None), list, tuple, dict)
EACH_PREFIX = "each of "
"""The prefix of an opaque key that stands for every item of an iterable that is not followed."""


def guess_value(name: str, rank: int, world: RankWorld, key: str = "") -> Any:
    """Return the probable value of a variable or getter of this name; `Opaque(key)` if the name shows nothing."""
    stem = name.removeprefix("get_")
    if is_rank_name(stem):
        return AssumedRank(rank)
    if is_size_name(stem):
        return world.size
    for pattern, step in ((_NEXT, 1), (_PREVIOUS, -1)):
        if pattern.search(name):
            peer = rank + step
            if world.is_ring:
                return GuessedNeighbor(peer % world.size)
            return GuessedNeighbor(peer) if 0 <= peer < world.size else world.end
    return (
        list(range(world.size)) if name in ("ranks", "group_ranks", "global_ranks") else Opaque(key or name)
    )


def derive_value(value: Any, *sources: Any) -> Any:
    """Return a value computed from the sources, as `AssumedRank` if one of the sources is."""
    is_assumed = any(isinstance(source, AssumedRank) for source in sources)
    return AssumedRank(value) if is_assumed and isinstance(value, int) else value


def find_channels(backend: Any) -> Channels | None:
    """Return the channels that a group of this backend has; None for nccl, where the torch version decides."""
    if not isinstance(backend, str) or "nccl" in backend:
        lazy = isinstance(backend, str) and ("nccl-lazy" in backend or "nccl-legacy" in backend)
        return Channels.PAIR if lazy else None
    return Channels.DIRECTION


def is_cpu_group_name(name: str) -> bool:
    """Return whether a variable of this name probably holds a group for the CPU."""
    return _CPU_GROUP.search(name) is not None


def holds_request(value: Any) -> bool:
    """Return whether a value is a request or contains one."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_request, value))
    return isinstance(value, Operation)


def find_method(definition: ast.ClassDef, name: str) -> FunctionDefinition | None:
    """Return the method of this name that a class defines itself."""
    functions = (
        part for part in definition.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
    return next((function for function in functions if function.name == name), None)
