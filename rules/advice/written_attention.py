r"""Attention written out with a softmax, which `scaled_dot_product_attention` computes without its matrix of weights.

Why: written out, attention makes a matrix of weights that is as large as the square of the sequence's length, several times over:
for the scores, the scaled and the masked ones, the softmax and its dropout. `scaled_dot_product_attention` chooses a flash,
memory-efficient or cuDNN kernel, which never stores it.

    attn = (q @ k.transpose(-2, -1)) * self.scale
    attn = attn.softmax(dim=-1)
    attn = self.attn_drop(attn)
    x = attn @ v
    →
    x = F.scaled_dot_product_attention(
        q, k, v, dropout_p=self.attn_drop.p if self.training else 0.0, scale=self.scale
    )

Needs: torch 2.1 (2.0 has no `scale`).

Brings: memory that grows with the length and not with its square, and fewer kernels.

When not: the weights themselves are used, returned or kept for hooks. Such code is not reported, nor are tests, functions called
reference or naive, files that import other kernels of attention, and classes that call `scaled_dot_product_attention` too,
where the code is one of several choices.

Fix safety: unsafe. Results are equal up to rounding; dropout draws other random numbers. Without a fix, the message says what stands
in the way: a scale or a dropout that the file does not define. `masked_fill(mask == 0, …)` becomes `attn_mask=mask != 0`: rows that are masked
entirely give zeros instead of NaN, or of the mean of the values. A mask that is added must have the dtype of the query, and must
not be boolean. For a causal mask, `is_causal=True` alone is enough. `scale or head_dim ** -0.5` is taken for a number; a caller that
passes a tensor gets a TypeError.

Measure: `torch.cuda.max_memory_allocated()` after a step, and the time of one layer, with both.

Source: torch 2.0 and 2.1 wheels: torch/nn/functional.py (`scaled_dot_product_attention`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.rewrite.changes import Part, Remove, Template, replace, template
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name

from ._analyses.advice_findings import create_advice
from ._analyses.attention_code import Attention, AttentionReader
from ._analyses.enclosing_nodes import enclosing_class, is_meant

rule = Rule(
    code="AD905",
    symbols=("torch.softmax", "torch.nn.functional.softmax", ".softmax"),
    message="this is attention, written out; `F.scaled_dot_product_attention` computes it without storing the weights",
    since=(2, 1),
    pairs={".softmax": ("transpose", "mT")},
    safety=Safety.UNSAFE,
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_KERNELS = re.compile(rb"\b(?:import|from)[ \t]+(?:flash_attn|xformers|triton|torch\.nn\.attention)\b")
"""What shows that the file brings a kernel for what it also writes out."""
_CHOICE = re.compile(r"scaled_dot_product_attention|(?i:sdpa|flash|fused_attn)")
"""What shows that the code around is one of several choices."""


_SIZES = re.compile(
    r"(?i)(?:^|_)(?:d|dk|dim|dims|size|width|channels|embed|hidden|features|d_?k|e)$|dim|size"
)
"""Names of sizes, which are no tensors."""


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if is_meant(use, ctx, _CHOICE):
        return
    found = None if _KERNELS.search(ctx.source.text) else AttentionReader(use, ctx).read()
    if found is not None and not _is_learned(found.scale, ctx):
        yield from create_advice(use, ctx, at=found.product, fix=lambda: _create_fix(found, use, ctx))


def _is_learned(scale: ast.expr | None, ctx: Context) -> bool:
    """Return whether the file makes a scale a parameter, which `scaled_dot_product_attention` does not take."""
    return isinstance(scale, ast.Attribute) and any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and last_name(node.value.func) == "Parameter"
        and any(isinstance(target, ast.Attribute) and target.attr == scale.attr for target in node.targets)
        for node in ast.walk(ctx.source.syntax_tree)
    )


def _create_fix(found: Attention, use: Use, ctx: Context) -> Fix:
    code = "{function}({query}, {key}, {value}"
    parts: dict[str, Part] = {"query": found.query, "key": found.key, "value": found.value}
    if found.mask is not None:
        code += ", attn_mask={mask}"
        parts["mask"] = found.mask
    elif found.fill is not None:
        code += ", attn_mask={mask}"
        parts["mask"] = _write_kept(found.fill)
        if found.tested is not None and not _is_inverted(found.fill, found.tested):
            code = code.replace("{mask}", "{mask} if {tested} is not None else None")
            parts["tested"] = found.tested
    if found.dropout is not None:
        code += ", dropout_p={dropout}"
        parts["dropout"] = _write_dropout(found.dropout, use)
    if found.scale is None:
        code += ", scale=1.0)"
    elif not _is_number(found.scale, use):
        raise NoFix("the scale may be a tensor here, and `scale` has to be a number")
    else:
        code += ", scale=1 / {scale})" if found.divided else ", scale={scale})"
        parts["scale"] = found.scale
    function = ctx.write_symbol("torch.nn.functional.scaled_dot_product_attention", use)
    if not found.helpers:
        # One expression becomes another as a whole, since what surrounds its parts does not stay.
        parts = {
            name: _as_written(part) if isinstance(part, ast.expr) else part for name, part in parts.items()
        }
    attention = replace(found.product, code, function=function, **parts)
    changes = (attention, *(Remove(statement) for statement in found.helpers))
    return Fix(changes, Safety.UNSAFE, "Use `scaled_dot_product_attention`")


def _is_inverted(fill: ast.expr, mask: ast.expr) -> bool:
    """Return whether what is filled in is the opposite of a mask, which then marks what is kept."""
    return isinstance(fill, ast.UnaryOp) and ast.unparse(fill.operand) == ast.unparse(mask)


def _write_kept(fill: ast.expr) -> Template:
    """Return a mask that is True where ``fill``, the one that is filled in, is False."""
    match fill:
        case ast.UnaryOp(op=ast.Invert(), operand=kept):
            return template("{kept}", kept=kept)
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return template("{left} != {right}", left=left, right=right)
    return template("~{fill}", fill=fill)


def _as_written(node: ast.expr) -> Template:
    return template(ast.unparse(node).replace("{", "{{").replace("}", "}}"))


def _write_dropout(dropout: ast.Call, use: Use) -> Template:
    """Return the chance of dropout for what a call of a module or of ``F.dropout`` does."""
    if last_name(dropout.func) == "dropout" and len(dropout.args) + len(dropout.keywords) > 1:
        chance, active = find_argument(dropout, 1, "p"), find_argument(dropout, 2, "training")
        if chance is None or active is None:
            raise NoFix("the dropout's chance, or whether it is active, is not written here")
        return template("{p} if {active} else 0.0", p=chance, active=active)
    made = _find_attribute(dropout.func, use)
    if not isinstance(made, ast.Call) or last_name(made.func) != "Dropout":
        raise NoFix("what is applied to the weights is not certainly an `nn.Dropout`")
    return template("{module}.p if self.training else 0.0", module=dropout.func)


def _find_attribute(node: ast.expr, use: Use) -> ast.expr | None:
    """Return the only value that the enclosing class gives to ``self.name``."""
    owner = enclosing_class(use)
    if owner is None or not (isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"):
        return None
    values = [
        statement.value
        for statement in ast.walk(owner)
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == f"self.{node.attr}"
    ]
    return values[0] if len(values) == 1 else None


def _is_number(node: ast.expr, use: Use, depth: int = 4) -> bool:
    """Return whether an expression is a number: arithmetic on literals, sizes, attributes that are numbers, and a scale to pass."""
    match node:
        case ast.Constant():
            return isinstance(node.value, int | float)
        case ast.BinOp(left=ast.BinOp(op=ast.FloorDiv()), op=ast.Pow(), right=right):
            return _is_number(right, use, depth)
        case ast.BinOp(left=ast.Name() | ast.Attribute() as left, op=ast.Pow(), right=right):
            return bool(_SIZES.search(last_name(left) or "")) and _is_number(right, use, depth)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand, use, depth)
        case (
            ast.BoolOp(op=ast.Or(), values=[ast.Name(id=passed), other])
            | ast.IfExp(test=ast.Compare(ops=[ast.IsNot()]), body=ast.Name(id=passed), orelse=other)
        ):
            return "scale" in passed and _is_number(other, use, depth)
        case ast.BinOp(left=left, right=right):
            return _is_number(left, use, depth) and _is_number(right, use, depth)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math" | "np" | "numpy"), attr="sqrt")):
            return True
        case ast.Call(func=ast.Name(id="float" | "int")):
            return True
        case ast.Attribute() if depth:
            value = _find_attribute(node, use)
            return value is not None and _is_number(value, use, depth - 1)
    return _is_size(node)


def _is_size(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="size"), args=[_]):
            return True
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
    return False
