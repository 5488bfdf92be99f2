"""An argument that should be passed, because its default changes.

Why: torch warns that a default will change, or has changed it, so that a call without the argument behaves differently, or
fails.

    torch.meshgrid(x, y)
    →
    torch.meshgrid(x, y, indexing="ij")

An argument that has become required is reported as well: `num_spatial_dims` of `_output_padding`, the method that transposed
convolutions of one's own inherit.

`torch.load` has a rule of its own (`load-weights-only`), and so has `torch.onnx.export` (`onnx-export`).

Fix safety: safe if the argument is the old default; otherwise unsafe, and the title says why.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheels for each.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Calls, Context, Finding, Fix, Kind, NoFix, Rule, Safety, Severity, Use
from torchmigrate.semantics.tensors import is_tensor
from torchmigrate.semantics.version_guards import VersionReach, find_reach
from torchmigrate.tables import api_changes
from torchmigrate.tables.api_changes import ApiChange

from ._changes.change_fixes import find_declared, fit_minimum
from ._changes.dictionary_arguments import has_required_arguments
from ._changes.missing_names import has_alternative, has_other_call, tests_parameter
from ._changes.recipe_edits import create_fix, list_call_edits, render_wrapper, write_replacement
from ._changes.use_intent import is_defined_in_project

_CHANGES = api_changes.index_by_symbol(api_changes.ApiChangeKind.DEFAULT)


def _calls(change: ApiChange) -> Calls:
    """Return the condition for calls that do not pass the argument."""
    without = frozenset(change.keywords)
    return (
        Calls(without=without)
        if change.position is None
        else Calls(without=without, fewer_than=change.position + 1)
    )


rule = Rule(
    code="RM722",
    symbols=tuple(_CHANGES),
    pairs=dict.fromkeys(_CHANGES, ()),
    calls={symbol: _calls(change) for symbol, change in _CHANGES.items()},
    kinds=frozenset({Kind.CALL}),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    change, call = _CHANGES[use.symbol], use.call
    if (
        call is None
        or is_argument_passed(call, change.keywords, change.position)
        or not has_required_arguments(call, change)
    ):
        return
    if change.common and not is_tensor(use.node.value, use.place, ctx.uses):  # type: ignore[union-attr]
        return
    reached = find_reach(use, ctx.uses)
    severity = change.find_severity(ctx.options.target)
    settled = change.documented is not None and change.documented <= find_declared(ctx, reached)
    is_caught = bool(reached.caught & {"RuntimeError", "TypeError", "Exception"})
    quiet = reached.unheard if severity is Severity.WARNING else is_caught
    name = change.keywords[0]
    if settled or quiet or has_alternative(use, ctx, reached):
        return
    if tests_parameter(use, name) or has_other_call(use, name):
        return
    if use.symbol.startswith(".") and not change.common and is_defined_in_project(use, ctx):
        return
    owner = "Tensor." if use.symbol.startswith(".") and change.was else ""
    state = (
        f": the default is {change.was}" if change.was else f" {change.describe_state(ctx.options.target)}"
    )
    yield ctx.finding(
        use,
        f"`{owner}{{symbol}}` without `{name}=`{state}; {change.instead}",
        severity=severity,
        fix=lambda: _create_fix(use, call, ctx, change, reached),
        source=change.source,
    )


def is_argument_passed(call: ast.Call, keywords: tuple[str, ...], position: int | None) -> bool:
    """Return whether a call passes one of the keywords, or may do so."""
    if any(keyword.arg is None or keyword.arg in keywords for keyword in call.keywords):
        return True
    return position is not None and (
        len(call.args) > position or any(isinstance(argument, ast.Starred) for argument in call.args)
    )


def _create_fix(use: Use, call: ast.Call, ctx: Context, change: ApiChange, reached: VersionReach) -> Fix:
    if not change.recipes:
        raise NoFix("the old default depends on values that are not written in the code")
    (recipe,) = change.recipes
    if recipe.write:
        edits = write_replacement(recipe, use, ctx)
        if edits is None:
            raise NoFix("there is no automatic replacement for these arguments")
        return fit_minimum(create_fix(edits, f"Pass `{change.keywords[0]}`", recipe), change, ctx, reached)
    ((name, code),) = recipe.add.items()
    title = f"Add `{name}={code}`{render_wrapper(recipe)}"
    fix = create_fix(list_call_edits(recipe, call, use, ctx), title, recipe)
    return fit_minimum(fix, change, ctx, reached)
