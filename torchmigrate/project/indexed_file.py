"""The definitions and calls of one file of a project, by name."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function, map_parents, walk_nodes

if TYPE_CHECKING:
    from torchmigrate.project.project_facts import Project

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_HANDING = (ast.Call, ast.keyword, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Return, ast.Assign, ast.IfExp)
"""What may hand on a value that is one of its parts."""


@dataclass(slots=True, eq=False)
class IndexedFile:
    """The definitions and calls of one file, by name."""

    path: str
    tree: ast.Module
    parents: dict[ast.AST, ast.AST]
    variables: dict[str, list[ast.AST]] = field(default_factory=dict)
    """The functions and classes, and the values of the module's variables, by bare names."""
    attributes: dict[str, list[ast.AST]] = field(default_factory=dict)
    """The methods, and the values that are assigned to attributes of any object."""
    calls: dict[str, list[ast.Call]] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    """The names that imports bind, with the last part of what is imported."""
    handed_on: set[str] = field(default_factory=set)
    """Names that are read as values, not to call them."""
    locals: dict[Function, set[str]] = field(default_factory=dict)
    """The variables of each function that was asked for."""
    named: dict[str, list[ast.Name | ast.Attribute | ast.alias]] = field(default_factory=dict)
    """The names, attributes and imports by their last parts, in the order of the text; empty until they are asked for."""

    def knows(self, name: str) -> bool:
        """Return whether a bare name stands for a function, a class or an import of this file."""
        found = self.variables.get(name, ())
        return name in self.imports or any(isinstance(one, DEFINITIONS) for one in found)

    def is_local(self, name: ast.Name) -> bool:
        """Return whether a name is a variable of a function around it."""
        function = self.find_function(name)
        while function is not None:
            if function not in self.locals:
                self.locals[function] = set(_iter_variables(function))
            if name.id in self.locals[function]:
                return True
            function = self.find_function(function)
        return False

    def find_named(self, name: str) -> list[ast.Name | ast.Attribute | ast.alias]:
        """Return the names and attributes whose last part is ``name``, and the imports of that name."""
        if not self.named:
            for node in self.parents:
                if isinstance(node, (ast.Name, ast.Attribute, ast.alias)):
                    last = node.name if isinstance(node, ast.alias) else last_name(node) or ""
                    self.named.setdefault(last, []).append(node)
        return self.named.get(name, [])

    def find_function(self, node: ast.AST) -> Function | None:
        """Return the innermost function around a node."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, Function):
            above = self.parents.get(above)
        return above


def index_file(project: Project, path: str) -> IndexedFile | None:
    """Return the definitions and calls of a file; None if it cannot be parsed."""
    return project.compute_once((index_file, path), lambda: _index_file(project, path))


def _index_file(project: Project, path: str) -> IndexedFile | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(project.read_code(path) or b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    file, read = IndexedFile(path, tree, map_parents(tree)), list[ast.expr]()
    for node, parent in file.parents.items():
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found = file.attributes if isinstance(parent, ast.ClassDef) else file.variables
                found.setdefault(node.name, []).append(node)
            case ast.Assign(value=value):
                for target in node.targets:
                    _index_target(target, value, parent, file)
            case ast.AnnAssign(value=ast.expr() as value):
                _index_target(node.target, value, parent, file)
            case ast.alias():
                last = node.name.rpartition(".")[2]
                file.imports[node.asname or node.name.partition(".")[0]] = last
            case ast.Call():
                file.calls.setdefault(last_name(node.func) or "", []).append(node)
            case ast.Name() | ast.Attribute() if isinstance(parent, _HANDING):
                is_called = isinstance(parent, ast.Call) and parent.func is node
                if not is_called and isinstance(node.ctx, ast.Load):
                    read.append(node)
    file.handed_on |= {node.id for node in read if isinstance(node, ast.Name) and file.knows(node.id)}
    file.handed_on |= {node.attr for node in read if isinstance(node, ast.Attribute)}
    return file


def _index_target(target: ast.expr, value: ast.expr, parent: ast.AST, file: IndexedFile) -> None:
    """Record what is assigned to an attribute, or to a variable of a module or class."""
    if isinstance(target, ast.Attribute) or isinstance(parent, ast.ClassDef):
        file.attributes.setdefault(last_name(target) or "", []).append(value)
    elif isinstance(target, ast.Name) and file.find_function(value) is None:
        file.variables.setdefault(target.id, []).append(value)


def _iter_variables(function: Function) -> Iterator[str]:
    """Yield the names that a function binds itself, as parameters or by assignments."""
    for node in walk_nodes(function):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def find_assigned_values(name: str, root: ast.AST) -> Iterator[ast.expr]:
    """Find the values that code assigns to a variable."""
    for node in walk_nodes(root):
        if isinstance(node, ast.Assign) and node.value is not None:
            targets, value = node.targets, node.value
            if any(
                isinstance(part, ast.Name) and part.id == name
                for target in targets
                for part in walk_nodes(target)
            ):
                yield value


def find_root_name(node: ast.expr) -> str:
    """Return the variable at the beginning of an attribute, ``a`` in ``a.b.c``; empty where there is none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
