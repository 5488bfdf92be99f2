# ruff: noqa: N802 (handlers are named after the nodes of the syntax tree)
"""The calls of a program that is interpreted for one rank."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from torchmigrate.semantics.nodes import walk
from torchmigrate.semantics.resolve import leaf

from .communicators import Channels, Group, Operation, Transfer, Wait
from .expressions import Expressions
from .values import (
    BUILTINS,
    COLLECTIVES,
    PLAIN,
    SINGLE,
    Assumed,
    CpuTensor,
    Instance,
    Method,
    Neighbor,
    Opaque,
    Returned,
    TorchName,
    Unclear,
    channels_of,
    derive_value,
    find_method,
    guess_value,
    is_cpu_group_name,
)

_FROM_HOST = ("frombuffer", "from_numpy")
_FACTORIES = frozenset(
    ["empty", "zeros", "ones", "full", "rand", "randn", "randint", "randperm", "arange", "linspace", "eye"]
)
_MOVING = ("to", "cuda", "xpu", "npu", "type")
"""Methods of a tensor whose result may be on another device."""
_METHODS: dict[type, frozenset[str]] = {
    list: frozenset(["append", "extend", "pop", "clear", "insert", "reverse", "copy", "remove"]),
    dict: frozenset(["values", "keys", "items", "pop", "get"]),
}
_MAX_DEPTH = 8


@dataclass(frozen=True)
class Arguments:
    """The evaluated arguments of a call."""

    positional: list[Any]
    keywords: dict[str, Any]
    is_complete: bool
    """Whether none is hidden in ``*`` or ``**``."""

    def get(self, position: int | None, *keywords: str) -> Any:
        """Return the argument given by position or by one of the keywords; None where it is absent."""
        if position is not None and position < len(self.positional):
            return self.positional[position]
        found = (self.keywords[keyword] for keyword in keywords if keyword in self.keywords)
        return next((value for value in found if value is not None), None)


class Calls(Expressions):
    """Evaluates calls: of torch.distributed, of the file's own functions, and of a few others."""

    def _value_Call(self, node: ast.Call) -> Any:
        function: Any = self.program.resolve_torch(node.func, self._scope)
        if function is None and isinstance(node.func, ast.Attribute):
            owner = self.evaluate(node.func.value)
            if isinstance(owner, (Operation, list, dict, Group)):
                return self._call_method(owner, node.func.attr, node)
            if isinstance(owner, Opaque) and self._stays_on_cpu(owner, node.func.attr, node):
                return CpuTensor(self.program.text(node))
            function = self._get_attribute(owner, node.func)
        elif function is None:
            function = self.evaluate(node.func)
        arguments = self._evaluate_arguments(node)
        if isinstance(function, TorchName):
            return self._call_torch(function.name, arguments, node)
        if isinstance(function, (Method, ast.ClassDef)) and arguments.is_complete:
            return self._call_own(function, arguments)
        if isinstance(function, ast.ClassDef):
            return Instance(function)
        if isinstance(function, (Method, Instance)) and self._issues_any(function.definition):
            raise Unclear
        if isinstance(node.func, ast.Name) and node.func.id not in self._names:
            return self._call_builtin(node.func.id, arguments, node)
        return self._make_opaque(node) if node.args else self._guess_name(leaf(node.func) or "", node)

    def _issues_any(self, definition: ast.AST) -> bool:
        called = self.program.called(definition)
        return self.program.issues_single(definition) or "batch_isend_irecv" in called

    def _evaluate_arguments(self, node: ast.Call) -> Arguments:
        positional = [self.evaluate(argument) for argument in node.args]
        keywords = {keyword.arg or "**": self.evaluate(keyword.value) for keyword in node.keywords}
        is_complete = "**" not in keywords and not any(isinstance(a, ast.Starred) for a in node.args)
        return Arguments(positional, keywords, is_complete)

    def _call_own(self, function: Method | ast.ClassDef, arguments: Arguments) -> Any:
        """Call a function of the file, or make an object of one of its classes."""
        if isinstance(function, Method):
            return self.call_function(function, arguments.positional, arguments.keywords)
        instance = Instance(function)
        init = find_method(function, "__init__")
        if init is not None:
            self.call_function(Method(init, instance), arguments.positional, arguments.keywords)
        return instance

    def _call_builtin(self, name: str, arguments: Arguments, node: ast.Call) -> Any:
        given = arguments.positional
        lengths = [len(a) for a in given if isinstance(a, (list, tuple))]
        if name == "zip" and lengths:
            columns = [a if isinstance(a, (list, tuple)) else [Opaque("item")] * min(lengths) for a in given]
            return list(zip(*columns, strict=False))
        if name == "super":
            return Opaque("super")
        if name in BUILTINS and all(isinstance(a, PLAIN) for a in given):
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
                raise Unclear
            self.trace.append(Wait(owner))
            return True
        if isinstance(owner, Group) and name in ("rank", "size"):
            return self.rank if name == "rank" else self.world.size
        if name not in _METHODS.get(type(owner), ()):
            return self._make_opaque(node)
        try:
            result = getattr(owner, name)(*arguments)
        except (TypeError, ValueError, LookupError):
            raise Unclear from None
        return list(result) if name in ("values", "keys", "items") else result

    def call_function(
        self, method: Method, arguments: list[Any], keywords: dict[str, Any], is_root: bool = False
    ) -> Any:
        """Execute a function of the file and return its result; that of a root has only its parameters' names."""
        definition = method.definition
        suspends = any(isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)) for node in walk(definition))
        if self._depth > _MAX_DEPTH or suspends:
            if self._issues_any(definition):
                raise Unclear
            return Opaque(definition.name)
        names = self._bind_parameters(method, arguments, keywords, is_root)
        outer, outer_scope = self._names, self._scope
        self._names, self._depth = names, self._depth + 1
        self._scope = self.program.scope_of.get(definition, outer_scope)
        try:
            self.execute(definition.body)
        except Returned as result:
            return result.value
        finally:
            self._names, self._scope = outer, outer_scope
            self._depth -= 1
        return None

    def _bind_parameters(
        self, method: Method, arguments: list[Any], keywords: dict[str, Any], is_root: bool
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
        if isinstance(guessed, Neighbor) and not self._has_partner:
            return Opaque(name)
        is_flag = isinstance(default, ast.Constant) and default.value in (None, True, False)
        if not isinstance(guessed, Opaque) or default is None or (is_root and is_flag):
            return guessed
        return self.evaluate(default)

    def _call_torch(self, name: str, arguments: Arguments, node: ast.Call) -> Any:
        called = name.rpartition(".")[2]
        if name in ("os.environ.get", "os.getenv") and arguments.positional:
            return self._read_environment(arguments.positional[0])
        if not name.startswith("torch.distributed"):
            on_cpu = self._makes_on_cpu(called, arguments, node)
            return (CpuTensor if on_cpu else Opaque)(self.program.text(node))
        if called in SINGLE:
            return self._issue_single(called, arguments, node)
        if called in COLLECTIVES:
            operation = Operation(
                self.rank, self._to_group(arguments.get(None, "group")), node, collective=called
            )
            return self._post_operation(operation, is_async=arguments.get(None, "async_op") is True)
        handler = getattr(self, "_call_" + called, None)
        if handler is not None:
            return handler(arguments, node)
        if called in ("get_global_rank", "get_group_rank") and len(arguments.positional) == 2:
            return arguments.positional[1]
        ranks = list(range(self.world.size))
        known = {"get_world_size": self.world.size, "get_process_group_ranks": ranks, "get_backend": "nccl"}
        known |= dict.fromkeys(("get_rank", "get_node_local_rank"), self.rank)
        known |= dict.fromkeys(("is_initialized", "is_available", "is_nccl_available"), True)
        return known.get(called, self._make_opaque(node))

    def _call_init_process_group(self, arguments: Arguments, node: ast.Call) -> None:
        self._world_group = Group("world", channels_of(arguments.get(0, "backend")))
        self._is_confirmed |= isinstance(arguments.get(None, "rank"), Assumed)

    def _call_new_group(self, arguments: Arguments, node: ast.Call) -> Group:
        backend = arguments.get(2, "backend")
        self._group_count += 1  # all ranks create their groups in the same order
        key = f"new {node.lineno} {self._group_count}"
        return Group(key, channels_of(backend) if backend is not None else self._world_group.channels)

    def _call_P2POp(self, arguments: Arguments, node: ast.Call) -> Operation:
        op = arguments.get(0, "op")
        called = op.name.rpartition(".")[2] if isinstance(op, TorchName) else ""
        if called not in ("isend", "irecv"):
            raise Unclear
        group = self._to_group(arguments.get(3, "group"), arguments.get(1, "tensor"))
        transfer = Transfer(
            called == "isend", self.rank, self._to_rank(arguments.get(2, "peer", "group_peer"))
        )
        return Operation(self.rank, group, node, (transfer,))

    def _call_batch_isend_irecv(self, arguments: Arguments, node: ast.Call) -> Any:
        given = arguments.get(0, "p2p_op_list")
        operations = (
            [one for one in given if isinstance(one, Operation)] if isinstance(given, (list, tuple)) else []
        )
        if not operations or len(operations) < len(given):
            raise Unclear
        transfers = [transfer for operation in operations for transfer in operation.transfers]
        return [
            self._post_operation(Operation(self.rank, operations[0].group, node, transfers, is_batch=True))
        ]

    def _issue_single(self, called: str, arguments: Arguments, node: ast.Call) -> Any:
        tensor = arguments.get(0, "tensor")
        keywords = ("dst", "group_dst") if "send" in called else ("src", "group_src")
        peer = arguments.get(1, *keywords)
        if tensor is None or not arguments.is_complete:
            raise Unclear
        group = self._to_group(arguments.get(2, "group"), tensor)
        transfer = Transfer("send" in called, self.rank, self._to_rank(peer))
        is_assumed = not self._is_confirmed and (self._is_assuming or isinstance(peer, Assumed))
        operation = Operation(self.rank, group, node, (transfer,), is_assumed=is_assumed)
        operation.has_known_peer, operation.is_blocking = isinstance(peer, int), called in ("send", "recv")
        return self._post_operation(operation, is_async=not operation.is_blocking)

    def _post_operation(self, operation: Operation, *, is_async: bool = True) -> Operation | None:
        self.trace.append(operation)
        if is_async:
            return operation
        self.trace.append(Wait(operation))
        return None

    def _to_rank(self, peer: Any) -> int:
        if isinstance(peer, int) and not isinstance(peer, bool):
            return int(peer)
        if isinstance(peer, Opaque) and self._has_partner and self._partner in (None, peer.key):
            self._partner = peer.key
            return self.rank ^ 1
        raise Unclear

    def _to_group(self, value: Any, tensor: Any = None) -> Group:
        """Return the group that a value stands for; the half of it that gloo has, for a tensor on the CPU."""
        group = self._world_group
        if isinstance(value, Group):
            group = value
        elif isinstance(value, Opaque):
            group = Group(value.key, Channels.DIRECTION if is_cpu_group_name(value.key) else None)
        elif value is not None and not isinstance(value, TorchName):
            raise Unclear
        if group.channels is None and isinstance(tensor, CpuTensor):
            return Group((group.key, "cpu"), Channels.DIRECTION)
        return group

    def _stays_on_cpu(self, owner: Opaque, method: str, node: ast.Call) -> bool:
        """Return whether a method of a tensor gives a tensor on the CPU."""
        given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "device")]
        if method == "cpu" or (
            method == "to" and any(_is_cpu(self.evaluate(argument)) for argument in given)
        ):
            return True
        return isinstance(owner, CpuTensor) and method not in _MOVING

    def _makes_on_cpu(self, called: str, arguments: Arguments, node: ast.Call) -> bool:
        """Return whether a function of torch gives a tensor on the CPU, or the CPU device."""
        given = arguments.positional
        if called in _FROM_HOST or (
            called.endswith("_like") and any(isinstance(a, CpuTensor) for a in given)
        ):
            return True
        if called == "device" or "device" in arguments.keywords:
            return any(map(_is_cpu, given if called == "device" else [arguments.keywords["device"]]))
        literal = bool(node.args) and isinstance(node.args[0], (ast.Constant, ast.List))
        makes = called in _FACTORIES or (called == "tensor" and literal)
        return makes and "**" not in arguments.keywords and self.program.makes_tensors_on_cpu


def _is_cpu(value: Any) -> bool:
    return isinstance(value, CpuTensor) or (isinstance(value, str) and value.partition(":")[0] == "cpu")
