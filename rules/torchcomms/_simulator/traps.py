"""The single sends and receives of a file that wait for each other: found by running its functions on a small world."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial

from torchmigrate.api import Context, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.node_walks import walk_nodes
from torchmigrate.semantics.symbol_uses import SymbolUses

from .._groups.backends import find_backends, uses_nccl
from .._groups.group_functions import INIT_FUNCTIONS, may_be_nccl, qualify_c10d
from .communicators import Channels, CommunicatorSimulation, Deadlock, Operation, Trace, is_closed
from .followed_values import (
    SINGLE_OPERATIONS,
    FunctionDefinition,
    NotARing,
    ProgramRaised,
    RankWorld,
    UnclearCode,
)
from .interpreter import ProgramInterpreter
from .requests_in_flight import FlightSearch
from .simulated_program import SimulatedProgram

ASYNC_FUNCTIONS = qualify_c10d("isend", "irecv")
BLOCKING_FUNCTIONS = qualify_c10d("send", "recv")
_SIZES = (4, 2)
"""World sizes to try until the program accepts one. In a ring of two the neighbors are the same rank."""
_MAX_STEPS = 20_000
"""Statements that are executed for one file: about half a second."""
_MAX_RUNS = 16
"""Combinations of unknown conditions that are tried for one function."""

StartCode = Callable[[ProgramInterpreter], None]
"""Runs the code to simulate in one rank's interpreter."""


class TrapKind(enum.IntEnum):
    """What becomes of single operations, from the mildest to the worst."""

    SERIALISED = 1
    """The operations run one after the other, where each pair of ranks had a communicator of its own before."""
    PAIR = 2
    """The operations wait for each other in every version of torch."""
    OVERLAP = 3
    """The operations wait for each other in torch 2.15, around more than two ranks."""


@dataclass(frozen=True)
class Trap:
    """Operations that wait for each other."""

    trouble: TrapKind
    nodes: frozenset[ast.Call]
    is_certain: bool = True
    """Whether the program shows which values are ranks; otherwise only names do."""

    @property
    def lines(self) -> str:
        """The lines of the operations as text: ``lines 12 and 14``."""
        *most, last = sorted({node.lineno for node in self.nodes})
        return f"lines {', '.join(map(str, most))} and {last}" if most else f"line {last}"


class FileTraps:
    """All traps of one file."""

    def __init__(self, program: SimulatedProgram) -> None:
        self.program = program
        self._steps = 0
        self._covered: set[ast.Call] = set()
        self.found: list[Trap] = []
        self.batches: set[ast.Call] = set()
        """The batches that complete on one communicator per group as well as on one per pair of ranks."""
        self._stuck: set[ast.Call] = set()
        self._assumed: set[ast.Call] = set()
        for start in self._find_starts():
            self._explore_choices(start)
        for owner, methods in self._find_objects():
            self._follow_object(owner, methods)
        for calls in FlightSearch(program).find_sets():
            if calls.isdisjoint(self._covered):
                self._add_trap(TrapKind.SERIALISED, set(calls))

    @classmethod
    def from_uses(cls, uses: SymbolUses) -> FileTraps:
        """Return the traps of a file; they are searched once."""
        return uses.compute_once(cls, lambda: cls(SimulatedProgram(uses.scopes, uses.names, uses.data_flow)))

    @cached_property
    def by_first(self) -> dict[ast.Call, Trap]:
        """The traps by their first `isend` or `irecv`, or by their first blocking call if there is no other."""
        found: dict[ast.Call, Trap] = {}
        for trap in self.found:
            posted = [
                node for node in trap.nodes if self.program.find_called_name(node) in ("isend", "irecv")
            ]
            found.setdefault(min(posted or trap.nodes, key=lambda n: (n.lineno, n.col_offset)), trap)
        return found

    def _find_relevant(self) -> dict[FunctionDefinition, frozenset[str]]:
        """Return the functions that lead to single operations, with the names of what they call."""
        called = {function: self.program.called(function) for function in self.program.function_owners}
        leading = self.program.leading_names
        return {
            f: names
            for f, names in called.items()
            if f.name in leading or not SINGLE_OPERATIONS.isdisjoint(names)
        }

    def _find_starts(self) -> Iterator[StartCode]:
        """Yield the code to start from: the module, functions that the file does not call itself, then what is left."""
        own = (s for s in self.program.tree.body if not isinstance(s, (FunctionDefinition, ast.ClassDef)))
        if not (SINGLE_OPERATIONS | self.program.leading_names).isdisjoint(
            name for s in own for name in self.program.called(s)
        ):
            yield ProgramInterpreter.run_module
        relevant = self._find_relevant()
        called = {name for function, names in relevant.items() for name in names - {function.name}}
        yield from (self._start_at(function) for function in relevant if function.name not in called)
        for function in relevant:
            if not self._find_singles(function) <= self._covered:
                yield self._start_at(function)

    def _start_at(self, function: FunctionDefinition) -> StartCode:
        owner = self.program.function_owners[function]
        return partial(ProgramInterpreter.run_function, definition=function, owner=owner)

    def _find_singles(self, function: FunctionDefinition) -> set[ast.Call]:
        calls = (node for node in walk_nodes(function) if isinstance(node, ast.Call))
        return {call for call in calls if self.program.find_called_name(call) in SINGLE_OPERATIONS}

    def _find_objects(self) -> Iterator[tuple[ast.ClassDef, list[FunctionDefinition]]]:
        """Yield the classes whose methods issue operations that nothing in the file leads to, with these methods."""
        relevant = self._find_relevant()
        for owner in dict.fromkeys(
            owner for owner in self.program.function_owners.values() if owner is not None
        ):
            own = [
                f for f, of in self.program.function_owners.items() if of is owner and f.name != "__init__"
            ]
            methods = [f for f in own if f in relevant]
            issuing = [calls for method in methods if (calls := self._find_singles(method))]
            if len(issuing) > 1 and self._covered.isdisjoint(set().union(*issuing)):
                called = {name for method in methods for name in relevant[method] - {method.name}}
                waiting = [f for f in own if f not in relevant and "wait" in self.program.called(f)]
                yield owner, [*(m for m in methods if m.name not in called), *waiting]

    def _follow_object(self, owner: ast.ClassDef, methods: list[FunctionDefinition]) -> None:
        """Run the methods of one object in the order of their definitions, and in the opposite one.

        What is certain is only that their operations follow each other on one communicator, so the result counts only
        where both orders agree.
        """
        orders = (methods, methods[::-1])
        starts = [partial(ProgramInterpreter.run_methods, owner=owner, methods=order) for order in orders]
        traced = [traces for start in starts if (traces := self._trace_ranks(start, {})) is not None]
        operations = [
            step for traces in traced for trace in traces for step in trace if isinstance(step, Operation)
        ]
        if len(traced) < len(orders) or any(operation.is_blocking for operation in operations):
            return  # the callers may order blocking calls by rank
        hangs = {
            bool(CommunicatorSimulation(traces, Channels.GROUP).run_all().deadlocks) for traces in traced
        }
        if len(hangs) == 1:
            self._assumed |= _select_singles(operations)
            self._judge_traces(traced[0])

    def _explore_choices(self, start: StartCode) -> None:
        """Run code for every rank, with every combination of unknown conditions."""
        waiting: list[dict[str, bool]] = [{}]
        runs = 0
        while waiting and runs < _MAX_RUNS and self._steps < _MAX_STEPS:
            runs += 1
            given = waiting.pop()
            choices = dict(given)
            traces = self._trace_ranks(start, choices)
            names = list(choices)
            # Each new condition is tried with its other outcome, too, after the same outcomes of those before it.
            for index in range(len(given), len(names)):
                before = {name: choices[name] for name in names[:index]}
                waiting.append({**before, names[index]: not choices[names[index]]})
            if traces is not None:
                self._judge_traces(traces)

    def _trace_ranks(self, start: StartCode, choices: dict[str, bool]) -> list[Trace] | None:
        """Return the traces of all ranks; None if the code is not understood, or their operations do not match."""
        for size in _SIZES:
            with suppress(ProgramRaised):
                world = RankWorld(size, choices)
                try:
                    traces = self._trace_world(start, world)
                except UnclearCode:
                    return None
                is_usable = is_closed(traces)
                if is_usable and world.is_presumed:
                    is_usable = not CommunicatorSimulation(traces, Channels.GROUP).run_all().deadlocks
                return traces if is_usable else None
        return None

    def _trace_world(self, start: StartCode, world: RankWorld) -> list[Trace]:
        try:
            return [self._trace_rank(start, world, rank) for rank in range(world.size)]
        except NotARing as found:
            if not world.is_ring:
                raise UnclearCode from None
            world.is_ring, world.end = False, found.value
            return self._trace_world(start, world)

    def _trace_rank(self, start: StartCode, world: RankWorld, rank: int) -> Trace:
        interpreter = ProgramInterpreter(self.program, world, rank)
        try:
            start(interpreter)
        except RecursionError:
            raise UnclearCode from None
        finally:
            self._steps += interpreter.steps
        return interpreter.trace

    def _judge_traces(self, traces: Sequence[Trace]) -> None:
        operations = [step for trace in traces for step in trace if isinstance(step, Operation)]
        self._covered.update(operation.node for operation in operations)
        self._assumed |= {operation.node for operation in operations if operation.is_assumed}
        grouped, paired = (
            CommunicatorSimulation(traces, channels).run_all() for channels in (Channels.GROUP, Channels.PAIR)
        )
        both = (*grouped.deadlocks, *paired.deadlocks)
        # A batch must complete in every run: before torch 2.15 the other side may use other communicators.
        self._stuck |= {operation.node for deadlock in both for operation in deadlock.queued}
        self.batches |= {operation.node for operation in operations if operation.is_batch}
        self.batches -= self._stuck
        in_pairs = _select_singles(operation for deadlock in paired.deadlocks for operation in deadlock.heads)
        for deadlock in filter(self._may_run, grouped.deadlocks):
            is_old = bool(_select_singles(deadlock.heads) & in_pairs)
            self._add_trap(TrapKind.PAIR if is_old else TrapKind.OVERLAP, _select_singles(deadlock.queued))
        for pair in grouped.serialised:
            self._add_trap(TrapKind.SERIALISED, _select_singles(pair))
        serialised = _select_singles(operation for pair in grouped.serialised for operation in pair)
        for pair in grouped.matched:
            if len(serialised & _select_singles(pair)) == 2:  # both sides of a schedule are one finding
                self._add_trap(TrapKind.SERIALISED, _select_singles(pair))

    @staticmethod
    def _may_run(deadlock: Deadlock) -> bool:
        """Return whether a program with this deadlock may have run with small tensors: if not, not all ranks execute it.

        Where all ranks receive first, or ask the same peer for an answer, other ranks execute other code.
        """
        singles = [
            operation for operation in deadlock.queued if not operation.is_batch and operation.transfers
        ]
        sends = [t.is_send and head.has_known_peer for head in deadlock.heads for t in head.transfers]
        return not all(operation.is_blocking for operation in singles) or all(sends)

    def _add_trap(self, trouble: TrapKind, nodes: set[ast.Call]) -> None:
        """Add a trap, merged with those that it shares operations with."""
        for trap in self.found:
            if nodes & trap.nodes:
                nodes, trouble = nodes | trap.nodes, max(trouble, trap.trouble)
        self.found = [trap for trap in self.found if not nodes & trap.nodes]
        if nodes:
            self.found.append(Trap(trouble, frozenset(nodes), is_certain=nodes.isdisjoint(self._assumed)))


def _select_singles(operations: Iterable[Operation]) -> set[ast.Call]:
    """Return the calls of single operations."""
    return {operation.node for operation in operations if operation.transfers and not operation.is_batch}


def find_trap(use: Use, ctx: Context, trouble: TrapKind) -> Trap | None:
    """Return the trap of this kind whose first operation is ``use``, unless its groups are certainly not nccl's."""
    trap = FileTraps.from_uses(ctx.uses).by_first.get(use.call) if use.call is not None else None
    if trap is None or trap.trouble is not trouble or not may_be_nccl(ctx):
        return None
    own = [other for other in ctx.uses.all_uses if other.symbol in INIT_FUNCTIONS and other.call is not None]
    named = [
        find_backends(find_argument(other.call, 0, "backend"), other, ctx) for other in own if other.call
    ]
    if named and all(found is not None and not any(map(uses_nccl, found)) for found in named):
        return None
    return trap
