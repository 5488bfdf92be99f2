"""The first layers on the paths of a module's inputs: followed through methods, stacks and modules of the project."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.project.project_definitions import Definition, find_definition
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes

from .attribute_inputs import find_kept_attribute, find_linear_layer
from .layer_stacks import FIRST_LAYERS, find_layer, find_values
from .module_classes import get_method

if TYPE_CHECKING:
    from torchmigrate.project.indexed_file import IndexedFile

    from .result_chain import ResultChain

_NORMALIZER = re.compile(r"normaliz", re.IGNORECASE)
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class FirstLayer:
    """The layer that an input reaches first."""

    path: str
    """What leads to it from the module: ``.encoder.conv[0]``."""
    kind: str
    made: ast.Call | None
    """The call that makes it; None where it is copied from another object."""


def find_first_layer(
    name: str,
    method: ast.FunctionDef,
    definition: ast.ClassDef,
    file: IndexedFile,
    chain: ResultChain,
    depth: int = _DEPTH,
) -> FirstLayer | None:
    """Return the layer to which a method of a class in ``file`` passes its parameter ``name`` first; None where that is unclear."""
    called = _find_called(name, method)
    init = get_method(definition, "__init__")
    if called is None or init is None or not depth:
        return None
    inner = get_method(definition, called.attr)
    if inner is not None:
        parameters = [*inner.args.posonlyargs, *inner.args.args][1:]
        first = parameters[0].arg if parameters else ""
        return find_first_layer(first, inner, definition, file, chain, depth - 1)
    values = [*find_values(f"self.{called.attr}", init)]
    value = values[0] if len(values) == 1 else None
    kept = find_kept_attribute(value, chain) if value is not None else None
    if kept is not None and (index := find_linear_layer(kept.attr, chain.ctx)):
        return FirstLayer(f".{called.attr}{index}", "Linear", None)
    found = find_layer(value, init, file, chain.ctx)
    if found is None:
        return None
    made, index = found
    kind = last_name(made.func) or ""
    if kind in FIRST_LAYERS:
        return FirstLayer(f".{called.attr}{index}", kind, made)
    part, where = (not index and find_definition(made.func, file, chain.ctx.project)) or (None, file)
    forward = get_method(part, "forward") if isinstance(part, ast.ClassDef) else None
    if forward is None or not isinstance(part, ast.ClassDef) or len(forward.args.args) < 2:
        return None
    layer = find_first_layer(forward.args.args[1].arg, forward, part, where, chain, depth - 1)
    # What the module of a part is made with is a parameter there, and not a number of this class.
    return FirstLayer(f".{called.attr}{layer.path}", layer.kind, None) if layer is not None else None


def _find_called(name: str, method: ast.FunctionDef) -> ast.Attribute | None:
    """Return ``self.layer`` where the first use of a parameter is to pass it to that layer or method alone."""
    reads = [node for node in walk_nodes(method) if isinstance(node, ast.Name) and node.id == name]
    reads = [node for node in reads if isinstance(node.ctx, ast.Load)]
    calls = [node for node in walk_nodes(method) if isinstance(node, ast.Call) and node.args]
    value: ast.expr | None = min(reads, key=lambda node: (node.lineno, node.col_offset), default=None)
    passed = {call.args[0]: call for call in calls if len(call.args) == 1 and not call.keywords}
    while value in passed:
        value = passed[value]
        called = value.func
        if not isinstance(called, ast.Attribute) or ast.unparse(called.value) != "self":
            return None
        if not _NORMALIZER.search(called.attr):  # which keeps the sizes
            return called
    return None


def collect_names(definition: Definition, file: IndexedFile, chain: ResultChain) -> set[str]:
    """Return the names of all that a class, and the classes and functions of the project that it calls, use."""
    found, names = {definition}, set[str]()
    left = [(definition, file)]
    while left:
        one, where = left.pop()
        for node in walk_nodes(one):
            if isinstance(node, (ast.Attribute, ast.Name)):
                names.add(last_name(node) or "")
        for other, there in _iter_called(one, where, chain):
            if other not in found:
                found.add(other)
                left.append((other, there))
    return names


def _iter_called(
    definition: Definition, file: IndexedFile, chain: ResultChain
) -> Iterator[tuple[Definition, IndexedFile]]:
    for node in walk_nodes(definition):
        called = find_definition(node.func, file, chain.ctx.project) if isinstance(node, ast.Call) else None
        if called is not None:
            yield called
