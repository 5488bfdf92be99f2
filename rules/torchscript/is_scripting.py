"""`torch.jit.is_scripting()` is False outside TorchScript.

Why: the branch for True is dead once nothing scripts the code. `torch.compiler.is_compiling()` is not a replacement: it is
True where this was False.

    if not torch.jit.is_scripting():
        log(x)
    →
    log(x)

There is a fix once nothing in the checked project compiles this code to TorchScript and the project says that its users
do not either: `keep-torchscript-support = false`. Until then, the finding is information and names what it waits for; see
`torchmigrate explain TS151`.

Fix safety: unsafe; code outside of the checked files may script yours.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/_jit_internal.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import replace
from torchmigrate.rewrite.condition_folding import FoldedCondition

from ._authoring import inert_markers
from ._script.script_reach import note_reach

rule = Rule(
    code="TS152",
    symbols=("torch.jit.is_scripting", "torch._jit_internal.is_scripting", "torch.jit._trace.is_scripting"),
    message="`{symbol}()` is False outside TorchScript; the branch for True is dead once nothing scripts this code",
    safety=Safety.UNSAFE,
    asks=inert_markers.ASKS,
    recipe="keep what runs outside TorchScript, once nothing scripts this code",
)
rule.note(note_reach)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: _create_fix(use, ctx))


def _create_fix(use: Use, ctx: Context) -> Fix:
    inert_markers.check_removable(use, ctx)
    if use.call is None:
        raise NoFix("the function is used as a value here, not called")
    for mention in ctx.project.find_uses(*rule.symbols, kinds=(Kind.STRING, Kind.ASSIGNMENT)):
        raise NoFix(f"{mention.path}:{mention.line} replaces this function to run the other branch")
    joints = [*takewhile(_is_boolean_operator, reversed(use.parents[:-1]))]
    top = joints[-1] if joints else use.call
    assert isinstance(top, ast.expr)
    parent = use.parents[-2 - len(joints)]

    def get_known_value(node: ast.expr) -> bool | None:
        called = isinstance(node, ast.Call) and ctx.is_named(node.func, use, *rule.symbols)
        return False if called else None

    condition = FoldedCondition(top, get_known_value, is_test=top is getattr(parent, "test", None))
    decided = condition.value
    changes = condition.changes if decided is None else [_decide_condition(use, ctx, top, parent, decided)]
    return Fix(tuple(changes), Safety.UNSAFE, "Keep what runs outside TorchScript")


def _is_boolean_operator(node: ast.AST) -> bool:
    return isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _decide_condition(use: Use, ctx: Context, top: ast.expr, parent: ast.AST, value: bool) -> FixChange:
    """Return the change for a condition ``top`` that is always ``value``."""
    if isinstance(parent, ast.If):
        return ctx.decide_branch(use.place, value)
    if isinstance(parent, ast.IfExp) and top is parent.test:
        return replace(parent, "{kept}", kept=parent.body if value else parent.orelse)
    if isinstance(parent, ast.Expr) or (isinstance(parent, ast.Assert) and top is parent.test and value):
        return ctx.remove_statement(use.place)
    return replace(top, str(value))
