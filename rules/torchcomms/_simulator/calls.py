# ruff: noqa: N802 (handlers are named after the nodes of the syntax tree)
"""The calls of a program that is interpreted for one rank."""

from __future__ import annotations

import ast
from typing import Any

from torchmigrate.semantics.resolve import leaf

from .expressions import Expressions
from .schedule import Channels, Group, Operation, Transfer, Wait
from .values import (
    BUILTINS,
    COLLECTIVES,
    PLAIN,
    SINGLE,
    UNKNOWN,
    Assumed,
    Instance,
    Method,
    OnCpu,
    Opaque,
    PeerOperation,
    Request,
    Returned,
    Torch,
    Unclear,
    channels_of,
    derived,
    guess,
    is_cpu,
    method_of,
)

_FROM_HOST = ("frombuffer", "from_numpy")
_FACTORIES = (
    "empty",
    "zeros",
    "ones",
    "full",
    "rand",
    "randn",
    "randint",
    "randperm",
    "arange",
    "linspace",
    "eye",
)
_MOVING = ("to", "cuda", "xpu", "npu", "type")
"""Methods of a tensor that may give one somewhere else."""


class Calls(Expressions):
    """Evaluates calls: of torch.distributed, of the file's own functions, and of a few others."""

    def _value_Call(self, node: ast.Call) -> Any:
        known = None if self._is_local(node.func) else self._torch(node.func)
        if known is not None:
            return self._call_torch(known.name, node)
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if isinstance(owner, (Request, list, dict, Group)):
                return self._call_plain(owner, node.func.attr, node)
            if isinstance(owner, Opaque) and self._is_on_cpu(owner, node.func.attr, node):
                return OnCpu(self.syntax.text(node))
            function = self._attribute(owner, node.func)
        else:
            function = self.value(node.func)
        if isinstance(function, Torch):
            return self._call_torch(function.name, node)
        arguments = [self.value(a.value if isinstance(a, ast.Starred) else a) for a in node.args]
        keywords = {keyword.arg or "**": self.value(keyword.value) for keyword in node.keywords}
        starred = "**" in keywords or any(isinstance(a, ast.Starred) for a in node.args)
        if isinstance(function, Method) and not starred:
            return self._call_method(function, arguments, keywords)
        if isinstance(function, ast.ClassDef):
            instance = Instance(function)
            init = method_of(function, "__init__")
            if init is not None and not starred:
                self._call_method(Method(init, instance), arguments, keywords)
            return instance
        if isinstance(function, (Method, Instance)) and self._contains_relevant(function):
            raise Unclear
        if isinstance(node.func, ast.Name) and node.func.id not in self._names:
            return self._call_builtin(node.func.id, arguments, keywords, node)
        guessed = guess(leaf(node.func) or "", self.rank, self.world) if not arguments else UNKNOWN
        return Opaque(self.syntax.text(node)) if guessed is UNKNOWN else guessed

    def _is_on_cpu(self, owner: Opaque, method: str, node: ast.Call) -> bool:
        """Whether a method of a tensor gives one in the CPU's memory."""
        given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "device")]
        if method == "cpu" or (method == "to" and any(self._is_cpu(self.value(one)) for one in given)):
            return True
        return isinstance(owner, OnCpu) and method not in _MOVING

    def _makes_on_default_device(self, called: str, node: ast.Call) -> bool:
        """Whether a function of torch that is given no device makes a tensor on the CPU.

        It does if the file sets no other device, and its group can carry the tensor there: else one is set elsewhere.
        """
        literal = node.args and isinstance(node.args[0], (ast.Constant, ast.List))
        makes = called in _FACTORIES or (called == "tensor" and literal)
        return (
            bool(makes)
            and "**" not in {keyword.arg or "**" for keyword in node.keywords}
            and self.syntax.has_gloo
            and not self.syntax.sets_default_device
        )

    def _is_cpu(self, value: Any) -> bool:
        return isinstance(value, OnCpu) or (isinstance(value, str) and value.partition(":")[0] == "cpu")

    def _contains_relevant(self, function: Method | Instance) -> bool:
        return not {*SINGLE, "batch_isend_irecv"}.isdisjoint(self.syntax.called(function.definition))

    def _call_builtin(self, name: str, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        if name == "zip" and any(isinstance(a, (list, tuple)) for a in arguments):
            length = min(len(a) for a in arguments if isinstance(a, (list, tuple)))
            columns = [a if isinstance(a, (list, tuple)) else [Opaque("item")] * length for a in arguments]
            return list(zip(*columns, strict=False))
        if name == "super":
            return Opaque("super")
        function = BUILTINS.get(name)
        if function is not None and all(isinstance(a, PLAIN) for a in arguments):
            try:
                return derived(function(*arguments, **keywords), *arguments)
            except (TypeError, ValueError):
                return Opaque(self.syntax.text(node))
        guessed = guess(name, self.rank, self.world)
        return Opaque(self.syntax.text(node)) if guessed is UNKNOWN else guessed

    def _call_method(
        self, method: Method, arguments: list[Any], keywords: dict[str, Any], guessing: bool = False
    ) -> Any:
        definition = method.definition
        if self._depth > 8 or self.syntax.is_generator(definition):
            if self._contains_relevant(method):
                raise Unclear
            return Opaque(definition.name)
        names = self._bind(method, arguments, keywords, guessing)
        outer, outer_scope = self._names, self._scope
        self._names, self._depth = names, self._depth + 1
        self._scope = self.syntax.scopes.get(definition, outer_scope)
        try:
            self.execute(definition.body)
        except Returned as result:
            return result.value
        finally:
            self._names, self._scope = outer, outer_scope
            self._depth -= 1
        return None

    def _bind(
        self, method: Method, arguments: list[Any], keywords: dict[str, Any], guessing: bool
    ) -> dict[str, Any]:
        """The names that a function begins with."""
        spec = method.definition.args
        positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        if method.instance is not None and positional:
            arguments = [method.instance, *arguments]
        names = dict(zip(positional, arguments, strict=False))
        defaults = dict(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
        defaults |= {
            a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None
        }
        for name in (*positional, *(a.arg for a in spec.kwonlyargs)):
            if name in names:
                continue
            if name in keywords:
                names[name] = keywords[name]
                continue
            default = defaults.get(name)
            flag = isinstance(default, ast.Constant) and default.value in (None, True, False)
            known = guess(name, self.rank, self.world) if guessing else UNKNOWN
            if known is not UNKNOWN:
                names[name] = known
            else:
                follow = default is not None and not (guessing and flag)
                names[name] = self.value(default) if follow and default is not None else Opaque(name)
        for star in (spec.vararg, spec.kwarg):
            if star is not None:
                names[star.arg] = Opaque(star.arg)
        return names

    def _call_plain(self, owner: Any, name: str, node: ast.Call) -> Any:
        arguments = [self.value(argument) for argument in node.args]
        if isinstance(owner, Request):
            if name == "wait":
                self.trace.append(Wait(owner.operation))
                return True
            if name == "is_completed":
                raise Unclear
        if isinstance(owner, list):
            try:
                if name in ("append", "extend", "pop", "clear", "insert", "reverse", "copy", "remove"):
                    return getattr(owner, name)(*arguments)
            except (TypeError, ValueError, IndexError):
                raise Unclear from None
        if isinstance(owner, dict) and name in ("values", "keys", "items", "pop", "get"):
            try:
                result = getattr(owner, name)(*arguments)
            except (KeyError, TypeError):
                raise Unclear from None
            return list(result) if name in ("values", "keys", "items") else result
        if isinstance(owner, Group) and name in ("rank", "size"):
            return self.rank if name == "rank" else self.world.size
        return Opaque(self.syntax.text(node))

    def _call_torch(self, name: str, node: ast.Call) -> Any:
        called = name.rpartition(".")[2]
        arguments = [self.value(argument) for argument in node.args if not isinstance(argument, ast.Starred)]
        keywords = {keyword.arg or "**": self.value(keyword.value) for keyword in node.keywords}
        if name in ("os.environ.get", "os.getenv") and arguments:
            return self._environment(arguments[0])
        if not name.startswith("torch.distributed"):
            like = called.endswith("_like") and any(isinstance(argument, OnCpu) for argument in arguments)
            there = arguments if called == "device" else [keywords.get("device")]
            on_cpu = like or called in _FROM_HOST or any(map(self._is_cpu, there))
            on_cpu = on_cpu or ("device" not in keywords and self._makes_on_default_device(called, node))
            return (OnCpu if on_cpu else Opaque)(self.syntax.text(node))
        if called in SINGLE:
            return self._single(called, arguments, keywords, node)
        if called in COLLECTIVES:
            group = self._group(keywords.get("group"))
            operation = Operation(self.rank, group, node, collective=called)
            self.trace.append(operation)
            if keywords.get("async_op") is True:
                return Request(operation)
            self.trace.append(Wait(operation))
            return None
        if called in ("get_rank", "get_node_local_rank"):
            return self.rank
        if called == "get_world_size":
            return self.world.size
        if called in ("get_global_rank", "get_group_rank") and len(arguments) == 2:
            return arguments[1]
        if called == "get_process_group_ranks":
            return list(range(self.world.size))
        if called == "get_backend":
            return "nccl"
        if called in ("is_initialized", "is_available", "is_nccl_available"):
            return True
        if called == "P2POp":
            return self._peer_operation(arguments, keywords, node)
        if called == "batch_isend_irecv" and arguments:
            return self._batch(arguments[0], node)
        if called == "init_process_group":
            backend = arguments[0] if arguments else keywords.get("backend")
            self._world_group = Group("world", channels_of(backend))
            self._is_confirmed |= isinstance(keywords.get("rank"), Assumed)
            return None
        if called == "new_group":
            backend = arguments[2] if len(arguments) > 2 else keywords.get("backend")
            count = sum(isinstance(key, str) and key.startswith("new ") for key in self._globals)
            key = f"new {node.lineno} {count}"
            self._globals[key] = None
            return Group(key, channels_of(backend) if backend is not None else self._world_group.channels)
        return Opaque(self.syntax.text(node))

    def _group(self, value: Any) -> Group:
        if value is None:
            return self._world_group
        if isinstance(value, Group):
            return value
        if isinstance(value, Opaque):
            return Group(value.key, Channels.DIRECTION if is_cpu(value.key) else None)
        if isinstance(value, Torch):
            return self._world_group
        raise Unclear

    def _for_tensor(self, group: Group, tensor: Any) -> Group:
        """The half of a group that carries a tensor: gloo's, for one in the CPU's memory."""
        if group.channels is not None or not isinstance(tensor, OnCpu):
            return group
        return Group((group.key, "cpu"), Channels.DIRECTION)

    def _peer(self, value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return int(value)
        if isinstance(value, Opaque) and self._has_partner and self._partner in (None, value.key):
            self._partner = value.key
            return self.rank ^ 1
        raise Unclear

    def _is_assumed(self, peer: Any) -> bool:
        """Whether an operation with this peer depends on a rank that only its name tells."""
        return not self._is_confirmed and (self._is_assuming or isinstance(peer, Assumed))

    def _single(self, called: str, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        names = ("dst", "group_dst") if "send" in called else ("src", "group_src")
        found = [arguments[1]] if len(arguments) > 1 else []
        found += [keywords[name] for name in names if keywords.get(name) is not None]
        is_written = "**" not in keywords and not any(isinstance(a, ast.Starred) for a in node.args)
        if len(found) != 1 or not is_written or not (arguments or "tensor" in keywords):
            raise Unclear
        group = self._group(arguments[2] if len(arguments) > 2 else keywords.get("group"))
        group = self._for_tensor(group, arguments[0] if arguments else keywords.get("tensor"))
        transfer = Transfer("send" in called, self._peer(found[0]), node)
        is_assumed = self._is_assumed(found[0])
        operation = Operation(self.rank, group, node, (transfer,), is_assumed=is_assumed)
        self.trace.append(operation)
        if called.startswith("i"):
            return Request(operation)
        self.trace.append(Wait(operation))
        return None

    def _peer_operation(
        self, arguments: list[Any], keywords: dict[str, Any], node: ast.Call
    ) -> PeerOperation:
        op = arguments[0] if arguments else keywords.get("op")
        called = op.name.rpartition(".")[2] if isinstance(op, Torch) else ""
        peer = arguments[2] if len(arguments) > 2 else keywords.get("peer", keywords.get("group_peer"))
        if called not in ("isend", "irecv"):
            raise Unclear
        group = self._group(arguments[3] if len(arguments) > 3 else keywords.get("group"))
        group = self._for_tensor(group, arguments[1] if len(arguments) > 1 else keywords.get("tensor"))
        return PeerOperation(Transfer(called == "isend", self._peer(peer), node), group)

    def _batch(self, operations: Any, node: ast.Call) -> Any:
        if not isinstance(operations, (list, tuple)) or not operations:
            raise Unclear
        if not all(isinstance(operation, PeerOperation) for operation in operations):
            raise Unclear
        transfers = [operation.transfer for operation in operations]
        operation = Operation(self.rank, operations[0].group, node, transfers, batched=True)
        self.trace.append(operation)
        return [Request(operation)]
