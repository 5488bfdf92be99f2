"""The replacement of a script: `torch.compile`, or the function as it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Context, NoFix, Use
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function, walk_nodes

from . import script_patches
from .differentiation import find_derivative
from .inferred_types import InferredTypes, infer_types
from .traced_code import find_trace_of, find_tracing_test

_LINE_END = re.compile(r"\r\n|\r|\n")
_ARGUES = re.compile(
    r"torch[._ ]?compile|dynamo|inductor|recompil"
    r"|(script|jit)\b.*\b(because|instead|shapes?|dynamic|must|only|faster|slower)",
    re.IGNORECASE,
)
_COMPILES = re.compile(r"compile|dynamo|inductor", re.IGNORECASE)
_SIZED_BY_VALUES = frozenset(
    {"nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "bincount", "repeat_interleave"}
)
_SMALL = 12
"""The number of statements up to which a function is small."""
_HEAVY = frozenset(
    {"matmul", "mm", "bmm", "baddbmm", "addmm", "einsum", "linear", "conv1d", "conv2d", "conv3d", "cdist"}
    | {"embedding", "scaled_dot_product_attention", "sort", "topk", "cumsum", "inverse", "svd", "fft"}
)


def explain_eager(function: ast.AST | None, use: Use, ctx: Context) -> str | None:
    """Return why a function is to be left as it is, as the title of the fix; None where it is to be compiled.

    ``function`` is its definition, if the file shows it. Raises NoFix where the author has to decide.
    """
    if title := explain_uncompiled("function", function, ctx):
        return title
    # `torch.jit.trace` and symbolic tracing raise an error when they reach a compiled function.
    if find_tracing_test(function, ctx) or find_trace_of(function, ctx):
        return "Use the function as it is: a trace rejects compiled functions"
    _check_switch(use, ctx)
    argued = _find_argument_line(function, use, ctx)
    if argued is not None:
        if not isinstance(function, Function) or not _is_small(function):
            raise NoFix(
                f"line {argued} explains how this code should be compiled; choose `torch.compile` or plain Python yourself"
            )
        return f"Use the function as it is: it is small, and line {argued} explains how it should be compiled"
    varies = _explain_variation(function, ctx) if isinstance(function, Function) else None
    if varies is not None:
        return f"Use the function as it is: {varies}, and `torch.compile` would recompile it each time"
    return None


def explain_uncompiled(kind: str, definition: ast.AST | None, ctx: Context) -> str | None:
    """Return why nothing scripted is to be compiled, as the title of a fix for a function or module; None if it may be."""
    if ctx.options.script_replacement == "eager":
        return f"Use the {kind} as it is"
    if place := script_patches.find_no_op(ctx):
        return f"Use the {kind} as it is: {place} makes `torch.jit.script` return its argument"
    return explain_rejection(kind, definition, ctx)


def explain_rejection(kind: str, definition: ast.AST | None, ctx: Context) -> str | None:
    """Return why compiled code cannot work, as the title of a fix for a function or module; None if it can.

    ``definition`` is the function or class, if this file shows it.
    """
    if place := find_derivative(definition, ctx):
        return f"Use the {kind} as it is: {place} takes derivatives that compiled code does not support"
    return None


def check_author_choice(use: Use, ctx: Context) -> None:
    """Raise NoFix where the author of scripted code that the file does not show has to decide how to compile it."""
    _check_switch(use, ctx)
    if argued := _find_argument_line(None, use, ctx):
        raise NoFix(
            f"line {argued} explains how this code should be compiled; choose `torch.compile` or plain Python yourself"
        )


def _check_switch(use: Use, ctx: Context) -> None:
    if switch := _find_switch(use, ctx):
        raise NoFix(f"line {switch} decides whether `torch.compile` is used")


def _find_switch(use: Use, ctx: Context) -> int | None:
    """Return the line where code around the use chooses `torch.compile` instead."""
    statements = [use.place.statement, *use.place.enclosing_statements()]
    region: ast.stmt | None = None
    for statement in statements:
        if isinstance(statement, ast.ClassDef) or statement is use.decorated:
            break
        if isinstance(statement, (ast.If, ast.Match, ast.Try)):
            region = statement
        if isinstance(statement, Function):
            region = (
                statement
                if any(isinstance(s, (ast.If, ast.Match)) for s in walk_nodes(statement))
                else region
            )
            break
    chosen = next((p for p in use.parents if isinstance(p, ast.IfExp)), None)
    for root in filter(None, (region, chosen)):
        for node in walk_nodes(root):
            if isinstance(node, (ast.Attribute, ast.Name)) and ctx.is_named(node, use, "torch.compile"):
                return node.lineno
            if isinstance(node, (ast.If, ast.IfExp)) and _COMPILES.search(ast.unparse(node.test)):
                return node.lineno
    return None


def _find_argument_line(function: ast.AST | None, use: Use, ctx: Context) -> int | None:
    """Return the line of a comment or docstring, at the use or in the function, that argues about compiling."""
    places = [use.decorated or use.place.statement, function]
    for node in dict.fromkeys(node for node in places if isinstance(node, ast.stmt)):
        for line, text in _find_remarks(node, ctx):
            if _ARGUES.search(text):
                return line
    return None


def _find_remarks(node: ast.stmt, ctx: Context) -> Iterator[tuple[int, str]]:
    """Find the comments in and right above a statement, and the docstring of a definition, each with its line."""
    lines = ctx.uses.compute_once("lines", lambda: _LINE_END.split(ctx.source.text.decode(errors="replace")))
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    above = first - 1
    while above >= 1 and lines[above - 1].lstrip().startswith("#"):
        yield above, lines[above - 1]
        above -= 1
    if isinstance(node, (Function, ast.ClassDef)) and (docstring := ast.get_docstring(node)):
        yield node.body[0].lineno, docstring.replace("\n", " ")
    for number in range(first, (node.end_lineno or node.lineno) + 1):
        _, mark, comment = lines[number - 1].partition("#")
        if mark:
            yield number, comment


def _is_small(function: Function) -> bool:
    """Return whether a function is only a few operations on elements, which plain Python runs nearly as fast."""
    if sum(isinstance(node, ast.stmt) for node in walk_nodes(function)) > _SMALL:
        return False
    for node in walk_nodes(function):
        if isinstance(node, (ast.For, ast.While, ast.comprehension)):
            return False
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return False
        if isinstance(node, ast.Call) and last_name(node.func) in _HEAVY:
            return False
    return True


def _explain_variation(function: Function, ctx: Context) -> str | None:
    """Return the evidence that sizes change inside a function from call to call."""
    types = infer_types(function, ctx)
    below = list(walk_nodes(function))
    masks = {
        target.id
        for node in below
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Compare)
        for target in node.targets
        if isinstance(target, ast.Name) and "Tensor" in types(node.value.left)
    }
    for node in below:
        match node:
            case ast.While(test=test) if not isinstance(test, ast.Constant):
                return f"the loop on line {node.lineno} depends on run-time values"
            case ast.For(iter=rounds) | ast.comprehension(iter=rounds) if not _is_counted(rounds):
                return f"the loop on line {rounds.lineno} has no fixed number of iterations"
            case ast.Call(func=ast.Attribute(attr=name), args=given) if name in _SIZED_BY_VALUES or (
                name == "where" and len(given) == 1
            ):
                return f"the size of the result of `{name}` on line {node.lineno} depends on run-time values"
            case (
                ast.Subscript(ctx=ast.Load(), slice=index) | ast.AugAssign(target=ast.Subscript(slice=index))
            ) if _is_mask(index, masks, types):
                return f"line {node.lineno} indexes with a mask"
    return None


def _is_mask(index: ast.expr, masks: set[str], types: InferredTypes) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(
        (isinstance(part, ast.Compare) and "Tensor" in types(part.left))
        or (
            isinstance(part, ast.Name)
            and (part.id in masks or ("mask" in part.id and "Tensor" in types(part)))
        )
        or (isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Invert))
        for part in parts
    )


def _is_counted(iterable: ast.expr) -> bool:
    """Return whether the number of iterations is written in the code."""
    if isinstance(iterable, ast.Call) and last_name(iterable.func) in ("range", "enumerate", "zip"):
        return all(isinstance(a, (ast.Constant, ast.UnaryOp)) or _is_counted(a) for a in iterable.args)
    return isinstance(iterable, (ast.Tuple, ast.List))
