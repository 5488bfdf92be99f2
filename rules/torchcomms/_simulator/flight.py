"""Single operations that the form of the code alone shows to be in flight together, with several peers.

For code that cannot be run: one side of a scatter, or the methods of a class that keep their requests for later.
"""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from torchmigrate.semantics.nodes import walk

from .._groups.groups import argument
from .program import Program
from .syntax import Syntax
from .values import is_cpu

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSION = (ast.ListComp, ast.GeneratorExp, ast.DictComp)
_ON_CPU = re.compile(r"\.cpu\(\)|\bfrombuffer\(|\bfrom_numpy\(|device=(?:torch\.device\()?['\"]cpu\b")


class _Kept(NamedTuple):
    """An operation whose request a method leaves in its object."""

    call: ast.Call
    peer: str
    is_repeated: bool
    """Whether a list takes the requests of several calls, for whatever peers these name."""


def together(program: Program, syntax: Syntax) -> Iterator[frozenset[ast.Call]]:
    """The operations that are in flight together, as sets."""
    parents = program.flow.parents
    by_class: dict[ast.ClassDef, list[_Kept]] = {}
    for call in parents:
        if not isinstance(call, ast.Call) or syntax.name(call) not in ("isend", "irecv"):
            continue
        peer, group = _peer(call), argument(call, 2, "group")
        if peer is None or (group is not None and is_cpu(syntax.text(group))) or _is_on_cpu(call, parents):
            continue
        if _is_of_each(call, peer, parents, syntax):
            yield frozenset([call])
            continue
        method = _around(call, parents, *_FUNCTION)
        owner = parents.get(method) if method is not None else None
        if isinstance(owner, ast.ClassDef) and isinstance(method, _FUNCTION):
            requests = _requests(call, method, owner, parents)
            keeping = max((_keeping(request, parents) for request in requests), default=_Keeping.NOT)
            if keeping:
                given = {parameter.arg for parameter in (*method.args.args, *method.args.kwonlyargs)}
                is_repeated = keeping is _Keeping.IN_LIST and not given.isdisjoint(_names(peer))
                by_class.setdefault(owner, []).append(_Kept(call, syntax.text(peer), is_repeated))
    for kept in by_class.values():
        if len({one.peer for one in kept}) > 1 or any(one.is_repeated for one in kept):
            yield frozenset(one.call for one in kept)


def _peer(call: ast.Call) -> ast.expr | None:
    keywords = ("dst", "group_dst", "src", "group_src")
    named = (argument(call, 1, keyword) for keyword in keywords)
    return next((peer for peer in named if peer is not None), None)


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}


def _around(node: ast.AST, parents: Mapping[ast.AST, ast.AST], *kinds: type[ast.AST]) -> ast.AST | None:
    """The innermost node of these kinds around another."""
    parent = parents.get(node)
    while parent is not None and not isinstance(parent, kinds):
        parent = parents.get(parent)
    return parent


def _is_on_cpu(call: ast.Call, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether the tensor is made in the CPU's memory, where it is named or in the same function."""
    tensor = argument(call, 0, "tensor")
    if tensor is None:
        return False
    function = _around(call, parents, *_FUNCTION, ast.Module)
    sources = [tensor] if function is None else [tensor, *_assigned(tensor, function)]
    return any(_ON_CPU.search(ast.unparse(source)) for source in sources)


def _assigned(node: ast.expr, function: ast.AST) -> Iterator[ast.expr]:
    for part in walk(function) if isinstance(node, ast.Name) else ():
        if isinstance(part, ast.Assign) and any(
            isinstance(target, ast.Name) and isinstance(node, ast.Name) and target.id == node.id
            for target in part.targets
        ):
            yield part.value


def _is_of_each(call: ast.Call, peer: ast.expr, parents: Mapping[ast.AST, ast.AST], syntax: Syntax) -> bool:
    """Whether a loop, or a comprehension, collects the requests of operations with each of several peers."""
    names = _names(peer)
    parent = parents[call]
    made = parent.value if isinstance(parent, ast.DictComp) else getattr(parent, "elt", None)
    if isinstance(parent, _COMPREHENSION) and made is call:
        return any(names & _names(generator.target) for generator in parent.generators)
    loop = _around(call, parents, ast.For, *_FUNCTION)
    if not isinstance(loop, ast.For) or "wait" in syntax.called(loop):
        return False
    listed = _listed(call, parents)
    if listed is None or not names & (_names(loop.target) | syntax.assigned(loop)):
        return False
    holder = next(iter(_names(listed)), "")
    return holder not in syntax.assigned(loop)


def _listed(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> ast.expr | None:
    """The list that a request is added to at once, alone or with its tensor."""
    parent = parents[node]
    if isinstance(parent, (ast.Tuple, ast.List)):
        node, parent = parent, parents[parent]
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and node in parent.args:
        return parent.func.value if parent.func.attr in ("append", "extend", "appendleft") else None
    return parent.target if isinstance(parent, ast.AugAssign) and parent.value is node else None


class _Keeping(enum.IntEnum):
    """What a method does with a request."""

    NOT = 0
    ALONE = 1
    """Leaves it in an attribute of the object."""
    IN_LIST = 2
    """Adds it to a list there."""


def _requests(
    call: ast.Call, method: ast.AST, owner: ast.ClassDef, parents: Mapping[ast.AST, ast.AST]
) -> Iterator[ast.Call]:
    """The call of an operation, or the calls of the method that does no more than return its request."""
    if not isinstance(parents[call], ast.Return) or not isinstance(method, _FUNCTION):
        yield call
        return
    for node in walk(owner):
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(function, ast.Attribute) and function.attr == method.name and _is_own(function):
            assert isinstance(node, ast.Call)
            yield node


def _keeping(call: ast.Call, parents: Mapping[ast.AST, ast.AST]) -> _Keeping:
    """Whether the method around leaves the request in its object, and does not wait for it itself."""
    method = _around(call, parents, *_FUNCTION)
    if method is None or _waits_after(call, method):
        return _Keeping.NOT
    places: list[ast.AST] = [call]
    parent = parents[call]
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        names = (node for node in walk(method) if isinstance(node, ast.Name) and node.id == name)
        places = [node for node in names if isinstance(node.ctx, ast.Load)]
    found = _Keeping.NOT
    for place in places:
        into = _listed(place, parents)
        above = parents[place]
        if isinstance(above, ast.Assign) and above.value is place and _is_own(above.targets[0]):
            listed = isinstance(above.targets[0], ast.Subscript)
            found = max(found, _Keeping.IN_LIST if listed else _Keeping.ALONE)
        elif into is not None and _is_own(into):
            found = _Keeping.IN_LIST
    return found


def _is_own(node: ast.expr) -> bool:
    """``self.x``, ``self.x[…]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _waits_after(call: ast.Call, method: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == "wait" and node.lineno > call.lineno
        for node in walk(method)
    )
