"""Switches of the TorchScript executor and its fusers.

Why: they tune scripted and traced code only; eager code and `torch.compile` ignore them. `set_fusion_strategy` warns
since torch 2.11, the nvFuser switches do nothing any more.

    torch._C._jit_set_profiling_executor(False)
    →
    (removed)

    with torch.jit.optimized_execution(True):
        y = model(x)
    →
    y = model(x)

Fix safety: unsafe; the statement goes, and a `with` block is unindented, once the project neither makes nor loads
TorchScript. A dependency may still run scripted code that the switch was meant for. Where the value is used
(`set_fusion_strategy` returns the old strategy) there is no fix.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/_fuser.py,
torch/jit/__init__.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, Rule, Safety
from torchmigrate.model.findings import Edit
from torchmigrate.rewrite import decorators
from torchmigrate.rewrite.blocks import Blocks

from ._authoring.authoring import ASKS, runs_torchscript

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_PUBLIC = (
    *("set_fusion_strategy", "_set_fusion_strategy", "fuser", "strict_fusion", "optimized_execution"),
    *("enable_onednn_fusion", "onednn_fusion_enabled", "last_executed_optimized_graph"),
)
_SET = (
    *("profiling_*", "texpr_*", "te_*", "nvfuser_*", "fusion_strategy", "llga_enabled", "autocast_mode"),
    *("num_profiled_runs", "bailout_depth", "inline_everything_mode", "logging_*"),
)
_OTHER = (
    *("override_can_fuse_*", "can_fuse_on_*", "texpr_*", "get_te_*", "nvfuser_*", "llga_enabled"),
    *("get_num_profiled_runs", "get_inline_everything_mode", "cat_wo_conditionals", "opt_conditionals"),
)

rule = Rule(
    code="TS123",
    symbols=(
        *(f"torch.jit.{name}" for name in _PUBLIC),
        "torch.jit._fuser.*",
        "torch._C._set_graph_executor_optimize",
        "torch._C._get_graph_executor_optimize",
        *(f"torch._C._jit_set_{name}" for name in _SET),
        *(f"torch._C._jit_{name}" for name in _OTHER),
    ),
    message=(
        "`{symbol}` tunes the TorchScript executor only; it has no effect on eager code or `torch.compile`, remove it "
        "with the last scripted code"
    ),
    since=(2, 0),
    deprecated=(2, 11),
    safety=Safety.UNSAFE,
    asks=ASKS,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=(lambda: _fix(use, ctx)) if use.kind in (Kind.CALL, Kind.GUARD) else None)


def _fix(use: Use, ctx: Context) -> Fix | str:
    if runs_torchscript(ctx):
        return "the project still makes or loads TorchScript, which the switch tunes"
    edits = _edits(use, ctx)
    return edits if isinstance(edits, str) else Fix(tuple(edits), Safety.UNSAFE, "Remove the switch")


def _edits(use: Use, ctx: Context) -> tuple[Edit, ...] | str:
    statement, blocks = use.place.statement, Blocks(ctx.source)
    if use.decorated is not None and use.call is not None:
        edit = decorators.removed(ctx.source, use.decorated, use.call)
        return (edit,) if edit is not None else "the decorator shares its line with other code"
    if isinstance(statement, ast.If) and statement.test is use.node:
        empty = all(isinstance(part, ast.Pass) for part in statement.body) and not statement.orelse
        return blocks.removed(use.place) if empty else "what the condition guards is more than the switch"
    if isinstance(statement, ast.Expr) and statement.value is use.call:
        return blocks.removed(use.place)
    if isinstance(statement, ast.Assign) and statement.value is use.call:
        names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
        return blocks.removed(use.place) if names == ["_"] else "its value is used"
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return _left(use, statement, blocks, ctx)
    return "its value is used"


def _left(
    use: Use, statement: ast.With | ast.AsyncWith, blocks: Blocks, ctx: Context
) -> tuple[Edit, ...] | str:
    """Takes the switch out of a ``with`` statement."""
    index = next((i for i, item in enumerate(statement.items) if item.context_expr is use.call), None)
    if index is None or statement.items[index].optional_vars is not None:
        return "its value is used"
    if len(statement.items) == 1:
        return blocks.unwrapped(use.place, statement.body)
    spans = [ctx.source.span(item.context_expr) for item in statement.items]
    ends = [ctx.source.span(item.optional_vars or item.context_expr).end for item in statement.items]
    edit = Edit(ends[index - 1], ends[index], "") if index else Edit(spans[0].start, spans[1].start, "")
    gone = ctx.source.text[edit.start : edit.end]
    between = gone.replace(ctx.source.text[spans[index].start : spans[index].end], b"")
    return (edit,) if between.strip() == b"," else "it shares a `with` statement in brackets"
