# ruff: noqa: N802 (handlers are named after the nodes of the syntax tree)
"""The attributes and calls of a program that is interpreted for one rank."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from torchmigrate.semantics.name_resolution import last_name

from .communicators import Operation, SimulatedGroup, WaitPoint
from .followed_values import (
    BUILTINS,
    PLAIN_TYPES,
    BoundFunction,
    CpuTensor,
    FileObject,
    FunctionReturned,
    GuessedNeighbor,
    Opaque,
    TorchName,
    UnclearCode,
    derive_value,
    find_method,
    guess_value,
)
from .torch_calls import EvaluatedArguments, TorchCallEvaluator

_METHODS: dict[type, frozenset[str]] = {
    list: frozenset(["append", "extend", "pop", "clear", "insert", "reverse", "copy", "remove"]),
    dict: frozenset(["values", "keys", "items", "pop", "get"]),
}
_MAX_DEPTH = 8


class CallEvaluator(TorchCallEvaluator):
    """Evaluates calls: of torch.distributed, of the file's own functions, and of a few others."""

    def execute(self, body: Iterable[ast.stmt]) -> None:
        """Execute statements."""
        raise NotImplementedError

    def _value_Attribute(self, node: ast.Attribute) -> Any:
        known = self.program.resolve_torch(node, self._scope)
        return known if known is not None else self._get_attribute(self.evaluate(node.value), node)

    def _get_attribute(self, owner: Any, node: ast.Attribute) -> Any:
        if isinstance(owner, FileObject):
            if node.attr in owner.attributes:
                return owner.attributes[node.attr]
            method = find_method(owner.definition, node.attr)
            if method is not None:
                decorators = {last_name(decorator) for decorator in method.decorator_list}
                if decorators & {"property", "cached_property"}:
                    return self.call_function(BoundFunction(method, owner), [], {})
                return BoundFunction(method, None if "staticmethod" in decorators else owner)
        return self._guess_name(node.attr, node)

    def _value_Call(self, node: ast.Call) -> Any:
        function: Any = self.program.resolve_torch(node.func, self._scope)
        if function is None and isinstance(node.func, ast.Attribute):
            owner = self.evaluate(node.func.value)
            if isinstance(owner, (Operation, list, dict, SimulatedGroup)):
                return self._call_method(owner, node.func.attr, node)
            if isinstance(owner, Opaque) and self._stays_on_cpu(owner, node.func.attr, node):
                return CpuTensor(self.program.text(node))
            function = self._get_attribute(owner, node.func)
        elif function is None:
            function = self.evaluate(node.func)
        arguments = self._evaluate_arguments(node)
        if isinstance(function, TorchName):
            return self._call_torch(function.name, arguments, node)
        if isinstance(function, (BoundFunction, ast.ClassDef)) and arguments.is_complete:
            return self._call_own(function, arguments)
        if isinstance(function, ast.ClassDef):
            return FileObject(function)
        if isinstance(function, (BoundFunction, FileObject)) and self._issues_any(function.definition):
            raise UnclearCode
        if isinstance(node.func, ast.Name) and node.func.id not in self._names:
            return self._call_builtin(node.func.id, arguments, node)
        return self._make_opaque(node) if node.args else self._guess_name(last_name(node.func) or "", node)

    def _issues_any(self, definition: ast.AST) -> bool:
        called = self.program.called(definition)
        return self.program.issues_single(definition) or "batch_isend_irecv" in called

    def _evaluate_arguments(self, node: ast.Call) -> EvaluatedArguments:
        positional = [self.evaluate(argument) for argument in node.args]
        keywords = {keyword.arg or "**": self.evaluate(keyword.value) for keyword in node.keywords}
        is_complete = "**" not in keywords and not any(isinstance(a, ast.Starred) for a in node.args)
        return EvaluatedArguments(positional, keywords, is_complete)

    def _call_own(self, function: BoundFunction | ast.ClassDef, arguments: EvaluatedArguments) -> Any:
        """Call a function of the file, or make an object of one of its classes."""
        if isinstance(function, BoundFunction):
            return self.call_function(function, arguments.positional, arguments.keywords)
        instance = FileObject(function)
        init = find_method(function, "__init__")
        if init is not None:
            self.call_function(BoundFunction(init, instance), arguments.positional, arguments.keywords)
        return instance

    def _call_builtin(self, name: str, arguments: EvaluatedArguments, node: ast.Call) -> Any:
        given = arguments.positional
        lengths = [len(a) for a in given if isinstance(a, (list, tuple))]
        if name == "zip" and lengths:
            columns = [a if isinstance(a, (list, tuple)) else [Opaque("item")] * min(lengths) for a in given]
            return list(zip(*columns, strict=False))
        if name == "super":
            return Opaque("super")
        if name in BUILTINS and all(isinstance(a, PLAIN_TYPES) for a in given):
            try:
                return derive_value(BUILTINS[name](*given, **arguments.keywords), *given)
            except (TypeError, ValueError):
                return self._make_opaque(node)
        return self._guess_name(name, node)

    def _call_method(self, owner: Any, name: str, node: ast.Call) -> Any:
        """Call a method of a request (which is its operation), a group, a list or a dictionary."""
        arguments = [self.evaluate(argument) for argument in node.args]
        if isinstance(owner, Operation) and name in ("wait", "is_completed"):
            if name == "is_completed":
                raise UnclearCode
            self.trace.append(WaitPoint(owner))
            return True
        if isinstance(owner, SimulatedGroup) and name in ("rank", "size"):
            return self.rank if name == "rank" else self.world.size
        if name not in _METHODS.get(type(owner), ()):
            return self._make_opaque(node)
        try:
            result = getattr(owner, name)(*arguments)
        except (TypeError, ValueError, LookupError):
            raise UnclearCode from None
        return list(result) if name in ("values", "keys", "items") else result

    def call_function(
        self, method: BoundFunction, arguments: list[Any], keywords: dict[str, Any], is_root: bool = False
    ) -> Any:
        """Execute a function of the file and return its result; only the names of the arguments are known for a root."""
        definition = method.definition
        if self._depth > _MAX_DEPTH or self.program.suspends(definition):
            if self._issues_any(definition):
                raise UnclearCode
            return Opaque(definition.name)
        names = self._bind_parameters(method, arguments, keywords, is_root)
        outer, outer_scope = self._names, self._scope
        self._names, self._depth = names, self._depth + 1
        self._scope = self.program.scope_of.get(definition, outer_scope)
        try:
            self.execute(definition.body)
        except FunctionReturned as result:
            return result.value
        finally:
            self._names, self._scope = outer, outer_scope
            self._depth -= 1
        return None

    def _bind_parameters(
        self, method: BoundFunction, arguments: list[Any], keywords: dict[str, Any], is_root: bool
    ) -> dict[str, Any]:
        """Return the variables with which a function begins."""
        spec = method.definition.args
        positional = [parameter.arg for parameter in (*spec.posonlyargs, *spec.args)]
        if method.instance is not None and positional:
            arguments = [method.instance, *arguments]
        defaults = dict(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
        defaults |= {
            p.arg: d for p, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None
        }
        names = dict(zip(positional, arguments, strict=False))
        for name in (*positional, *(parameter.arg for parameter in spec.kwonlyargs)):
            if name not in names:
                given = name in keywords
                names[name] = (
                    keywords[name] if given else self._supply_parameter(name, defaults.get(name), is_root)
                )
        return names | {star.arg: Opaque(star.arg) for star in (spec.vararg, spec.kwarg) if star is not None}

    def _supply_parameter(self, name: str, default: ast.expr | None, is_root: bool) -> Any:
        """Return the value of a parameter that is given no argument."""
        guessed = guess_value(name, self.rank, self.world) if is_root else Opaque(name)
        if isinstance(guessed, GuessedNeighbor) and not self._has_partner:
            return Opaque(name)
        # A caller that is not seen probably passes another value than None, True or False.
        is_flag = isinstance(default, ast.Constant) and default.value in (None, True, False)
        if not isinstance(guessed, Opaque) or default is None or (is_root and is_flag):
            return guessed
        return self.evaluate(default)
