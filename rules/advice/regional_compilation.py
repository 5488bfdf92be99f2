"""A model of repeated blocks that is compiled as a whole, although compiling one block takes a fraction of the time.

Why: `torch.compile` of a whole model unrolls the loop over its blocks and compiles each of them. Since torch 2.5 a block that
is compiled separately is compiled once, and all others of the same class and shapes use its code without a recompilation.

    model = torch.compile(Transformer())
    →
    model = Transformer()
    for block in model.blocks:
        block.compile()

Or decorate the block's `forward` with `torch.compiler.nested_compile_region` (torch 2.8 and newer) and compile the whole.

Needs: torch 2.5.

Brings: a cold start that is the shorter the more blocks there are, for 1 to 5 % of the compiled model's speed, according to
the release blog of torch 2.5.

When not: the blocks differ (a block that receives its index is compiled for each index), there are only a few of them, or
the start does not matter: code between the blocks is no longer fused with them.

Measure: run `TORCH_LOGS=dynamo TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 python your_script.py`, with
`torch._dynamo.utils.compile_times()` at its end to print the seconds.

Source: https://pytorch.org/blog/pytorch2-5/, https://docs.pytorch.org/tutorials/recipes/regional_compilation.html; torch 2.5
wheel: torch/_dynamo/config.py (`inline_inbuilt_nn_modules`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.name_resolution import last_name

from ._analyses.advice_findings import create_advice
from ._analyses.compiled_code import find_code, find_compiled
from ._analyses.enclosing_nodes import enclosing_class

rule = Rule(
    code="AD923",
    symbols=("torch.compile", ".compile"),
    pairs={"torch.compile": (), ".compile": ()},
    since=(2, 5),
    default=False,
    by_code=True,
    kinds=frozenset({Kind.CALL}),
)

_FEW = 3


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.call is not None and any(one.arg in (None, "mode", "options") for one in use.call.keywords):
        return  # CUDA graphs and tuning are for the model as a whole
    defined = find_compiled(use, ctx)
    if getattr(defined, "name", "") == "forward":  # self.forward = torch.compile(self.forward)
        defined = enclosing_class(use)
    if not isinstance(defined, ast.ClassDef):
        return
    code = find_code(defined)
    below = ast.walk(code) if code is not None else ()
    run = {node.attr for node in below if isinstance(node, ast.Attribute)}
    block = next((block for name, block in _find_repeated(defined, use) if name in run), None)
    if block is not None:
        message = (
            f"`{defined.name}` repeats the block `{block}`; compile only the block to start up much faster"
        )
        yield from create_advice(use, ctx, message)


def _find_repeated(model: ast.ClassDef, use: Use) -> Iterator[tuple[str, str]]:
    """Yield the attributes that hold blocks created by one expression, with the name of the block's class."""
    for node in ast.walk(model):
        if isinstance(node, ast.For):
            yield from _find_appended(node, use)
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)):
            continue
        for call in ast.walk(node.value):
            if not (
                isinstance(call, ast.Call)
                and last_name(call.func) in ("ModuleList", "Sequential")
                and call.args
            ):
                continue
            given = call.args[0].value if isinstance(call.args[0], ast.Starred) else call.args[0]
            if isinstance(given, ast.Name):
                loops = (inner for inner in ast.walk(model) if isinstance(inner, ast.For))
                made = (found for loop in loops for found in _find_appended(loop, use, ast.Name))
                yield from ((node.targets[0].attr, block) for name, block in made if name == given.id)
            if not isinstance(given, (ast.ListComp, ast.GeneratorExp)) or not isinstance(given.elt, ast.Call):
                continue
            (first, *others) = given.generators
            if (
                not others
                and _is_block(given.elt, use)
                and _creates_alike(first.target, first.iter, given.elt)
            ):
                yield node.targets[0].attr, last_name(given.elt.func) or ""


def _find_appended(
    loop: ast.For, use: Use, kind: type[ast.Attribute | ast.Name] = ast.Attribute
) -> Iterator[tuple[str, str]]:
    """Yield the attributes, or variables if ``kind`` is `ast.Name`, filled as in ``for _ in range(n): self.blocks.append(Block())``."""
    (only, *others) = loop.body
    held, made = _find_added_value(only)
    if others or not (isinstance(held, kind) and isinstance(made, ast.Call)):
        return
    if _is_block(made, use) and _creates_alike(loop.target, loop.iter, made):
        yield last_name(held) or "", last_name(made.func) or ""


def _find_added_value(statement: ast.stmt) -> tuple[ast.expr | None, ast.expr | None]:
    """Return a container and what a statement adds: ``self.blocks.append(Block())``, ``self.blocks[str(i)] = Block()``."""
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=container), *_], value=added):
            return container, added
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=container, attr="append"), args=[added])):
            return container, added
    return None, None


def _is_block(made: ast.Call, use: Use) -> bool:
    """Return whether a call creates a block of several modules, judged by its class, or else by the name."""
    owner = use.place.scope.find_scope(made.func.id) if isinstance(made.func, ast.Name) else None
    for binding in owner.bindings[made.func.id] if owner is not None else ():  # type: ignore[attr-defined]
        if isinstance(binding.node, ast.ClassDef):
            return sum(map(_count_modules, ast.walk(binding.node))) > 1
    return (last_name(made.func) or "").endswith(("Block", "Layer"))


def _count_modules(node: ast.AST) -> int:
    """Count the modules that a statement keeps: two for ``self.mlp = Sequential(Linear(…), Linear(…))``."""
    if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)):
        return 0
    made = [part for part in ast.walk(node.value) if isinstance(part, ast.Call)]
    return sum(
        (last_name(call.func) or "")[:1].isupper()
        and last_name(call.func) not in ("Sequential", "ModuleList")
        for call in made
    )


def _creates_alike(target: ast.expr, over: ast.expr, made: ast.expr) -> bool:
    """Return whether a loop creates more than a few modules, none of which receives its index."""
    numbers = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
    if not isinstance(over, ast.Call) or last_name(over.func) != "range" or not over.args:
        return False
    if any(isinstance(part, ast.Name) and part.id in numbers for part in ast.walk(made)):
        return False
    last = over.args[-1]
    return not (isinstance(last, ast.Constant) and isinstance(last.value, int) and last.value < _FEW)
