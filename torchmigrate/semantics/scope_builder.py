"""Builds the scopes of a file: what every statement binds, from one walk over them.

Expressions are not walked (that would cost more than parsing): a name can be bound inside an expression only by
``:=``, and only files that contain one are searched for it.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property

from torchmigrate.semantics.scopes import Binding, BindingKind, Scope, StatementPlace

_IMPORT_ERRORS = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
)
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


class ModuleScopes:
    """All scopes of one module, and all its statements in order.

    ``walrus`` are the lines with a ``:=``, in order.
    """

    def __init__(self, tree: ast.Module, walrus: Sequence[int] = ()) -> None:
        self.module = Scope(tree, None)
        self.all: list[Scope] = [self.module]
        self.places: list[StatementPlace] = []
        self._walrus = walrus
        self._tries = 0
        self._alternative: tuple[int, bool] = (0, False)
        self._typing_only = False
        self._read_body(tree.body, self.module, None)

    @cached_property
    def by_node(self) -> dict[ast.AST, Scope]:
        """The scopes, by the module, class or function that each belongs to."""
        return {scope.node: scope for scope in self.all}

    def release_memory(self) -> None:
        """Break the reference cycles between scopes and bindings, so that the tree is freed at once."""
        for scope in self.all:
            scope.bindings.clear()
            scope.stars.clear()
            scope.outer.clear()

    def _add_binding(self, scope: Scope, name: str, binding: Binding) -> None:
        binding.alternative, binding.fallback = self._alternative
        binding.typing_only = self._typing_only
        scope = scope.outer.get(name, scope)
        scope.bindings.setdefault(name, []).append(binding)

    def _bind_unknown(self, scope: Scope, name: str, node: ast.AST) -> None:
        self._add_binding(scope, name, Binding(BindingKind.OTHER, node, scope))

    def _bind_target(self, scope: Scope, target: ast.AST, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            if value is not None:
                self._add_binding(scope, target.id, Binding(BindingKind.VALUE, target, scope, value=value))
            else:
                self._bind_unknown(scope, target.id, target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values: list[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                starred = any(isinstance(part, ast.Starred) for part in (*value.elts, *target.elts))
                values = values if starred else list(value.elts)
            for element, part in zip(target.elts, values, strict=True):
                self._bind_target(scope, element, part)
        elif isinstance(target, ast.Starred):
            self._bind_target(scope, target.value, None)

    def _bind_in_expressions(self, scope: Scope, statement: ast.stmt) -> None:
        index = bisect_left(self._walrus, statement.lineno)
        if index == len(self._walrus) or self._walrus[index] > (statement.end_lineno or statement.lineno):
            return
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.expr):
                for node in ast.walk(child):
                    if isinstance(node, ast.NamedExpr):
                        self._bind_target(scope, node.target, None)

    def _read_body(self, body: list[ast.stmt], scope: Scope, parent: StatementPlace | None) -> None:
        for statement in body:
            place = StatementPlace(statement, scope, parent, body)
            self.places.append(place)
            if self._walrus:
                self._bind_in_expressions(scope, statement)
            handler = _HANDLERS.get(type(statement))
            if handler is not None:
                handler(self, statement, scope, place)
            place.end = len(self.places)

    def _import(self, statement: ast.Import, scope: Scope, _place: StatementPlace) -> None:
        for alias in statement.names:
            name = alias.asname or alias.name.partition(".")[0]
            module = alias.name if alias.asname else name
            self._add_binding(scope, name, Binding(BindingKind.IMPORT, alias, scope, module=module))

    def _import_from(self, statement: ast.ImportFrom, scope: Scope, _place: StatementPlace) -> None:
        module = "." * statement.level + (statement.module or "")
        for alias in statement.names:
            binding = Binding(BindingKind.FROM, alias, scope, module=module, name=alias.name)
            if alias.name == "*":
                binding.alternative, binding.fallback = self._alternative
                scope.stars.append(binding)
            else:
                self._add_binding(scope, alias.asname or alias.name, binding)

    def _assign(self, statement: ast.Assign, scope: Scope, _place: StatementPlace) -> None:
        for target in statement.targets:
            self._bind_target(scope, target, statement.value)

    def _ann_assign(self, statement: ast.AnnAssign, scope: Scope, _place: StatementPlace) -> None:
        if statement.value is not None:
            self._bind_target(scope, statement.target, statement.value)

    def _bind_unresolved(
        self, statement: ast.AugAssign | ast.For | ast.AsyncFor, scope: Scope, place: StatementPlace
    ) -> None:
        self._bind_target(scope, statement.target, None)
        if not isinstance(statement, ast.AugAssign):
            self._read_blocks(statement, scope, place)

    def _with(self, statement: ast.With | ast.AsyncWith, scope: Scope, place: StatementPlace) -> None:
        for item in statement.items:
            if item.optional_vars is not None:
                self._bind_target(scope, item.optional_vars, None)
        self._read_blocks(statement, scope, place)

    def _read_definition(
        self,
        statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
        scope: Scope,
        place: StatementPlace,
    ) -> None:
        self._bind_unknown(scope, statement.name, statement)
        inner = Scope(statement, scope)
        self.all.append(inner)
        alternative, self._alternative = self._alternative, (0, False)
        if isinstance(statement, _Function):
            arguments = statement.args
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                self._bind_unknown(inner, argument.arg, argument)
            for star in (arguments.vararg, arguments.kwarg):
                if star is not None:
                    self._bind_unknown(inner, star.arg, star)
        for parameter in getattr(statement, "type_params", ()):
            self._bind_unknown(inner, parameter.name, parameter)
        self._read_body(statement.body, inner, place)
        self._alternative = alternative

    def _global(self, statement: ast.Global, scope: Scope, _place: StatementPlace) -> None:
        for name in statement.names:
            scope.outer[name] = self.module

    def _nonlocal(self, statement: ast.Nonlocal, scope: Scope, _place: StatementPlace) -> None:
        for name in statement.names:
            owner = scope.parent.find_scope(name) if scope.parent else None
            if owner is not None:
                scope.outer[name] = owner

    def _read_blocks(self, statement: ast.stmt, scope: Scope, place: StatementPlace) -> None:
        for block in ("body", "orelse", "finalbody"):
            self._read_body(getattr(statement, block, []), scope, place)

    def _if(self, statement: ast.If, scope: Scope, place: StatementPlace) -> None:
        outer = self._typing_only
        test = getattr(statement.test, "attr", getattr(statement.test, "id", ""))
        self._typing_only = outer or test == "TYPE_CHECKING"
        self._read_body(statement.body, scope, place)
        self._typing_only = outer
        self._read_body(statement.orelse, scope, place)

    def _try(self, statement: ast.Try, scope: Scope, place: StatementPlace) -> None:
        outer = self._alternative
        catches = any(_catches_import_error(handler) for handler in statement.handlers)
        if catches:
            self._tries += 1
            number = self._tries
            self._alternative = (number, outer[1])
        self._read_body(statement.body, scope, place)
        self._read_body(statement.orelse, scope, place)
        for handler in statement.handlers:
            if catches and _catches_import_error(handler):
                self._alternative = (number, True)
            if handler.name:
                self._bind_unknown(scope, handler.name, handler)
            self._read_body(handler.body, scope, place)
        self._alternative = outer
        self._read_body(statement.finalbody, scope, place)

    def _match(self, statement: ast.Match, scope: Scope, place: StatementPlace) -> None:
        for case in statement.cases:
            for node in ast.walk(case.pattern):
                for name in (getattr(node, "name", None), getattr(node, "rest", None)):
                    if isinstance(name, str):
                        self._bind_unknown(scope, name, node)
            self._read_body(case.body, scope, place)

    def _type_alias(self, statement: ast.stmt, scope: Scope, _place: StatementPlace) -> None:
        self._bind_target(scope, statement.name, None)  # type: ignore[attr-defined]


_HANDLERS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Import: ModuleScopes._import,
    ast.ImportFrom: ModuleScopes._import_from,
    ast.Assign: ModuleScopes._assign,
    ast.AnnAssign: ModuleScopes._ann_assign,
    ast.AugAssign: ModuleScopes._bind_unresolved,
    ast.For: ModuleScopes._bind_unresolved,
    ast.AsyncFor: ModuleScopes._bind_unresolved,
    ast.While: ModuleScopes._read_blocks,
    ast.If: ModuleScopes._if,
    ast.With: ModuleScopes._with,
    ast.AsyncWith: ModuleScopes._with,
    ast.FunctionDef: ModuleScopes._read_definition,
    ast.AsyncFunctionDef: ModuleScopes._read_definition,
    ast.ClassDef: ModuleScopes._read_definition,
    ast.Global: ModuleScopes._global,
    ast.Nonlocal: ModuleScopes._nonlocal,
    ast.Try: ModuleScopes._try,
    ast.Match: ModuleScopes._match,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = ModuleScopes._try
if hasattr(ast, "TypeAlias"):
    _HANDLERS[ast.TypeAlias] = ModuleScopes._type_alias


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        (isinstance(error, ast.Name) and error.id in _IMPORT_ERRORS)
        or (isinstance(error, ast.Attribute) and error.attr in _IMPORT_ERRORS)
        for error in caught
    )
