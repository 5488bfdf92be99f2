"""The fix of a change, and the torch that its replacement needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmigrate.api import Fix, NoFix
from torchmigrate.model.versions import Version, render

from .meant import is_exchanged
from .recipes import fitting

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.guards import Reach
    from torchmigrate.tables.changes import Change


def made(use: Use, ctx: Context, change: Change, reached: Reach) -> Fix:
    """Create the fix of the first recipe that fits. Raises NoFix."""
    is_gone = change.gone is not None and change.gone <= ctx.options.target and not change.raises
    is_value = all(recipe.write and recipe.takes is None for recipe in change.recipes)
    meant = use.is_itself_meant or is_exchanged(use)
    if meant and not (is_gone or is_value or change.names_the_same):
        raise NoFix(
            "the function is not called here but used as an object, and its replacement is a different one"
        )
    fix = fitting(use, ctx, change)
    require(change.needs, ctx, reached)
    return fix


def require(needs: Version, ctx: Context, reached: Reach) -> None:
    """Raise NoFix if the oldest torch that reaches a use lacks the replacement."""
    if needs > (minimum := oldest(ctx, reached)):
        raise NoFix(
            f"the replacement needs torch {render(needs)}, and the project supports {render(minimum)}; raise its lower "
            "bound, or pass --min-version"
        )


def oldest(ctx: Context, reached: Reach) -> Version:
    """Return the oldest torch that reaches a use."""
    return max(ctx.options.minimum, reached.low or ctx.options.minimum)


def shim(use: Use, ctx: Context, change: Change, reached: Reach) -> str | None:
    """Return a hint how to support older releases as well, if the replacement is too new for them."""
    new = next((recipe.to for recipe in change.recipes if recipe.to), "").replace("{leaf}", leaf(use))
    if not new or change.needs <= oldest(ctx, reached):
        return None
    branch = f'`if torch.__version__ >= "{render(change.needs)}":`'
    return f"until then, use `{new}` under {branch} and `{use.name}` in its `else` branch"


def leaf(use: Use) -> str:
    """Return the last part of the used name; that of an environment variable without leading underscores."""
    last = use.name.rpartition(".")[2]
    return last.lstrip("_") if use.name.startswith("$") else last
