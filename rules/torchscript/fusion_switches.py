"""Switches of the TorchScript executor and its fusers.

Why: they tune scripted and traced code only; eager code and `torch.compile` ignore them. `set_fusion_strategy` has warned
since torch 2.11, and the nvFuser switches no longer do anything.

    torch._C._jit_set_profiling_executor(False)
    →
    (removed)

    with torch.jit.optimized_execution(True):
        y = model(x)
    →
    y = model(x)

Fix safety: unsafe. Once the project neither makes nor loads TorchScript, the statement is removed, and a `with` block is
unindented; what is only saved does not run here, and loads that read exports as well do not count, for the results of older
files stay the same without the switch. A dependency may still run scripted code that the switch was meant for. There is no fix where the value is used (`set_fusion_strategy` returns the old strategy), or where the old setting is restored.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/_fuser.py,
torch/jit/__init__.py.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from contextlib import suppress

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, NotYet, Place, Rule, Safety, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.project.mentions import Mention
from torchmigrate.rewrite.changes import DropItems
from torchmigrate.semantics.scopes import StatementPlace

from ._authoring.torchscript_makers import ASKS, AUTHORING, BASES, INERT, LOADING, find_nearest
from ._export.file_links import LOADED, SAVED

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
        *("torch._C._debug_set_autodiff_subgraph_inlining", "torch._C._debug_set_fusion_group_inlining"),
        *(f"torch._C._jit_set_{name}" for name in _SET),
        *(f"torch._C._jit_{name}" for name in _OTHER),
    ),
    message="`{symbol}` tunes the TorchScript executor only; remove it together with the last scripted code",
    since=(2, 0),
    deprecated=(2, 11),
    safety=Safety.UNSAFE,
    asks=ASKS,
    recipe="remove the setting together with the last TorchScript that it tunes",
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(
        use, fix=(lambda: _create_fix(use, ctx)) if use.kind in (Kind.CALL, Kind.GUARD) else None
    )


def _create_fix(use: Use, ctx: Context) -> Fix:
    if running := _find_torchscript(ctx):
        raise NotYet(
            f"`{running.symbol}` at {running.path}:{running.line}, which this setting tunes, is gone",
            Place(running.path, running.line),
        )
    change = _create_change(use, ctx)
    is_restored = use.call is not None and any(isinstance(given, ast.Name) for given in use.call.args)
    if is_restored and (
        line := ctx.uses.compute_once(_find_kept_settings, lambda: _find_kept_settings(ctx)).get(use.symbol)
    ):
        raise NoFix(f"line {line} keeps the old setting, which this call restores")
    return Fix((change,), Safety.UNSAFE, "Remove the switch")


def _find_torchscript(ctx: Context) -> Mention | None:
    """Return the nearest place that makes TorchScript and does not only save it, or that loads nothing else; None without one."""
    kinds = frozenset(Kind) - {*INERT, Kind.IMPORT}
    loaded, saved = ctx.project.find_uses(LOADED), ctx.project.find_uses(SAVED)
    idle = {
        *((load.path, load.line) for load in loaded if dict(load.constants).get("bridge") == "made"),
        *((save.path, dict(save.constants).get("made_at")) for save in saved),
    }
    loads = ctx.project.find_uses(*LOADING, kinds=kinds)
    makers = ctx.project.find_uses(*AUTHORING, kinds=kinds)
    found = [
        *(one for one in (*makers, *loads) if (one.path, one.line) not in idle),
        *ctx.project.find_uses(*BASES, kinds=(Kind.BASE,)),
    ]
    if not (found or loads or makers):
        found += ctx.project.find_uses(*AUTHORING, *LOADING, kinds=(Kind.IMPORT,))
    return find_nearest(found, ctx) if found else None


def _find_emptied_statement(use: Use, ctx: Context) -> StatementPlace:
    """Return the place of the outermost `if` around a switch that has nothing but switches, or of the switch itself."""
    removed = {other.call for other in ctx.uses.all_uses if other.symbol in rule.symbols}
    place = use.place
    while (
        place.parent is not None
        and isinstance(outer := place.parent.statement, ast.If)
        and not any(isinstance(node, (ast.Call, ast.NamedExpr, ast.Await)) for node in ast.walk(outer.test))
        and all(_is_emptied(statement, removed) for statement in (*outer.body, *outer.orelse))
    ):
        place = place.parent
    return place


def _is_emptied(statement: ast.stmt, removed: Collection[ast.Call | None]) -> bool:
    """Return whether nothing of a statement is left when the calls ``removed`` are."""
    match statement:
        case ast.Pass():
            return True
        case ast.Expr(value=ast.Call() as call):
            return call in removed
        case ast.If():
            return all(_is_emptied(inner, removed) for inner in (*statement.body, *statement.orelse))
    return False


def _find_kept_settings(ctx: Context) -> dict[str, int]:
    """Return the switches whose old setting a variable keeps, each with the 1-based line."""
    parents = ctx.uses.data_flow.parents
    return {
        use.symbol: use.node.lineno
        for use in reversed(ctx.uses.all_uses)
        if use.call is not None and isinstance(assigned := parents[use.call], ast.Assign)
        if [*map(ast.unparse, assigned.targets)] != ["_"]
    }


def _create_change(use: Use, ctx: Context) -> FixChange:
    if use.decorated is not None:
        return ctx.remove_decorator(use)
    match use.place.statement:
        case ast.If(test=test, body=body, orelse=orelse) if test is use.node:
            others = [part for part in (*body, *orelse) if not isinstance(part, ast.Pass)]
            if others:
                place = Place(ctx.source.path, others[0].lineno)
                raise NotYet("the `if` statement contains nothing else", place)
            return ctx.remove_statement(use.place)
        case ast.Expr(value=value) | ast.Assign(targets=[ast.Name(id="_")], value=value) if value is use.call:
            with suppress(NoFix):  # a comment in the `if` is its author's business
                return ctx.remove_statement(_find_emptied_statement(use, ctx))
            return ctx.remove_statement(use.place)
        case ast.With() | ast.AsyncWith() as statement:
            for item in statement.items:
                if item.context_expr is use.call and item.optional_vars is None:
                    is_only = len(statement.items) == 1
                    return (
                        ctx.unwrap_block(use.place, statement.body)
                        if is_only
                        else DropItems(statement, (item,))
                    )
    raise NoFix("the value of the call is used")
