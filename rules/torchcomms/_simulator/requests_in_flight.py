"""Single operations that the form of the code alone shows to be in flight together, with several peers.

For code that cannot be simulated: one side of a scatter, or the methods of a class that keep their requests for later.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.node_walks import walk_nodes

from .followed_values import FunctionDefinition, is_cpu_group_name
from .simulated_program import SimulatedProgram

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ON_CPU = re.compile(r"\.cpu\(\)|\bfrombuffer\(|\bfrom_numpy\(|device=(?:torch\.device\()?['\"]cpu\b")


class _KeptRequest(NamedTuple):
    """An operation whose request a method leaves in its object."""

    call: ast.Call
    peer: str
    is_repeated: bool
    """Whether a list takes the requests of several calls, for whatever peers these name."""


class FlightSearch:
    """The search for operations in flight together in one file."""

    def __init__(self, program: SimulatedProgram) -> None:
        self.program = program
        self.parents = program.flow.parents

    def find_sets(self) -> Iterator[frozenset[ast.Call]]:
        """Yield sets of operations that are in flight together."""
        by_class: dict[ast.ClassDef, list[_KeptRequest]] = {}
        for call in self.parents:
            if not isinstance(call, ast.Call) or self.program.find_called_name(call) not in (
                "isend",
                "irecv",
            ):
                continue
            peer = find_argument(call, 1, "dst", "group_dst", "src", "group_src")
            group = find_argument(call, 2, "group")
            by_gloo = group is not None and is_cpu_group_name(self.program.text(group))
            if peer is None or by_gloo or self._is_on_cpu(call):
                continue
            if self._is_collected(call, peer):
                yield frozenset([call])
                continue
            method = self._find_outer(call, *_FUNCTIONS)
            owner = self.parents.get(method) if method is not None else None
            if isinstance(owner, ast.ClassDef) and isinstance(method, FunctionDefinition):
                by_class.setdefault(owner, []).extend(self._find_kept(call, peer, method, owner))
        for kept in by_class.values():
            if len({one.peer for one in kept}) > 1 or any(one.is_repeated for one in kept):
                yield frozenset(one.call for one in kept)

    def _find_outer(self, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
        """Return the innermost node of these kinds that encloses another."""
        parent = self.parents.get(node)
        while parent is not None and not isinstance(parent, kinds):
            parent = self.parents.get(parent)
        return parent

    def _is_on_cpu(self, call: ast.Call) -> bool:
        """Return whether the tensor is made on the CPU, in the call or in the same function."""
        tensor = find_argument(call, 0, "tensor")
        function = self._find_outer(call, *_FUNCTIONS, ast.Module)
        if tensor is None:
            return False
        sources, name = [tensor], ast.unparse(tensor)
        if function is not None and isinstance(tensor, ast.Name):
            stores = (part for part in walk_nodes(function) if isinstance(part, ast.Assign))
            sources += [store.value for store in stores if name in map(ast.unparse, store.targets)]
        return any(_ON_CPU.search(self.program.text(source)) for source in sources)

    def _is_collected(self, call: ast.Call, peer: ast.expr) -> bool:
        """Return whether a loop or a comprehension collects the requests of operations with each of several peers."""
        names, parent = _find_names(peer), self.parents[call]
        made = parent.value if isinstance(parent, ast.DictComp) else getattr(parent, "elt", None)
        if made is call:
            generators: list[ast.comprehension] = getattr(parent, "generators", [])
            return any(names & _find_names(generator.target) for generator in generators)
        loop, holder = self._find_outer(call, ast.For, *_FUNCTIONS), self._find_list(call)
        if not isinstance(loop, ast.For) or "wait" in self.program.called(loop) or holder is None:
            return False
        changing = self.program.assigned(loop)
        return bool(names & changing) and changing.isdisjoint(sorted(_find_names(holder))[:1])

    def _find_list(self, node: ast.AST) -> ast.expr | None:
        """Return the list to which the statement of a call adds the request, alone or with its tensor."""
        parent = self.parents[node]
        if isinstance(parent, (ast.Tuple, ast.List)):
            node, parent = parent, self.parents[parent]
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and node in parent.args:
            return parent.func.value if parent.func.attr in ("append", "extend", "appendleft") else None
        return parent.target if isinstance(parent, ast.AugAssign) and parent.value is node else None

    def _find_kept(
        self, call: ast.Call, peer: ast.expr, method: FunctionDefinition, owner: ast.ClassDef
    ) -> Iterator[_KeptRequest]:
        """Yield the operation if its method, or a caller of the method, leaves the request in the object."""
        requests = [call]
        if isinstance(self.parents[call], ast.Return):
            calls = (node for node in walk_nodes(owner) if isinstance(node, ast.Call))
            requests = [node for node in calls if ast.unparse(node.func) == f"self.{method.name}"]
        listed = [is_list for request in requests for is_list in self._find_holders(request)]
        if listed:
            given = {parameter.arg for parameter in (*method.args.args, *method.args.kwonlyargs)}
            is_repeated = any(listed) and not given.isdisjoint(_find_names(peer))
            yield _KeptRequest(call, self.program.text(peer), is_repeated)

    def _find_holders(self, call: ast.Call) -> Iterator[bool]:
        """Yield, for each attribute in which the enclosing method leaves a request, whether it holds several."""
        method = self._find_outer(call, *_FUNCTIONS)
        if method is None or _waits_after(call, method):
            return
        places: list[ast.AST] = [call]
        parent = self.parents[call]
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            names = (
                n for n in walk_nodes(method) if isinstance(n, ast.Name) and n.id == parent.targets[0].id
            )
            places = [name for name in names if isinstance(name.ctx, ast.Load)]
        for place in places:
            holder, above = self._find_list(place), self.parents[place]
            if isinstance(above, ast.Assign) and above.value is place and _is_own(above.targets[0]):
                yield isinstance(above.targets[0], ast.Subscript)
            elif holder is not None and _is_own(holder):
                yield True


def _find_names(node: ast.AST) -> set[str]:
    return {part.id for part in walk_nodes(node) if isinstance(part, ast.Name)}


def _is_own(node: ast.expr) -> bool:
    """Return whether an expression is ``self.x`` or an item of it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _waits_after(call: ast.Call, method: ast.AST) -> bool:
    waits = (n for n in walk_nodes(method) if isinstance(n, ast.Attribute) and n.attr == "wait")
    return any(wait.lineno > call.lineno for wait in waits)
