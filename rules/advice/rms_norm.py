r"""RMS normalization written out by hand, which `torch.nn.functional.rms_norm` does in one call.

Why: written out, the normalization is five operations, each of which reads and writes a tensor as large as the input, and
autograd keeps some of them for the backward pass. `rms_norm` is one operation where torch has a kernel for it. In half
precision it also computes in float32, so that squares do not overflow, and rounds once.

    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
    →
    y = F.rms_norm(x, x.shape[-1:], eps=self.eps)

A variable that only holds the mean, or only the reciprocal root, goes.

Needs: torch 2.4. Its fused kernel, `_fused_rms_norm`, is for MPS only in torch 2.8, and has a backward pass since torch 2.9;
on CPUs, `rms_norm` is the same five operations.

Brings: fewer kernel launches and less memory traffic outside of `torch.compile`, which fuses both spellings.

When not: the normalization stands beside a kernel of its own as what that is compared with, or as what replaces it. Files that
import such kernels, code that chooses between it and `rms_norm`, and tests are not reported. With a learned weight for the last
dimension, the whole module may become `torch.nn.RMSNorm`, whose state has the same name, `weight`.

Fix safety: unsafe. In float32 and float64 the results are equal up to rounding; in half precision they are more exact, and so
differ. A fix is made where epsilon is a number, or a name that the file gives nothing but plain values.

Measure: this, and again with the line written out:

    python -m timeit -s "import torch; x = torch.randn(4096, 4096, device='cuda')" \
        "torch.nn.functional.rms_norm(x, x.shape[-1:], eps=1e-6); torch.cuda.synchronize()"

Source: torch 2.3, 2.4, 2.8 and 2.9 wheels: torch/_C/_VariableFunctions.pyi (`rms_norm`, `_fused_rms_norm`),
torch/_inductor/lowering.py ("MPS-only", 2.8), torch/_decomp/decompositions.py (`_fused_rms_norm_backward`, 2.9).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import Remove, replace
from torchmigrate.semantics.call_arguments import find_argument

from ._analyses.advice_findings import create_advice
from ._analyses.enclosing_nodes import enclosing_body, is_meant, walk_body

rule = Rule(
    code="AD904",
    symbols=("torch.rsqrt",),
    message="this is RMS normalization, written out; `F.rms_norm` does it in one call",
    since=(2, 4),
    safety=Safety.UNSAFE,
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_KERNELS = re.compile(
    rb"\b(?:import|from)[ \t]+(?:triton|torch_npu|liger_kernel|apex|flash_attn|quack|tilelang)\b"
)
"""What shows that the file brings a kernel for what it also writes out."""
_CHOICE = re.compile(r"rms_?norm(?:_fn|_kernel)|\.rms_?norm\(|\.RMSNorm\b")
"""What shows that the code around is one of several choices."""


@dataclass(frozen=True)
class _Normalization:
    """``values * torch.rsqrt(mean + epsilon)``, where the mean is that of the squares of the same values."""

    product: ast.BinOp
    values: ast.expr
    epsilon: ast.expr
    helpers: tuple[ast.stmt, ...]
    """The statements before it that hold a part of it, and nothing else."""


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    normalization = _find_normalization(use, ctx)
    if normalization is None or _KERNELS.search(ctx.source.text):
        return
    if not is_meant(use, ctx, _CHOICE):
        fix = partial(_create_fix, normalization, use, ctx)
        yield from create_advice(use, ctx, at=normalization.product, fix=fix)


def _create_fix(found: _Normalization, use: Use, ctx: Context) -> Fix:
    if not _is_number(found.epsilon, ctx):
        raise NoFix("epsilon may be a tensor here, which `rms_norm` does not take")
    if not isinstance(found.values, (ast.Name, ast.Attribute)):
        raise NoFix("the values are computed twice here; give them a name first")
    changes: list[FixChange] = [
        replace(
            found.product,
            "{rms_norm}({values}, {values}.shape[-1:], eps={epsilon})",
            rms_norm=ctx.write_symbol("torch.nn.functional.rms_norm", use),
            values=found.values,
            epsilon=found.epsilon,
        ),
        *(Remove(statement) for statement in found.helpers),
    ]
    return Fix(tuple(changes), Safety.UNSAFE, "Use `rms_norm`")


def _find_normalization(use: Use, ctx: Context) -> _Normalization | None:
    """Return the normalization whose reciprocal root is computed at a use, in one expression or with helpers just before."""
    root = use.call
    if root is None or len(root.args) != 1 or root.keywords:
        return None
    block = use.place.block
    position = block.index(use.place.statement)
    held = _find_held_name(use.place.statement, root)
    last = block[position + 1] if held and position + 1 < len(block) else use.place.statement
    if held and not isinstance(last, (ast.Return, ast.Assign, ast.AnnAssign, ast.Expr)):
        return None
    helpers = (use.place.statement,) if held else ()
    product = _find_product(last, held or root)
    if product is None or (held and not _is_read_once(held, use, ctx)):
        return None
    factor = product.left if _is_same(product.right, held or root) else product.right
    for mean, epsilon in _split_sum(root.args[0]):
        values = _find_squared(mean)
        if values is None and isinstance(mean, ast.Name) and position and _is_read_once(mean, use, ctx):
            before = block[position - 1]
            if isinstance(before, ast.Assign) and _find_held_name(before, before.value) is not None:
                values = _find_squared(before.value) if ast.unparse(before.targets[0]) == mean.id else None
                helpers = (before, *helpers)
        if values is not None and _is_same(values, factor) and not _is_centered(values, use, ctx):
            return _Normalization(product, factor, epsilon, helpers)
    return None


def _is_centered(values: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether a mean is taken off the values, which makes this layer normalization."""
    resolved = _resolve(values, use, ctx)
    return (
        isinstance(resolved, ast.BinOp)
        and isinstance(resolved.op, ast.Sub)
        and "mean(" in ast.unparse(_resolve(resolved.right, use, ctx))
    )


def _resolve(node: ast.expr, use: Use, ctx: Context) -> ast.expr:
    made = ctx.uses.data_flow.find_definition(node, use.place.scope) if isinstance(node, ast.Name) else None
    return node if made is None else made


def _find_held_name(statement: ast.stmt, value: ast.expr) -> ast.Name | None:
    """Return the only name that a statement gives to a value."""
    match statement:
        case ast.Assign(targets=[ast.Name() as name]) if statement.value is value:
            return name
    return None


def _is_read_once(name: ast.Name, use: Use, ctx: Context) -> bool:
    """Return whether the enclosing function binds a name once and reads it once."""
    nodes = [
        one for one in walk_body(enclosing_body(use, ctx)) if isinstance(one, ast.Name) and one.id == name.id
    ]
    return [type(one.ctx) for one in sorted(nodes, key=lambda one: one.lineno)] == [ast.Store, ast.Load]


def _find_product(statement: ast.stmt, factor: ast.expr) -> ast.BinOp | None:
    """Return the product in a statement that has a factor."""
    found = (node for node in walk_body([statement]) if isinstance(node, ast.BinOp))
    products = (node for node in found if isinstance(node.op, ast.Mult))
    return next((one for one in products if _is_same(one.left, factor) or _is_same(one.right, factor)), None)


def _is_same(one: ast.expr, other: ast.expr) -> bool:
    return one is other or ast.unparse(one) == ast.unparse(other)


def _split_sum(total: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield both ways to read a sum as a mean and an epsilon."""
    if isinstance(total, ast.BinOp) and isinstance(total.op, ast.Add):
        yield total.left, total.right
        yield total.right, total.left


def _find_squared(mean: ast.expr) -> ast.expr | None:
    """Return the values of whose squares this is the mean along the last dimension, which it keeps."""
    match mean:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="mean"), args=[squares, *rest]):
            pass
        case ast.Call(func=ast.Attribute(value=squares, attr="mean"), args=rest):
            pass
        case _:
            return None
    call = ast.Call(mean.func, rest, mean.keywords)
    dimension, kept = find_argument(call, 0, "dim"), find_argument(call, 1, "keepdim")
    if dimension is None or ast.unparse(dimension) not in ("-1", "[-1]", "(-1,)"):
        return None
    if not isinstance(kept, ast.Constant) or kept.value is not True or len(rest) + len(mean.keywords) != 2:
        return None
    match squares:
        case ast.BinOp(left=values, op=ast.Pow(), right=ast.Constant(value=2)):
            return values
        case ast.BinOp(left=values, op=ast.Mult(), right=other) if _is_same(values, other):
            return values
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr="pow"), args=[values, ast.Constant(value=2)]
        ):
            return values
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="square"), args=[values]):
            return values
        case ast.Call(func=ast.Attribute(value=values, attr="pow"), args=[ast.Constant(value=2)]):
            return values
        case ast.Call(func=ast.Attribute(value=values, attr="square"), args=[]):
            return values
    return None


def _is_number(epsilon: ast.expr, ctx: Context) -> bool:
    """Return whether epsilon is a number, or a name that the file binds to names, numbers and parameters only."""
    if isinstance(epsilon, ast.Constant):
        return isinstance(epsilon.value, float | int)
    if not isinstance(epsilon, (ast.Name, ast.Attribute)):
        return False
    name = epsilon.id if isinstance(epsilon, ast.Name) else epsilon.attr
    for node in ast.walk(ctx.source.syntax_tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = any(getattr(target, "attr", getattr(target, "id", None)) == name for target in targets)
            if named and not isinstance(node.value, (ast.Constant, ast.Name, ast.Attribute)):
                return False
        elif isinstance(node, ast.arg) and node.arg == name:
            if node.annotation is not None and "Tensor" in ast.unparse(node.annotation):
                return False
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("register_buffer"):
            match node.args:
                case [ast.Constant(value=registered), *_] if registered == name:
                    return False
    return True
