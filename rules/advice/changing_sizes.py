"""A compiled function that a loop calls with another size each time, and that is compiled anew for some of them.

Why: `torch.compile` compiles for the sizes that it sees. The second size makes it compile once more, with that dimension left
open; what the first compilation took is lost, and sizes of 0 and 1 are compiled for themselves. `mark_dynamic` leaves the
dimension open from the first call on.

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

When not: each size is to have code of its own, or `dynamic=` has decided. Tests and benchmarks are left alone.

Measure: `TORCH_LOGS=recompiles python your_script.py` says what each recompilation is for.

Source: https://docs.pytorch.org/docs/main/user_guide/torch_compiler/compile/programming_model.reducing_compile_time.html;
torch 2.15 wheel: torch/_dynamo/decorators.py (`mark_dynamic`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.semantics.resolve import leaf

from ._seen.advice import advise
from ._seen.nodes import own

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Scope

rule = Rule(
    code="AD928",
    symbols=("torch.compile",),
    pairs={"torch.compile": ()},
    message="`{symbol}` compiles this anew for another size; `torch._dynamo.mark_dynamic` leaves the dimension open at once",
    since=(2, 1),
    default=False,
    kinds=frozenset({Kind.CALL, Kind.DECORATOR}),
)

_DECIDED = re.compile(rb"\bmark_dynamic\b|\bmark_unbacked\b|\bdynamic\s*=|\bautomatic_dynamic_shapes\b")
_MAKES = frozenset({"randn", "rand", "zeros", "ones", "empty", "randint", "full"})


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    name = _name(use)
    if name is None or _DECIDED.search(ctx.source.text):
        return
    owner = use.place.scope.find(name)
    for scope in (scope for scope in ctx.uses.scopes.all if scope.find(name) is owner):
        for loop in own(scope.node.body):
            if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
                continue
            for call in own(loop.body):
                called = (
                    isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == name
                )
                if called and any(_is_sized(given, loop, scope, ctx) for given in call.args):  # type: ignore[attr-defined]
                    yield from advise(use, ctx, at=call)
                    return


def _name(use: Use) -> str | None:
    """The variable that holds the compiled function."""
    if use.decorated is not None:
        return use.decorated.name
    made = use.place.statement
    plain = isinstance(made, ast.Assign) and made.value is use.call and isinstance(made.targets[0], ast.Name)
    return made.targets[0].id if plain else None  # type: ignore[attr-defined]


def _is_sized(node: ast.expr, loop: ast.For, scope: Scope, ctx: Context) -> bool:
    """Whether a tensor is made with the loop's number as a size."""
    if isinstance(node, ast.Name):
        value = ctx.uses.flow.definition(node, scope)
        return value is not None and not isinstance(value, ast.Name) and _is_sized(value, loop, scope, ctx)
    if not isinstance(node, ast.Call) or leaf(node.func) not in _MAKES:
        return False
    sizes = [
        size for given in node.args for size in (given.elts if isinstance(given, ast.Tuple) else [given])
    ]
    counted = loop.target
    return any(
        isinstance(size, ast.Name) and isinstance(counted, ast.Name) and size.id == counted.id
        for size in sizes
    )
