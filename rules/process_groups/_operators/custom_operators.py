"""The custom operators that a file defines in Python, with everything that the file registers for them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from torchmigrate.api import Context, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name, string_value
from torchmigrate.semantics.scopes import Scope, StatementPlace

from .function_parts import Function, list_parameters, walk_expressions

_LIBRARY = "torch.library.Library()"
_CUSTOM_OP = ("torch.library.custom_op", "torch.library.triton_op", "torch._library.custom_ops.custom_op")
_DEFINE = ("torch.library.define", f"{_LIBRARY}.define")

# By registration: the position of the argument that is the registered function.
_REGISTER = {
    "torch.library.register_fake": 1,
    "torch.library.impl_abstract": 1,
    "torch.library.register_kernel": 2,
    "torch.library.impl": 2,
    f"{_LIBRARY}.impl": 1,
    f"{_LIBRARY}._register_fake": 1,
}
_METHODS = {"register_fake": 0, "register_kernel": 1}
_AUTOGRAD = "torch.library.register_autograd"

_DEFINES = re.compile(rb"custom_op|triton_op|\bdefine\b")
_OPERATOR = re.compile(r"torch\.ops\.(\w+)\.(\w+)(?:\.\w+)?\Z")


@dataclass(eq=False)
class CustomOperator:
    """One operator and its parts, all in one file."""

    name: str
    """``namespace::operator``."""
    call: ast.Call
    """The call (maybe a decorator) that defines the operator's name or schema."""
    place: StatementPlace
    """The place of that call."""
    body: Function | None = None
    """The function from which the schema is inferred; None where the schema is written out."""
    schema: ast.Constant | None = None
    functions: list[Function] = field(default_factory=list)
    """The functions with the operator's parameters: its body, its kernels, its fake functions."""
    setups: list[Function] = field(default_factory=list)
    """The functions with the parameters ``(ctx, inputs, output)``."""
    backwards: list[Function] = field(default_factory=list)
    """The functions with the parameters ``(ctx, *gradients)``."""
    calls: list[tuple[ast.Call, Scope]] = field(default_factory=list)
    unfollowed: list[ast.AST] = field(default_factory=list)
    """Other places that name the operator."""

    @property
    def all_functions(self) -> list[Function]:
        """All functions that are registered for the operator."""
        return [*self.functions, *self.setups, *self.backwards]

    @property
    def parameters(self) -> list[str]:
        """The names of the operator's parameters, keyword-only ones last."""
        if self.body is not None:
            return [parameter.arg for parameter in list_parameters(self.body)]
        declared = self.schema.value if self.schema is not None else ""
        inside = str(declared).partition("(")[2].rpartition("->")[0].rpartition(")")[0]
        names = [part.split("=")[0].split()[-1] for part in inside.split(",") if part.strip()]
        return [name for name in names if name != "*"]

    def takes_string(self, index: int) -> bool:
        """Return whether a parameter is a string, by the schema if it is written out, else by the annotation."""
        if self.schema is not None:
            return f"str {self.parameters[index]}" in str(self.schema.value)
        return self.body is not None and is_string_parameter(list_parameters(self.body)[index])


def is_string_parameter(parameter: ast.arg) -> bool:
    """Return whether a parameter is annotated as a string, or as one of torch.distributed's types of names."""
    annotation = parameter.annotation
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value == "str" or annotation.value.endswith("GroupName")
    return annotation is not None and last_name(annotation) in ("str", "GroupName")


def collect_operators(ctx: Context) -> dict[str, CustomOperator]:
    """Return the operators that the file defines, by name."""
    if not _DEFINES.search(ctx.source.text):
        return {}
    return ctx.uses.compute_once(_OperatorCollector, lambda: _OperatorCollector(ctx).found)


def is_in_operator(use: Use, ctx: Context) -> bool:
    """Return whether a use is in a function of an operator, which has a rule of its own."""
    inside = set(use.place.enclosing_statements()) | set(use.parents)
    return any(
        part in inside for operator in collect_operators(ctx).values() for part in operator.all_functions
    )


class _OperatorCollector:
    """The search for the operators of one file, and for everything that is registered for each."""

    def __init__(self, ctx: Context) -> None:
        self._resolve = ctx.uses.names.resolve_expression
        self.found: dict[str, CustomOperator] = {}
        self._bodies: dict[ast.AST, CustomOperator] = {}
        """The operators, by the function or call to which their name in the file is bound."""
        self._seen: set[ast.AST] = set()
        """The nodes that name an operator and are already handled."""
        nodes = [
            (node, place) for place in ctx.uses.scopes.places for node in walk_expressions(place.statement)
        ]
        for node, place in nodes:
            if isinstance(node, ast.Call):
                self._collect_definition(node, place)
        if self.found:
            # A registration may stand before another use in any order, so the rest is noted at the end.
            for node, place in nodes:
                self._collect_reference(node, place)
            for node, place in nodes:
                self._note_unfollowed(node, place.scope)

    def _collect_definition(self, call: ast.Call, place: StatementPlace) -> None:
        callee = self._resolve_callee(call, place.scope)
        if callee in _CUSTOM_OP and call.args:
            name = string_value(call.args[0])
            body = self._find_registered(call, 1, place)
            if name is None or body is None:
                return
            schema = next((k.value for k in call.keywords if k.arg == "schema"), None)
            operator = CustomOperator(name, call, place, body, functions=[body])
            if isinstance(schema, ast.Constant) and isinstance(schema.value, str):
                operator.schema = schema
            elif schema is not None:
                operator.unfollowed.append(schema)
            self._bodies[body if body is place.statement else call] = operator
        elif callee in _DEFINE:
            library = call.func.value if isinstance(call.func, ast.Attribute) else None
            of_library = callee != _DEFINE[0]
            schema = find_argument(call, 0 if of_library else 1, "schema")
            if not isinstance(schema, ast.Constant) or not isinstance(schema.value, str):
                return
            name = string_value(call.args[0])
            if of_library:
                name = (
                    f"{self._find_namespace(library, place.scope)}::{schema.value.partition('(')[0].strip()}"
                )
            if name is None:
                return
            operator = CustomOperator(name, call, place, schema=schema)
        else:
            return
        self._seen.update(call.args[:1])
        if operator.name in self.found:
            operator.unfollowed.append(call)
        self.found[operator.name] = operator

    def _find_namespace(self, library: ast.AST | None, scope: Scope) -> str | None:
        """Return the namespace of a library: ``lib.define``, ``torch.library.impl(lib, …)``."""
        if isinstance(library, ast.Name):
            bindings = scope.find_bindings(library.id)
            library = bindings[0].value if len(bindings) == 1 else None
        return string_value(library.args[0]) if isinstance(library, ast.Call) and library.args else None

    def _resolve_callee(self, call: ast.Call, scope: Scope) -> str | None:
        resolved = self._resolve(call.func, scope)
        return resolved.names[0] if resolved is not None and resolved.certain else None

    def _find_registered(self, call: ast.Call, position: int, place: StatementPlace) -> Function | None:
        """Return the function that a call registers: the one that it decorates, or an argument."""
        if isinstance(place.statement, ast.FunctionDef) and call in place.statement.decorator_list:
            return place.statement
        given = find_argument(call, position, "func", "fn")
        function = self._find_function(given, place.scope)
        self._seen.update([given] if function is not None and given is not None else ())
        return function

    def _find_function(self, node: ast.expr | None, scope: Scope) -> Function | None:
        if isinstance(node, ast.Lambda):
            return node
        bindings = scope.find_bindings(node.id) if isinstance(node, ast.Name) else []
        found = bindings[0].node if len(bindings) == 1 else None
        return found if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)) else None

    def find_operator(self, node: ast.AST | None, scope: Scope) -> CustomOperator | None:
        """Return the operator that an expression names."""
        if isinstance(node, ast.Name):
            bindings = scope.find_bindings(node.id)
            if len(bindings) == 1:
                return self._bodies.get(bindings[0].value or bindings[0].node)
        if isinstance(node, ast.Attribute):
            resolved = self._resolve(node, scope)
            match = _OPERATOR.match(resolved.names[0]) if resolved is not None else None
            return self.found.get(f"{match[1]}::{match[2]}") if match else None
        return self.found.get(string_value(node) or "") if node is not None else None

    def _collect_reference(self, node: ast.AST, place: StatementPlace) -> None:
        scope = place.scope
        if isinstance(node, ast.Attribute) and node in getattr(place.statement, "decorator_list", ()):
            operator = self.find_operator(node.value, scope)
            if operator is not None and node.attr == "register_fake":
                self._seen.update((node, node.value))
                operator.functions.append(place.statement)  # type: ignore[arg-type]
        if not isinstance(node, ast.Call):
            return
        operator = self.find_operator(node.func, scope)
        if operator is not None:
            self._seen.update(ast.walk(node.func))
            operator.calls.append((node, scope))
            return
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        operator = (
            self.find_operator(node.func.value, scope) if isinstance(node.func, ast.Attribute) else None
        )
        callee = self._resolve_callee(node, scope)
        if operator is not None and method in _METHODS:
            self._register_function(operator, node, _METHODS[method], place)
        elif operator is not None and method == "register_autograd":
            self._register_autograd(operator, node, 0, scope)
        elif callee == _AUTOGRAD and node.args:
            operator = self.find_operator(node.args[0], scope)
            if operator is not None:
                self._register_autograd(operator, node, 1, scope)
        elif callee in _REGISTER and node.args:
            self._register_by_name(node, callee, place)

    def _register_by_name(self, call: ast.Call, callee: str, place: StatementPlace) -> None:
        position = _REGISTER[callee]
        name = string_value(call.args[0])
        library = call.func.value if isinstance(call.func, ast.Attribute) else None
        namespace = self._find_namespace(library, place.scope) if callee.startswith(_LIBRARY) else None
        if callee == "torch.library.impl" and name is None and len(call.args) > 1:
            namespace, name = self._find_namespace(call.args[0], place.scope), string_value(call.args[1])
            self._seen.add(call.args[1])
        named = f"{namespace}::{name}" if namespace is not None and "::" not in (name or "") else name
        operator = self.found.get(named or "") or self.find_operator(call.args[0], place.scope)
        if operator is not None:
            self._register_function(operator, call, position, place)

    def _register_function(
        self, operator: CustomOperator, call: ast.Call, position: int, place: StatementPlace
    ) -> None:
        function = self._find_registered(call, position, place)
        if function is None:
            operator.unfollowed.append(call)
        elif function not in operator.functions:
            operator.functions.append(function)
        self._seen.update((*ast.walk(call.func), *call.args[:1]))

    def _register_autograd(
        self, operator: CustomOperator, call: ast.Call, position: int, scope: Scope
    ) -> None:
        given = find_argument(call, position, "backward")
        backward = self._find_function(given, scope)
        setup = next((k.value for k in call.keywords if k.arg == "setup_context"), None)
        context = self._find_function(setup, scope)
        if backward is None or (setup is not None and context is None):
            operator.unfollowed.append(call)
            return
        operator.backwards.append(backward)
        self._seen.update(node for node in (given, setup) if node is not None)
        if context is not None:
            operator.setups.append(context)
        self._seen.update((*ast.walk(call.func), *call.args[:position]))

    def _note_unfollowed(self, node: ast.AST, scope: Scope) -> None:
        """Record a node that names an operator and is neither a registration nor a call."""
        if node in self._seen or not isinstance(node, (ast.Name, ast.Attribute, ast.Constant, ast.Call)):
            return
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            return
        for operator in self._find_operators(node, scope):
            if node is not operator.schema:
                operator.unfollowed.append(node)
                self._seen.update(ast.walk(node))

    def _find_operators(self, node: ast.expr, scope: Scope) -> list[CustomOperator]:
        """Return the operators that an expression names, or whose parts it names."""
        if isinstance(node, ast.Call):
            asked = node.func.id if isinstance(node.func, ast.Name) else ""
            if asked not in ("hasattr", "getattr") or len(node.args) < 2:
                return []
            resolved = self._resolve(node.args[0], scope)
            namespace = resolved.names[0].removeprefix("torch.ops.") if resolved is not None else ""
            operator = self.found.get(f"{namespace}::{string_value(node.args[1])}")
        else:
            operator = self.find_operator(node, scope)
        if operator is not None:
            return [operator]
        part = self._find_function(node, scope)
        return [
            operator
            for operator in self.found.values()
            if part is not None and part in operator.all_functions
        ]
