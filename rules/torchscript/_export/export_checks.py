"""Checks that `torch.export` can take what is traced: it would reject some code, and run other code differently."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Kind, NoFix, Use
from torchmigrate.semantics.call_arguments import argument_value, find_argument, list_arguments
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function, walk_nodes

from .._authoring.torchscript_makers import IF_TRACING
from .expression_kinds import find_binding, find_class, find_kind
from .module_classes import find_model_class

_IS_TRACING = tuple(name for name in IF_TRACING if name.endswith("is_tracing"))
_PACKS = frozenset({"convert", "convert_fx", "quantize", "quantize_qat", "quantize_dynamic"})
"""Functions whose result has packed weights: objects of C++.

With torch 2.13, `torch.export.export` of such a result raises AttributeError ("does not have a field with name
'__obj_flatten__'").
"""
_QUANTIZATION = ("torch.ao.quantization.", "torch.quantization.")
_DISTRIBUTIONS = re.compile(r"torch\.distributions\.(\w+\.)*[A-Z]\w*|pyro\.[\w.]+")
"""Classes that check arguments and samples unless `validate_args=False`: a branch on `constraint.check(value).all()`."""
_NUMBERS = frozenset({"item", "tolist", "numpy"})
_REDUCES = frozenset(
    {"sum", "mean", "max", "min", "amax", "amin", "any", "all", "norm", "prod", "std", "var", "allclose"}
)


def check_tracing_queries(traced: ast.expr, use: Use, ctx: Context) -> None:
    """Raise NoFix where the traced function or module calls `torch.jit.is_tracing` or suppresses `TracerWarning`."""
    bound = find_binding(traced, use.place.scope, ctx)
    definition = bound if isinstance(bound, Function) else find_class(traced, use, ctx)
    for node in ast.walk(definition) if definition is not None else ():
        if last_name(node) == "TracerWarning":
            line = getattr(node, "lineno", 0)
            raise NoFix(
                f"line {line} suppresses `TracerWarning`: code that a trace runs only once would then run on every call"
            )
    asking = [mention for mention in ctx.project.find_uses(*_IS_TRACING) if mention.kind is Kind.CALL]
    if not asking:
        return
    paths, first, last = {os.path.abspath(ctx.source.path)}, 0, None
    if definition is not None:
        first, last = definition.lineno, definition.end_lineno
    else:
        paths = find_origin_files(traced, use, ctx)
    for mention in asking:
        if os.path.abspath(mention.path) in paths and first <= mention.line <= (last or mention.line):
            raise NoFix(
                f"{mention.path}:{mention.line} checks `{mention.symbol}`, which is False under `torch.export`"
            )


def find_origin_files(traced: ast.expr, use: Use, ctx: Context) -> set[str]:
    """Return the absolute paths of the project's files that may define a function, or the class of a module."""
    node: ast.AST = traced
    for _ in range(4):
        if isinstance(found := find_binding(node, use.place.scope, ctx), ast.expr):
            node = found
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
            node = node.value
        else:
            break
    resolved = ctx.resolve_node(node, use)
    if resolved is None or resolved.names[0].startswith("torch."):
        return set()
    links = ctx.project.create_links(os.path.abspath(ctx.source.path))
    return {os.path.abspath(path) for path, _, _ in links.iter_splits(resolved.names[0])}


def check_quantized(model: ast.expr, made: ast.AST | None, use: Use, ctx: Context) -> None:
    """Raise NoFix where ``model``, the value of the expression ``made``, is quantized in the scope of its trace."""
    scope, name = use.place.scope.node, ast.unparse(model)
    for node in ctx.uses.compute_once((_find_quantizing_calls, scope), lambda: _find_quantizing_calls(scope)):
        resolved = ctx.resolve_node(node.func, use)
        if resolved is None or not resolved.names[0].startswith(_QUANTIZATION):
            continue
        # What quantizes in place has no result that is bound, but is given the model itself.
        given = find_argument(node, 0, "model")
        if node is made or (given is not None and ast.unparse(given) == name):
            raise NoFix(
                f"line {node.lineno} quantizes the module, and `torch.export` rejects packed weights; quantize the exported "
                "program instead (torchao's `prepare_pt2e`, `convert_pt2e`)"
            )


def _find_quantizing_calls(scope: ast.AST) -> list[ast.Call]:
    return [
        node for node in walk_nodes(scope) if isinstance(node, ast.Call) and last_name(node.func) in _PACKS
    ]


def check_parts(model: ast.expr, made: ast.AST | None, use: Use, ctx: Context) -> None:
    """Raise NoFix where ``model``, the value of the expression ``made``, has a scripted or traced module inside, which no export accepts.

    With torch 2.13, `torch.export.export` raises TypeError ("takes 2 positional arguments but 3 were given") when it calls one.
    """
    definition = find_class(model, use, ctx)
    inner = [
        *(map(argument_value, list_arguments(made)) if isinstance(made, ast.Call) else ()),
        *(_list_kept_values(definition) if definition is not None else ()),
    ]
    for value in inner:
        if find_kind(value, use, ctx) == "scripted" and not _is_scripted_function(value, use, ctx):
            raise NoFix(
                f"the module gets a scripted or traced one on line {value.lineno}, and `torch.export` needs plain ones"
            )


def _list_kept_values(definition: ast.ClassDef) -> list[ast.expr]:
    """Return what a class assigns to attributes of its objects."""
    return [
        node.value
        for node in ast.walk(definition)
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Attribute) for target in node.targets)
    ]


def _is_scripted_function(value: ast.expr, use: Use, ctx: Context) -> bool:
    found = find_binding(value, use.place.scope, ctx) if isinstance(value, ast.Name) else value
    given = find_argument(found, 0, "obj", "func") if isinstance(found, ast.Call) else None
    return given is not None and find_kind(given, use, ctx) == "function"


def check_kept_state(model: ast.expr, use: Use, ctx: Context) -> None:
    """Raise NoFix where `forward` of a scripted class reads an attribute that it has assigned in an earlier call.

    A script keeps what it assigns; `torch.export.export` of torch 2.13 warns ("was assigned during export") and drops it,
    unless it is a buffer.
    """
    definition = find_class(model, use, ctx)
    if definition is None:
        return
    nodes, buffers = [*_walk_code(definition)], _list_buffers(definition)
    own = [node for node in nodes if isinstance(node, ast.Attribute) and last_name(node.value) == "self"]
    changed = {node.target for node in nodes if isinstance(node, ast.AugAssign)}
    assigned = {node.attr: node.lineno for node in reversed(own) if isinstance(node.ctx, ast.Store)}
    for node in own:
        line = assigned.get(node.attr, 0)
        is_read = isinstance(node.ctx, ast.Load) or node in changed
        if line and is_read and node.lineno <= line and node.attr not in buffers:
            raise NoFix(
                f"`self.{node.attr}`, which line {line} assigns, is read again by the next call, and an exported program keeps only "
                "buffers; register it with `register_buffer`"
            )


def describe_lost_methods(model: ast.expr, use: Use, ctx: Context) -> str:
    """Return the methods beside `forward` that a script would have kept, as the end of a title."""
    definition = find_model_class(model, use, ctx)
    names = [
        f"`{method.name}`"
        for method in (definition.body if definition is not None else ())
        if isinstance(method, ast.FunctionDef)
        and any(ctx.is_named(one, use, "torch.jit.export") for one in method.decorator_list)
    ]
    return f"; an exported program lacks {', '.join(names)}" if names else ""


def _list_buffers(definition: ast.ClassDef) -> set[str]:
    """Return the names of the buffers that a class registers under a literal name."""
    calls = (node for node in ast.walk(definition) if isinstance(node, ast.Call))
    names = (find_argument(call, 0, "name") for call in calls if last_name(call.func) == "register_buffer")
    return {str(name.value) for name in names if isinstance(name, ast.Constant)}


def check_value_dependence(traced: ast.expr, use: Use, ctx: Context) -> None:
    """Raise NoFix where the exported function, or `forward` of the class and the methods it calls, depends on values of tensors."""
    bound = find_binding(traced, use.place.scope, ctx)
    definition = bound if isinstance(bound, Function) else find_class(traced, use, ctx)
    rejected = "a tensor's value, which `torch.export` rejects; use `torch.cond` or `torch.where`"
    for node in _walk_code(definition) if definition is not None else ():
        if isinstance(node, (ast.If, ast.IfExp, ast.While)) and _depends_on_tensor(node.test):
            raise NoFix(f"line {node.lineno} branches on {rejected}")
        if not isinstance(node, ast.Call):
            continue
        if _takes_number(node):
            raise NoFix(f"line {node.lineno} reads {rejected}")
        if any(keyword.arg == "validate_args" for keyword in node.keywords):
            continue
        resolved = ctx.resolve_node(node.func, use)
        if resolved is not None and _DISTRIBUTIONS.fullmatch(resolved.names[0]):
            raise NoFix(
                f"`{ctx.get_text(node.func)}` on line {node.lineno} checks tensor values, which `torch.export` rejects; "
                "pass `validate_args=False` to distributions"
            )


def _walk_code(definition: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function, or of `forward` of a class and the methods that it calls."""
    if not isinstance(definition, ast.ClassDef):
        yield from ast.walk(definition)
        return
    methods = {node.name: node for node in definition.body if isinstance(node, ast.FunctionDef)}
    waiting = ["forward"]
    while waiting:
        method = methods.pop(waiting.pop(), None)
        for node in ast.walk(method) if method is not None else ():
            yield node
            if isinstance(node, ast.Attribute) and last_name(node.value) == "self":
                waiting.append(node.attr)


def _takes_number(call: ast.Call) -> bool:
    """Return whether a call makes a number or an array of a tensor, which a trace keeps as a constant."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _NUMBERS and not call.args and last_name(call.func.value) != "self"
    return last_name(call.func) in ("int", "float", "bool") and any(map(_reduces_tensor, call.args))


def _depends_on_tensor(test: ast.expr) -> bool:
    """Return whether a condition certainly depends on the value of a tensor."""
    if isinstance(test, ast.BoolOp):
        return any(map(_depends_on_tensor, test.values))
    if isinstance(test, ast.UnaryOp):
        return _depends_on_tensor(test.operand)
    if isinstance(test, ast.Compare):
        is_identity = any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in test.ops)
        return not is_identity and any(map(_reduces_tensor, (test.left, *test.comparators)))
    return _reduces_tensor(test)


def _reduces_tensor(node: ast.expr) -> bool:
    """Return whether an expression reduces a tensor: ``x.abs().max()``, ``torch.any(mask) + 1``."""
    if isinstance(node, ast.BinOp):
        return _reduces_tensor(node.left) or _reduces_tensor(node.right)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in _REDUCES and last_name(node.func.value) not in ("self", "np", "numpy", "math")
