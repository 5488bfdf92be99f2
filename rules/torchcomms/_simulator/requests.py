"""The single sends and receives of a file that wait for each other: found by running its functions on a small world."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from torchmigrate.semantics.nodes import walk

from .._groups.backends import backends, is_nccl
from .._groups.groups import INIT, argument, c10d, may_be_nccl
from .flight import together
from .interpret import Interpreter
from .program import Program
from .schedule import Channels, Operation, Trace, is_closed, run
from .syntax import Syntax
from .values import SINGLE, NotARing, Raised, Unclear, World

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.uses import Uses

POSTING = c10d("isend", "irecv")
"""What a rule on traps watches."""
SIZES = (4, 2)
"""World sizes that are tried, until one is accepted. In a ring of two the neighbours are the same rank."""
MAX_STEPS = 20_000
"""Statements that are executed for one file: about half a second."""
MAX_RUNS = 16
"""Combinations of unknown conditions that are tried for one function."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Trouble(enum.IntEnum):
    """What becomes of single operations, from the least to the worst."""

    SERIALISED = 1
    """They run one after the other, where each pair of ranks had a communicator of its own before."""
    PAIR = 2
    """They wait for each other, on two ranks: in every version."""
    OVERLAP = 3
    """They wait for each other, round more than two ranks: in torch 2.15."""


@dataclass(frozen=True)
class Trap:
    """Operations that wait for each other."""

    trouble: Trouble
    nodes: frozenset[ast.Call]
    is_certain: bool = True
    """Whether the program shows that what tells its ranks apart are ranks; else their names alone say so."""

    @property
    def lines(self) -> str:
        """Where they stand, for a reader: ``lines 12 and 14``."""
        *most, last = sorted({node.lineno for node in self.nodes})
        return f"lines {', '.join(map(str, most))} and {last}" if most else f"line {last}"


class Requests:
    """The traps of one file."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.syntax = Syntax(program)
        self._steps = 0
        self._functions = dict(_functions(program))
        self._relevant = self._relevant_names()
        self._covered: set[ast.Call] = set()
        self.traps: list[Trap] = []
        self.batches: set[ast.Call] = set()
        """The batches that complete on one communicator per group as well as on one per pair of ranks."""
        self._stuck: set[ast.Call] = set()
        self._assumed: set[ast.Call] = set()
        for root in self._roots():
            self._explore(root)
        for owner, methods in self._lives():
            self._follow(owner, methods)
        for calls in together(program, self.syntax):
            if calls.isdisjoint(self._covered):
                self._add(Trouble.SERIALISED, set(calls))

    @classmethod
    def of(cls, uses: Uses) -> Requests:
        """The traps of a file; found once."""
        return uses.once(cls, lambda: cls(Program.of(uses)))

    def at(self, call: ast.Call | None) -> Trap | None:
        """The trap of which ``call`` is the first `isend` or `irecv`; those of blocking calls alone have none."""
        return None if call is None else self._by_first.get(call)

    @cached_property
    def _by_first(self) -> dict[ast.Call, Trap]:
        found: dict[ast.Call, Trap] = {}
        for trap in self.traps:
            posted = [node for node in trap.nodes if self.syntax.name(node) in ("isend", "irecv")]
            if posted:
                found.setdefault(min(posted, key=_position), trap)
        return found

    def _relevant_names(self) -> frozenset[str]:
        """The functions of the file (and classes of such methods) that lead to a single operation."""
        callers: dict[str, set[str]] = {}
        for definition, owner in self._functions.items():
            name = definition.name if definition.name != "__init__" else owner.name if owner else ""
            for called in self.syntax.called(definition):
                callers.setdefault(called, set()).add(name)
        found: set[str] = set()
        waiting = [*SINGLE, "batch_isend_irecv"]
        while waiting:
            fresh = callers.get(waiting.pop(), set()) - found
            found |= fresh
            waiting += fresh
        return frozenset(found)

    def _roots(self) -> Iterator[Definition | None]:
        """Where to begin: the module (None), functions that the file does not call itself, then what is left."""
        if any(
            not (SINGLE | self._relevant).isdisjoint(self.syntax.called(statement))
            for statement in self._program.scopes.module.node.body
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        ):
            yield None
        relevant = [
            d
            for d in self._functions
            if d.name in self._relevant or not SINGLE.isdisjoint(self.syntax.called(d))
        ]
        called = {
            name for definition in relevant for name in self.syntax.called(definition) - {definition.name}
        }
        yield from (definition for definition in relevant if definition.name not in called)
        for definition in relevant:
            own = [node for node in walk(definition) if isinstance(node, ast.Call)]
            if any(self.syntax.name(node) in SINGLE and node not in self._covered for node in own):
                yield definition

    def _lives(self) -> Iterator[tuple[ast.ClassDef, list[Definition]]]:
        """The classes whose methods issue operations that nothing in the file leads to, with these methods."""
        found: dict[ast.ClassDef, list[Definition]] = {}
        for definition, owner in self._functions.items():
            relevant = definition.name in self._relevant or not SINGLE.isdisjoint(
                self.syntax.called(definition)
            )
            if owner is not None and relevant and definition.name != "__init__":
                found.setdefault(owner, []).append(definition)
        for owner, methods in found.items():
            issuing = [m for m in methods if not SINGLE.isdisjoint(self.syntax.called(m))]
            if len(issuing) > 1 and self._covered.isdisjoint(n for m in issuing for n in _own_calls(m)):
                called = {name for m in methods for name in self.syntax.called(m) - {m.name}}
                waiting = [
                    d
                    for d, of in self._functions.items()
                    if of is owner and d not in methods and "wait" in self.syntax.called(d)
                ]
                yield owner, [*(m for m in methods if m.name not in called), *waiting]

    def _follow(self, owner: ast.ClassDef, methods: list[Definition]) -> None:
        """Runs the methods of one object, in the order in which they stand, and in the other one.

        What is certain is only that their operations follow each other on one communicator; that all wait for ever is
        said where it holds in either order.
        """
        outcomes = []
        for order in (methods, methods[::-1]):
            traces = self._traces(partial(Interpreter.run_methods, owner=owner, methods=order), {})
            if traces is None or not is_closed(traces):
                return
            outcomes.append((traces, bool(run(traces, Channels.GROUP).deadlocks)))
        (traces, hangs), (_, hangs_too) = outcomes
        nodes = _singles(step for trace in traces for step in trace if isinstance(step, Operation))
        self._assumed |= nodes
        if hangs == hangs_too:
            self._judge(traces)
        else:
            self._covered |= nodes
            self._add(Trouble.SERIALISED, nodes)

    def _explore(self, root: Definition | None) -> None:
        """Runs one function for every rank, with every combination of conditions that are unknown."""
        waiting: list[dict[str, bool]] = [{}]
        runs = 0
        while waiting and runs < MAX_RUNS and self._steps < MAX_STEPS:
            runs += 1
            given = waiting.pop()
            choices = dict(given)
            traces = self._traces(partial(_begin, root=root, functions=self._functions), choices)
            for name in list(choices)[len(given) :]:
                before = list(choices)[: list(choices).index(name)]
                waiting.append({**{key: choices[key] for key in before}, name: not choices[name]})
            if traces is not None and is_closed(traces):
                self._judge(traces)

    def _traces(self, begin: Callable[[Interpreter], None], choices: dict[str, bool]) -> list[Trace] | None:
        try:
            for size in SIZES:
                with suppress(Raised):
                    world = World(size, choices)
                    try:
                        return [self._trace(begin, world, rank) for rank in range(size)]
                    except NotARing as found:
                        world = World(size, choices, is_ring=False, end=found.value)
                        return [self._trace(begin, world, rank) for rank in range(size)]
        except (Unclear, NotARing):
            pass
        return None

    def _trace(self, begin: Callable[[Interpreter], None], world: World, rank: int) -> Trace:
        interpreter = Interpreter(self._program, self._relevant, self.syntax, world, rank)
        try:
            begin(interpreter)
        except RecursionError:
            raise Unclear from None
        finally:
            self._steps += interpreter.steps
        return interpreter.trace

    def _judge(self, traces: Sequence[Trace]) -> None:
        operations = [step for trace in traces for step in trace if isinstance(step, Operation)]
        self._covered.update(operation.node for operation in operations)
        self._assumed |= {operation.node for operation in operations if operation.is_assumed}
        grouped, paired = run(traces, Channels.GROUP), run(traces, Channels.PAIR)
        both = (*grouped.deadlocks, *paired.deadlocks)
        self._stuck |= {operation.node for deadlock in both for operation in deadlock.queued}
        self.batches |= {operation.node for operation in operations if operation.batched}
        self.batches -= self._stuck
        in_pairs = _singles(operation for deadlock in paired.deadlocks for operation in deadlock.heads)
        for deadlock in grouped.deadlocks:
            of_pairs = _singles(deadlock.heads) & in_pairs
            self._add(Trouble.PAIR if of_pairs else Trouble.OVERLAP, _singles(deadlock.queued))
        for pair in grouped.serialised:
            self._add(Trouble.SERIALISED, _singles(pair))

    def _add(self, trouble: Trouble, nodes: set[ast.Call]) -> None:
        """Adds a trap, together with those that it shares operations with."""
        for trap in self.traps:
            if nodes & trap.nodes:
                nodes, trouble = nodes | trap.nodes, max(trouble, trap.trouble)
        self.traps = [trap for trap in self.traps if not nodes & trap.nodes]
        if nodes:
            self.traps.append(Trap(trouble, frozenset(nodes), is_certain=nodes.isdisjoint(self._assumed)))


def _begin(
    interpreter: Interpreter, root: Definition | None, functions: Mapping[Definition, ast.ClassDef | None]
) -> None:
    """Runs the module (None), or one function."""
    if root is None:
        interpreter.run_module()
    else:
        interpreter.run_function(root, functions[root])


def _own_calls(definition: ast.AST) -> Iterator[ast.Call]:
    return (node for node in walk(definition) if isinstance(node, ast.Call))


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _singles(operations: Iterable[Operation]) -> set[ast.Call]:
    """The calls of single operations."""
    return {operation.node for operation in operations if operation.transfers and not operation.batched}


def _functions(program: Program) -> Iterator[tuple[Definition, ast.ClassDef | None]]:
    """Every function, with the class that it is a method of."""
    for node, parent in program.flow.parents.items():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node, parent if isinstance(parent, ast.ClassDef) else None


def trap_at(use: Use, ctx: Context, trouble: Trouble) -> Trap | None:
    """The trap of this kind whose first operation is ``use``, unless its groups are known not to be nccl's."""
    trap = Requests.of(ctx.uses).at(use.call)
    if trap is None or trap.trouble is not trouble or not may_be_nccl(ctx):
        return None
    own = [other for other in ctx.uses.found if other.symbol in INIT and other.call is not None]
    named = [backends(argument(other.call, 0, "backend"), other, ctx) for other in own if other.call]
    if trouble is Trouble.SERIALISED and _is_ordered(use, trap, Requests.of(ctx.uses).syntax):
        return None
    if named and all(found is not None and not any(map(is_nccl, found)) for found in named):
        return None
    return trap


def _is_ordered(use: Use, trap: Trap, syntax: Syntax) -> bool:
    """Whether one branch of a condition sends and receives in one order, and the other in the other: by intent."""
    for around in use.place.ancestors():
        if isinstance(around, ast.If):
            branches = [{n for part in branch for n in walk(part)} for branch in (around.body, around.orelse)]
            directions = [
                {name[-4:] for n in branch if isinstance(n, ast.Call) and (name := syntax.name(n)) in SINGLE}
                for branch in branches
            ]
            if all(len(found) == 2 for found in directions) and any(
                trap.nodes <= branch for branch in branches
            ):
                return True
    return False
