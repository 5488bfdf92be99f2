"""A compiled function that a loop calls with changing sizes, so that it is recompiled.

Why: `torch.compile` compiles for the sizes that it sees. The second size makes it compile again, this time with a dynamic
dimension; the time of the first compilation is lost, and the sizes 0 and 1 get code of their own. `mark_dynamic` makes the
dimension dynamic from the first call on.

    compiled = torch.compile(f)
    for n in (128, 256, 512):
        compiled(torch.randn(n, 64))
    →
    for n in (128, 256, 512):
        x = torch.randn(n, 64)
        torch._dynamo.mark_dynamic(x, 0)
        compiled(x)

Needs: torch 2.1.

Brings: one compilation instead of two or more.

When not: each size should have code of its own, or `dynamic=` already decides. Tests and benchmarks are not reported.

Measure: `TORCH_LOGS=recompiles python your_script.py` gives the reason for each recompilation.

Source: https://docs.pytorch.org/docs/main/user_guide/torch_compiler/compile/programming_model.reducing_compile_time.html;
torch 2.15 wheel: torch/_dynamo/decorators.py (`mark_dynamic`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.scopes import Scope
from torchmigrate.semantics.tensors import list_sizes

from ._analyses.advice_findings import create_advice
from ._analyses.enclosing_nodes import enclosing_class, walk_body

rule = Rule(
    code="AD928",
    symbols=("torch.compile",),
    pairs={"torch.compile": ()},
    message="each new size makes `{symbol}` compile this again; mark the dimension with `torch._dynamo.mark_dynamic`",
    since=(2, 1),
    default=False,
    kinds=frozenset({Kind.CALL, Kind.DECORATOR}),
)

_DECIDED = re.compile(
    rb"\bmark_dynamic\b|\bmark_unbacked\b|\bdynamic(?:[\"']\]?)?\s*[=:]|\bautomatic_dynamic_shapes\b"
)
_MOVES = frozenset({"cuda", "xpu", "to", "half", "bfloat16", "float"})


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    name = _find_compiled_name(use)
    if name is None or _DECIDED.search(ctx.source.text):
        return
    for scope in _visible_scopes(name, use, ctx):
        for loop in walk_body(scope.node.body):
            if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
                continue
            for call in walk_body(loop.body):
                called = isinstance(call, ast.Call) and ast.unparse(call.func) == name
                if called and any(_is_sized(given, loop.target.id, scope, ctx) for given in call.args):  # type: ignore[attr-defined]
                    yield from create_advice(use, ctx, at=call)
                    return


def _visible_scopes(name: str, use: Use, ctx: Context) -> Iterator[Scope]:
    """Yield the scopes that see the compiled function: through its variable, or as methods of the class that keeps it."""
    if name.startswith("self."):
        around = enclosing_class(use)
        body = around.body if around is not None else []
        yield from (scope for scope in ctx.uses.scopes.all if scope.node in body)
    else:
        owner = use.place.scope.find_scope(name)
        yield from (scope for scope in ctx.uses.scopes.all if scope.find_scope(name) is owner)


def _find_compiled_name(use: Use) -> str | None:
    """Return the variable, or attribute of the object, that holds the compiled function, as written."""
    if use.decorated is not None:
        return use.decorated.name
    made = use.place.statement
    target = made.targets[0] if isinstance(made, ast.Assign) and made.value is use.call else None
    name = ast.unparse(target) if target is not None else ""
    is_attribute = isinstance(target, ast.Attribute) and name == f"self.{target.attr}"
    return name if isinstance(target, ast.Name) or is_attribute else None


def _is_sized(node: ast.expr, counter: str, scope: Scope, ctx: Context) -> bool:
    """Return whether a tensor is created with the loop variable ``counter`` as a size."""
    if isinstance(node, ast.Name):
        value = ctx.uses.data_flow.find_definition(node, scope)
        return value is not None and not isinstance(value, ast.Name) and _is_sized(value, counter, scope, ctx)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
        return _is_sized(node.func.value, counter, scope, ctx)
    if not isinstance(node, ast.Call):
        return False
    return any(isinstance(size, ast.Name) and size.id == counter for size in list_sizes(node))
