"""Scopes, bindings and the places of statements, as `torchmigrate.semantics.statements` builds them."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import dataclass, field


class BindingKind(enum.Enum):
    """How a name gets its value."""

    IMPORT = enum.auto()
    """``import a.b`` binds ``a`` (target ``a``); ``import a.b as c`` binds ``c`` (target ``a.b``)."""
    FROM = enum.auto()
    """``from a import b`` (target ``a.b``)."""
    VALUE = enum.auto()
    """An assignment of one expression to one name."""
    OTHER = enum.auto()
    """Anything else: parameters, definitions, loops, unpacking, …"""


@dataclass(slots=True, eq=False)
class Binding:
    """One place that binds one name."""

    kind: BindingKind
    node: ast.AST
    scope: Scope
    """The scope in which the value is evaluated; for ``global x`` not the scope in which `x` is bound."""
    module: str = ""
    """The module named by an import, as written: ``a.b``; relative ones start with their dots."""
    name: str = ""
    """The name taken from that module by ``from … import``."""
    value: ast.expr | None = None
    alternative: int = 0
    """Non-zero inside a ``try`` with an ``except ImportError`` (or bare) handler: the number of that ``try``."""
    fallback: bool = False
    """Whether the binding is in such a handler, and so takes effect only where the import failed."""
    typing_only: bool = False
    """Whether the binding is under ``if TYPE_CHECKING:``, and so never runs."""

    def target(self, name: str) -> str:
        """Return the qualified name of ``name`` in the imported module: ``a.name``, ``.a.name``, ``.name``."""
        return self.module + ("" if self.module.endswith(".") else ".") + name


@dataclass(slots=True, eq=False)
class Scope:
    """A module, a class body, or a function body (a lambda or comprehension has none of its own here)."""

    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[Binding] = field(default_factory=list)
    outer: dict[str, Scope] = field(default_factory=dict)
    """Names declared ``global`` or ``nonlocal``, with the scope that they belong to."""

    @property
    def is_class(self) -> bool:
        """Whether this is a class body, whose names are invisible to the functions inside."""
        return isinstance(self.node, ast.ClassDef)

    def find_bindings(self, name: str) -> list[Binding]:
        """Return all bindings of ``name`` as it is read here; none for a builtin or an unbound name."""
        owner = self.find(name)
        return owner.bindings[name] if owner is not None else []

    def find(self, name: str) -> Scope | None:
        """Return the scope in which ``name``, read here, is looked up; None for a builtin or an unbound name."""
        if name in self.outer:
            scope: Scope | None = self.outer[name]
            return scope if scope and name in scope.bindings else None
        if name in self.bindings:
            return self
        scope = self.parent
        while scope is not None:
            if name in scope.bindings and not scope.is_class:
                return scope
            scope = scope.parent
        return None


@dataclass(slots=True, eq=False)
class Place:
    """A statement, the scope in which its own expressions are evaluated, and the enclosing statements."""

    statement: ast.stmt
    scope: Scope
    parent: Place | None
    block: list[ast.stmt]
    """The statements of the block that contains this one."""
    end: int = 0
    """The index, among all places of the module, after the last one inside this statement."""

    def ancestors(self) -> Iterator[ast.stmt]:
        """Yield the enclosing statements, innermost first, definitions included."""
        return (place.statement for place in self.outwards() if place is not self)

    def outwards(self) -> Iterator[Place]:
        """Yield this place and the enclosing ones, innermost first."""
        place: Place | None = self
        while place is not None:
            yield place
            place = place.parent

    def before(self) -> list[ast.stmt]:
        """Return the statements that precede this one in its block."""
        return self.block[: self.block.index(self.statement)]
