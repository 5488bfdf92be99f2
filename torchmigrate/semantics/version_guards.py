"""Guards: the versions of torch, and the outcomes of other tests, under which a use is reached."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from torchmigrate.model.torch_versions import Version
from torchmigrate.semantics.import_flags import find_guarded_imports
from torchmigrate.semantics.name_resolution import getattr_name, last_name, string_value
from torchmigrate.semantics.predicates import expand_predicate
from torchmigrate.semantics.scopes import Scope, StatementPlace
from torchmigrate.semantics.symbol_uses import SymbolUses
from torchmigrate.semantics.use import Use
from torchmigrate.semantics.version_expressions import (
    find_companion_version,
    is_torch_version,
    names_major_version,
    read_enumerated_version,
    read_named_bound,
    read_release,
    read_version,
)
from torchmigrate.tables import companion_releases

_Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_Leaves = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_DEPTH = 8


@dataclass(slots=True)
class VersionReach:
    """The conditions under which a use is reached: from torch ``low`` to below ``high``, each None where that is open."""

    low: Version | None = None
    high: Version | None = None
    present: set[str] = field(default_factory=set)
    """Qualified names whose presence `hasattr`, or an import, has confirmed."""
    absent: set[str] = field(default_factory=set)
    """Qualified names whose absence such a test has confirmed."""
    caught: set[str] = field(default_factory=set)
    """The names of the exceptions that enclosing ``try`` statements catch."""
    fallback: set[str] = field(default_factory=set)
    """The names of the exceptions whose handlers enclose the use."""
    typing_only: bool = False
    """Whether only type checkers reach the use."""
    unheard: bool = False
    """Whether warnings are suppressed where the use runs."""

    def includes_version(self, version: Version) -> bool:
        """Return whether a use with these conditions is reached under a version of torch."""
        return (self.low is None or self.low <= version) and (self.high is None or version < self.high)

    def _intersect_range(self, low: Version | None, high: Version | None) -> None:
        self.low = low if self.low is None else self.low if low is None else max(low, self.low)
        self.high = high if self.high is None else self.high if high is None else min(high, self.high)


def find_reach(use: Use, uses: SymbolUses) -> VersionReach:
    """Return the conditions under which ``use`` is reached."""
    found = VersionReach()
    guards = _GuardReader(uses, found)
    scope = use.place.scope
    deferred = False
    for parent, child in reversed(list(pairwise((*use.parents, use.node)))):
        guards.apply_expression(parent, child, scope)
        deferred = deferred or isinstance(parent, ast.Lambda)
    for inner, outer in pairwise(use.place.enclosing_places()):
        guards.apply_early_exits(inner)
        guards.apply_statement(inner, outer, deferred=deferred)
        deferred = deferred or isinstance(outer.statement, _Function)
    guards.apply_early_exits(list(use.place.enclosing_places())[-1])
    return found


def reach_of_test(test: ast.expr, truth: bool, scope: Scope, uses: SymbolUses) -> VersionReach:
    """Return the conditions under which a test has an outcome, as far as it tests torch's version."""
    found = VersionReach()
    _GuardReader(uses, found)._apply_test(test, truth, scope)
    return found


def _find_early_exits(block: list[ast.stmt]) -> list[ast.If]:
    """Return the statements of a block that leave it under a condition, and each ``elif`` that follows such a statement."""
    found: list[ast.If] = []
    for statement in block:
        following: list[ast.stmt] = [statement]
        while len(following) == 1 and isinstance(branch := following[0], ast.If):
            if not isinstance(branch.body[-1], _Leaves):
                break
            found.append(branch)
            following = branch.orelse
    return found


class _GuardReader:
    """Collects the conditions around a use in a `VersionReach`."""

    def __init__(self, uses: SymbolUses, found: VersionReach) -> None:
        self._uses = uses
        self._found = found

    def apply_expression(self, parent: ast.AST, child: ast.AST, scope: Scope) -> None:
        """Add the conditions under which ``child`` of ``parent`` is evaluated."""
        if isinstance(parent, ast.IfExp) and child is not parent.test:
            self._apply_test(parent.test, child is parent.body, scope)
        elif isinstance(parent, ast.BoolOp):
            for value in parent.values[: parent.values.index(child)]:  # type: ignore[arg-type]
                self._apply_test(value, isinstance(parent.op, ast.And), scope)

    def apply_early_exits(self, place: StatementPlace) -> None:
        """Add the conditions under which no preceding statement has left the block."""
        leaving = self._uses.compute_once(
            ("leaving", id(place.block)), lambda: _find_early_exits(place.block)
        )
        for statement in leaving:
            if statement.lineno >= place.statement.lineno:
                return
            self._apply_test(statement.test, False, place.scope)

    def apply_statement(self, inner: StatementPlace, outer: StatementPlace, *, deferred: bool) -> None:
        """Add the conditions under which a statement inside another one runs."""
        node = outer.statement
        if isinstance(node, (ast.If, ast.While)):
            self._found.typing_only |= (
                last_name(node.test) == "TYPE_CHECKING" and inner.statement in node.body
            )
            self._apply_test(node.test, inner.statement in node.body, outer.scope)
        elif isinstance(node, (ast.With, ast.AsyncWith)) and not deferred:
            for item in node.items:
                call = item.context_expr
                name = last_name(call.func) if isinstance(call, ast.Call) else None
                self._found.unheard |= name in ("catch_warnings", "warns", "deprecated_call")
                if isinstance(call, ast.Call) and name in ("suppress", "raises", "assertRaises"):
                    self._found.caught.update(last_name(error) or "" for error in call.args)
        elif isinstance(node, ast.Try):
            for handler in node.handlers:
                if (
                    inner.statement in handler.body
                ):  # a function that a handler defines is there only if it ran
                    self._found.fallback.update(_find_caught_exceptions(handler))
            if deferred:
                return
            caught = {name for handler in node.handlers for name in _find_caught_exceptions(handler)}
            if inner.statement in node.body:
                self._found.caught |= caught
            if inner.statement in node.orelse:
                self._found.caught |= caught & {"ImportError", "ModuleNotFoundError"}

    def _apply_test(self, test: ast.expr, truth: bool, scope: Scope, depth: int = _DEPTH) -> None:
        found = self._found
        if depth == 0:
            return
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self._apply_test(test.operand, not truth, scope, depth)
        elif isinstance(test, ast.BoolOp):
            if isinstance(test.op, ast.And) is truth:
                for value in test.values:
                    self._apply_test(value, truth, scope, depth)
        elif isinstance(test, ast.Compare):
            operands = [test.left, *test.comparators]
            if len(test.ops) == 1 or truth:
                for (left, right), op in zip(pairwise(operands), test.ops, strict=True):
                    self._apply_comparison(left, op, right, truth, scope)
        elif isinstance(test, ast.Call) and last_name(test.func) == "hasattr" and len(test.args) == 2:
            name = string_value(test.args[1])
            owner = self._uses.names.resolve_expression(test.args[0], scope)
            full = f"{owner.names[0]}.{name}" if owner is not None else f".{name}"
            (found.present if truth else found.absent).add(full)
        elif isinstance(test, ast.Call) and getattr_name(test) is not None:
            owner = self._uses.names.resolve_expression(test.args[0], scope)
            if owner is not None:
                (found.present if truth else found.absent).add(f"{owner.names[0]}.{getattr_name(test)}")
        else:
            defined = (
                self._uses.data_flow.find_definition(test, scope) if isinstance(test, ast.Name) else None
            )
            if defined is not None:
                self._apply_test(defined, truth, scope, depth - 1)
            elif not self._apply_predicate(test, truth, scope, depth):
                if (named := read_named_bound(test)) is not None:
                    bound, above = named
                    found._intersect_range(*((bound, None) if above is truth else (None, bound)))
                if truth and isinstance(test, ast.Name):
                    found.present.update(find_guarded_imports(test, scope, self._uses))

    def _apply_predicate(self, test: ast.expr, truth: bool, scope: Scope, depth: int) -> bool:
        """Add the conditions of a call of a function of the module; return whether it has any."""
        expanded = expand_predicate(test, scope, self._uses) if isinstance(test, ast.Call) else None
        if expanded is None:
            return False
        before = copy.deepcopy(self._found)
        self._apply_test(expanded[0], truth, expanded[1], depth - 1)
        return self._found != before

    def _apply_comparison(
        self, left: ast.expr, op: ast.cmpop, right: ast.expr, truth: bool, scope: Scope
    ) -> None:
        if isinstance(op, (ast.In, ast.NotIn)):
            self._apply_membership(left, right, isinstance(op, ast.In) is truth, scope)
        if isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            return
        left, right = self._follow_constant(left, scope), self._follow_constant(right, scope)
        if read_version(left) is not None and (
            is_torch_version(right, self._uses, scope)
            or find_companion_version(right, self._uses, scope) is not None
        ):
            left, right, op = right, left, _MIRRORED.get(type(op), type(op))()
        if (package := find_companion_version(left, self._uses, scope)) is not None:
            self._apply_companion(package, op, read_release(left, right), truth)
            return
        bound = read_version(right) or read_enumerated_version(right)
        major = isinstance(right, ast.Constant) and isinstance(right.value, int) and names_major_version(left)
        if major:
            bound = (right.value, 0)  # type: ignore[attr-defined]
        if bound is None or not (major or self._is_compared_version(left, right, scope)):
            return
        after = (bound[0] + 1, 0) if major else (bound[0], bound[1] + 1)
        if isinstance(op, (ast.GtE, ast.Gt)):
            start = after if major and isinstance(op, ast.Gt) else bound
            self._found._intersect_range(*((start, None) if truth else (None, start)))
        elif isinstance(op, (ast.Lt, ast.LtE)):
            end = bound if isinstance(op, ast.Lt) else after
            self._found._intersect_range(*((None, end) if truth else (end, None)))
        elif isinstance(op, ast.Eq if truth else ast.NotEq):
            self._found._intersect_range(bound, after)

    def _is_compared_version(self, left: ast.expr, right: ast.expr, scope: Scope) -> bool:
        """Return whether ``left`` is torch's version; a constant of an enumeration may be what says so."""
        enumerated = read_enumerated_version(right) is not None and last_name(left) == "version"
        return enumerated or is_torch_version(left, self._uses, scope)

    def _apply_companion(self, package: str, op: ast.cmpop, release: Version | None, truth: bool) -> None:
        """Add the condition that the version of torchvision or another companion stands for."""
        if release is None:
            return
        bound, after = (
            companion_releases.find_torch(package, version)
            for version in (release, (release[0], release[1] + 1))
        )
        if isinstance(op, (ast.GtE, ast.Gt)) and bound is not None:
            self._found._intersect_range(*((bound, None) if truth else (None, bound)))
        elif isinstance(op, (ast.Lt, ast.LtE)):
            end = bound if isinstance(op, ast.Lt) else after
            if end is not None:
                self._found._intersect_range(*((None, end) if truth else (end, None)))

    def _follow_constant(self, node: ast.expr, scope: Scope) -> ast.expr:
        """Return the version that a constant names: ``MAX``, ``parse(MAX)``; the node itself if it is no constant."""
        inner = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else node
        value = self._uses.data_flow.find_definition(inner, scope) if isinstance(inner, ast.Name) else None
        return value if value is not None and read_version(value) is not None else node

    def _apply_membership(self, name: ast.expr, owner: ast.expr, truth: bool, scope: Scope) -> None:
        """Add the condition that a module is loaded (``"torch.fft" in sys.modules``) or a name there (``in dir(torch)``)."""
        text = string_value(name)
        names = self._found.present if truth else self._found.absent
        if text is not None and ast.unparse(owner) in ("sys.modules", "modules"):
            names.add(text)
        elif (
            text is not None and isinstance(owner, ast.Call) and last_name(owner.func) == "dir" and owner.args
        ):
            resolved = self._uses.names.resolve_expression(owner.args[0], scope)
            names.update([f"{resolved.names[0]}.{text}"] if resolved is not None else [])


_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
}


def _find_caught_exceptions(handler: ast.ExceptHandler) -> Iterator[str]:
    if handler.type is None:
        yield "BaseException"
    else:
        errors = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        yield from (last_name(error) or "" for error in errors)
