"""A model of repeated blocks that is compiled as a whole, where compiling one block takes a fraction of the time.

Why: `torch.compile` of a whole model unrolls the loop over its blocks and compiles each of them. Since torch 2.5 a block that
is compiled for itself is compiled once, and its code serves all others of the same class and shapes without a recompilation.

    model = torch.compile(Transformer())
    →
    model = Transformer()
    for block in model.blocks:
        block.compile()

Or decorate the block's forward with `torch.compiler.nested_compile_region` (torch 2.8 and newer) and compile the whole.

Needs: torch 2.5.

Brings: a shorter cold start, at 1 to 5 % of the compiled model's speed, as the release blog of 2.5 says; the more blocks,
the shorter.

When not: the blocks differ, there are only a few of them, or the start does not matter: what lies between blocks is then no
longer fused with them.

Measure: `TORCH_LOGS=dynamo TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 python your_script.py`; `torch._dynamo.utils.compile_times()`
at its end prints the seconds.

Source: https://pytorch.org/blog/pytorch2-5/, https://docs.pytorch.org/tutorials/recipes/regional_compilation.html; torch 2.5
wheel: torch/_dynamo/config.py (`inline_inbuilt_nn_modules`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.semantics.resolve import leaf

from ._seen.advice import advise
from ._seen.compiled import code_of, compiled

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="AD923",
    symbols=("torch.compile",),
    pairs={"torch.compile": ()},
    message="the model repeats one block; compiling the block alone starts much faster",
    since=(2, 5),
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_FEW = 3


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    defined = compiled(use, ctx)
    if not isinstance(defined, ast.ClassDef):
        return
    code = code_of(defined)
    run = (
        {node.attr for node in ast.walk(code) if isinstance(node, ast.Attribute)}
        if code is not None
        else set()
    )
    block = next((block for name, block in _repeated(defined) if name in run), None)
    if block is not None:
        message = (
            f"`{defined.name}` repeats one block, `{block}`; compiling the block alone starts much faster"
        )
        yield from advise(use, ctx, message)


def _repeated(model: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """The attributes that hold blocks made by one expression, with the block's class."""
    for node in ast.walk(model):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)):
            continue
        for call in ast.walk(node.value):
            if not (
                isinstance(call, ast.Call) and leaf(call.func) in ("ModuleList", "Sequential") and call.args
            ):
                continue
            given = call.args[0].value if isinstance(call.args[0], ast.Starred) else call.args[0]
            if isinstance(given, (ast.ListComp, ast.GeneratorExp)) and isinstance(given.elt, ast.Call):
                block = leaf(given.elt.func) or ""
                if _is_block(given.elt) and _many(given):
                    yield node.targets[0].attr, block


def _is_block(made: ast.Call) -> bool:
    """Whether a class is one of a project's blocks or layers, and not one of torch's small operations."""
    name = leaf(made.func) or ""
    own = isinstance(made.func, ast.Name)
    return name[:1].isupper() and (name.endswith(("Block", "Layer")) or (own and name not in _SMALL))


_SMALL = frozenset(
    {"Linear", "Conv1d", "Conv2d", "Conv3d", "Embedding", "LayerNorm", "Dropout", "Sequential", "ModuleList"}
)


def _many(comprehension: ast.ListComp | ast.GeneratorExp) -> bool:
    over = comprehension.generators[0].iter
    if len(comprehension.generators) != 1 or not isinstance(over, ast.Call) or leaf(over.func) != "range":
        return False
    last = over.args[-1] if over.args else None
    return not (isinstance(last, ast.Constant) and isinstance(last.value, int) and last.value < _FEW)
