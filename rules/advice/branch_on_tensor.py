"""A Python branch on a tensor's value in a compiled, exported or captured region, which `torch.cond` can express.

Why: an `if` on a tensor's value is decided on the CPU. It splits the graph of `torch.compile` in two, or raises with
`fullgraph=True`; `torch.export` rejects it; inside a CUDA graph, reading the value is an error. `torch.cond` keeps both
branches, and torch 2.12 captures it into a CUDA graph as a conditional node, which the GPU decides.

    if x.sum() > 0:
        y = a(x)
    else:
        y = b(x)
    →
    y = torch.cond(x.sum() > 0, a, b, (x,))

Needs: torch 2.4 for compiled or exported code; for a CUDA graph torch 2.12, CUDA 12.4, and the backend `eager` or
`cudagraphs`.

Brings: one graph instead of two, and no wait for the value.

When not: the branches return tensors of different shapes or types, change state outside, or need gradients that
`torch.cond` does not support; or one branch is rare and cheap to leave out.

Measure: `TORCH_LOGS=graph_breaks python your_script.py` lists the branches that split a graph.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.12 wheel: torch/_higher_order_ops/cond.py,
torch/_higher_order_ops/cudagraph_conditional_nodes.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.scopes import Scope
from torchmigrate.semantics.tensors import is_tensor_parameter

from ._analyses.advice_findings import create_advice
from ._analyses.compiled_code import find_code, find_compiled, list_statements
from ._analyses.enclosing_nodes import FunctionNode, find_with, walk_body

_CAPTURES = ("torch.cuda.graph", "torch.cuda.graphs.graph")
_COMPILES = ("torch.compile", ".compile", "torch.export.export", "torch.cuda.make_graphed_callables")

rule = Rule(
    code="AD921",
    symbols=(*_CAPTURES, *_COMPILES),
    pairs=dict.fromkeys((*_CAPTURES, *_COMPILES), ()),
    message="this branch on a tensor's value breaks the graph or fails the export; use `torch.cond`",
    since=(2, 4),
    default=False,
    kinds=frozenset({Kind.CALL, Kind.DECORATOR, Kind.REFERENCE}),
)

_LEAVES = (
    ast.Raise,
    ast.Break,
    ast.Continue,
    ast.Assert,
    ast.For,
    ast.While,
    ast.With,
    ast.Try,
    ast.Yield,
    ast.Await,
)
_REDUCTIONS = frozenset(
    {"sum", "mean", "max", "min", "norm", "amax", "amin", "prod", "std", "var", "abs", "argmax", "argmin"}
)
_TESTS = frozenset({"any", "all", "isnan", "isfinite", "isinf"})
_GRAPHS = "a CUDA graph cannot contain this branch on a tensor's value; use `torch.cond`, which becomes a conditional node"


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.symbol in _CAPTURES:
        captured = find_with(use, ctx)
        if captured is not None:
            yield from _find_branches(captured[0].body, use, ctx, use.place.scope, graphs=True)
        return
    defined = find_compiled(use, ctx)
    code = find_code(defined) if defined is not None else None
    if code is not None:
        scope = ctx.uses.scopes.by_node.get(code, use.place.scope)
        yield from _find_branches(
            list_statements(code), use, ctx, scope, graphs=use.symbol.endswith("make_graphed_callables")
        )


def _find_branches(
    body: Sequence[ast.AST], use: Use, ctx: Context, scope: Scope, *, graphs: bool
) -> Iterator[Finding]:
    """Yield findings for the branches in ``body``; ``graphs`` says that it is captured as a CUDA graph."""
    for node in walk_body(body):
        if not isinstance(node, (ast.If, ast.IfExp)) or not _reads_tensor(node.test, use, ctx, scope):
            continue
        if isinstance(node, ast.IfExp) or _gives_values(node):
            first = ctx.uses.compute_once((ctx.rule.code, node), lambda: use)
            if first is not use:  # two uses may compile the same code
                continue
            if graphs:
                yield from create_advice(use, ctx, _GRAPHS, at=node.test, since=(2, 12))
            else:
                yield from create_advice(use, ctx, at=node.test)


def _gives_values(node: ast.If) -> bool:
    """Return whether the branches of an ``if`` only compute values, as those of `torch.cond` must."""
    inside = list(walk_body([*node.body, *node.orelse]))
    if any(isinstance(part, _LEAVES) for part in inside):
        return False
    if any(isinstance(part, ast.Expr) and not isinstance(part.value, ast.Constant) for part in inside):
        return False
    return any(
        isinstance(part, (ast.Assign, ast.AugAssign))
        or (isinstance(part, ast.Return) and part.value is not None)
        for part in inside
    )


def _reads_tensor(test: ast.expr, use: Use, ctx: Context, scope: Scope) -> bool:
    """Return whether a test in ``scope`` has to read a tensor's values: ``x.sum() > 0``, ``torch.isnan(x).any()``."""
    match test:
        case ast.Name():
            value = ctx.uses.data_flow.find_definition(test, scope)
            if value is None:
                return _is_required_tensor(test.id, scope, ctx)
            return not isinstance(value, ast.Name) and _reads_tensor(value, use, ctx, scope)
        case ast.UnaryOp(op=ast.Not(), operand=inner) | ast.Call(func=ast.Name(id="bool"), args=[inner, *_]):
            return _reads_tensor(inner, use, ctx, scope)
        case ast.BoolOp(values=parts):
            return all(_reads_tensor(part, use, ctx, scope) for part in parts)
        case ast.Compare():
            sides = (test.left, *test.comparators)
            return _compares_numbers(test) and any(_is_scalar(side, use, ctx, scope) for side in sides)
        case ast.Call():
            return last_name(test.func) in _TESTS and _is_scalar(test, use, ctx, scope)
    return False


def _is_required_tensor(name: str, scope: Scope, ctx: Context) -> bool:
    """Return whether a name is a parameter that is annotated as a tensor and has no default, which may be None."""
    if not isinstance(scope.node, FunctionNode) or not is_tensor_parameter(name, scope, ctx.uses):
        return False
    arguments = scope.node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    return name in [one.arg for one in plain[: len(plain) - len(arguments.defaults)]]


def _compares_numbers(test: ast.Compare) -> bool:
    """Return whether a comparison is one of order, or of one value with a number: ``x.sum() == 0``."""
    if all(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in test.ops):
        return True
    (right, *others) = test.comparators
    is_number = isinstance(right, ast.Constant) and type(right.value) in (int, float)
    return is_number and not others and isinstance(test.ops[0], (ast.Eq, ast.NotEq))


def _is_scalar(node: ast.expr, use: Use, ctx: Context, scope: Scope) -> bool:
    """Return whether an expression, or what its variable is set to, reduces a tensor to one value."""
    if isinstance(node, ast.Name):
        value = ctx.uses.data_flow.find_definition(node, scope)
        return isinstance(value, ast.Call) and _is_scalar(value, use, ctx, scope)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    name, resolved = node.func.attr, ctx.resolve_node(node.func, use)
    if resolved is not None:
        return resolved.names[0].startswith("torch.") and name in _REDUCTIONS | _TESTS
    reduces = name in _REDUCTIONS | _TESTS or (name == "item" and not node.args)
    return reduces and not any(map(_is_size, ast.walk(node.func.value)))


def _is_size(node: ast.AST) -> bool:
    # `x.shape.max()` and `np.sum()` are known without waiting for the device.
    return isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "numel", "ndim", "np", "numpy")
