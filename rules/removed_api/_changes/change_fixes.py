"""The fix of a change, and the torch that its replacement needs."""

from __future__ import annotations

from dataclasses import replace

from torchmigrate.api import Context, Fix, Kind, NeedsTorch, NoFix, Safety, Use
from torchmigrate.model.torch_versions import Version, render_version
from torchmigrate.semantics.version_guards import VersionReach
from torchmigrate.tables.api_changes import ApiChange

from .recipe_edits import create_recipe_fix
from .use_intent import is_wrapped, warns_when_called


def create_change_fix(use: Use, ctx: Context, change: ApiChange, reached: VersionReach) -> Fix:
    """Create the fix of the first recipe that fits. Raises NoFix."""
    is_gone = change.gone is not None and change.gone <= ctx.options.target and not change.raises
    is_value = all(recipe.write and recipe.takes is None for recipe in change.recipes)
    meant = use.is_compared_by_identity or is_wrapped(use)
    if meant and not (is_gone or is_value or change.is_same_object):
        raise NoFix("the name is used as a value here, not called, and its replacement is a different object")
    _check_patches(use, ctx, is_gone=is_gone)
    return fit_minimum(create_recipe_fix(use, ctx, change), change, ctx, reached)


def _check_patches(use: Use, ctx: Context, *, is_gone: bool) -> None:
    """Raise NoFix if the project patches the old name, or assigns another function to it."""
    patching = (Kind.STRING, Kind.ASSIGNMENT) if warns_when_called(use) else (Kind.STRING,)
    if not is_gone and (patches := ctx.project.find_uses(use.symbol, kinds=patching)):
        place = f"{ctx.project.get_display_path(patches[0].path)}:{patches[0].line}"
        raise NoFix(
            f"{place} replaces the function by its old name, which code with the new name would miss; change both by hand"
        )


def fit_minimum(fix: Fix, change: ApiChange, ctx: Context, reached: VersionReach) -> Fix:
    """Return the fix of a change for the oldest torch that reaches a use. Raises NoFix if that lacks the replacement."""
    is_gone = change.gone is not None and change.gone <= ctx.options.target
    return fit_needed(fix, change.needs, change.gone if is_gone else None, ctx, reached)


def fit_needed(fix: Fix, needs: Version, gone: Version | None, ctx: Context, reached: VersionReach) -> Fix:
    """Return a fix that needs a version of torch, for the oldest one that reaches a use. Raises NoFix.

    Code that fails from ``gone`` on may use what torch had by then, even if an older torch lacks it; the fix is unsafe then.
    """
    if gone is None or gone < needs or needs <= find_oldest_reaching(ctx, reached):
        require_minimum(needs, ctx, reached)
        return fix
    joined = ", and it" if "; unsafe because" in fix.title else "; unsafe because it"
    needed = f"needs torch {render_version(needs)}, which the project does not require"
    return replace(fix, safety=Safety.UNSAFE, title=f"{fix.title}{joined} {needed}")


def require_minimum(needs: Version, ctx: Context, reached: VersionReach) -> None:
    """Raise NoFix if the oldest torch that reaches a use lacks the replacement."""
    if needs > (minimum := find_oldest_reaching(ctx, reached)):
        raise NeedsTorch(needs, minimum)


def find_oldest_reaching(ctx: Context, reached: VersionReach) -> Version:
    """Return the oldest torch that reaches a use."""
    return max(ctx.options.minimum, reached.low or ctx.options.minimum)


def find_declared(ctx: Context, reached: VersionReach) -> Version:
    """Return the oldest torch for which the code around a use was written."""
    return max(ctx.options.declared, reached.low or ctx.options.declared)


def hint_branch(use: Use, ctx: Context, change: ApiChange, reached: VersionReach) -> str | None:
    """Return a hint on how to support older releases as well, if the replacement is too new for them."""
    new = next((recipe.to for recipe in change.recipes if recipe.to), "").replace("{leaf}", last_part(use))
    if not new or change.needs <= find_oldest_reaching(ctx, reached):
        return None
    branch = f'`if torch.__version__ >= "{render_version(change.needs)}":`'
    return f"to support both, use `{new}` under {branch} and `{use.name}` in the `else` branch"


def last_part(use: Use) -> str:
    """Return the last part of the used name; that of an environment variable without leading underscores."""
    last = use.name.rpartition(".")[2]
    return last.lstrip("_") if use.name.startswith("$") else last
