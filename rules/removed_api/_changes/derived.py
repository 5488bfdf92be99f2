"""Classes of a project that derive from those of torch whose ``__init__`` takes an argument no more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Safety, Severity
from torchmigrate.rewrite.changes import DropArguments
from torchmigrate.tables import changes

from .making import require

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.guards import Reach
    from torchmigrate.semantics.scopes import Place
    from torchmigrate.tables.changes import Change

_CHANGES = changes.of_callable(changes.Kind.PARAMETER)
_SCHEDULER = "torch.optim.lr_scheduler.LRScheduler"
_SAMPLERS = ("torch.utils.data.Sampler", "torch.utils.data.sampler.Sampler")
BASES = {
    _SCHEDULER: (_CHANGES[_SCHEDULER][0], 2, False),
    "torch.optim.lr_scheduler._LRScheduler": (_CHANGES[_SCHEDULER][0], 2, False),
    **{symbol: (_CHANGES[symbol][0], 0, True) for symbol in _SAMPLERS},
}
"""Classes that others derive from, with what their ``__init__`` takes no more, at which place among positional arguments,
and whether it is theirs only where they are the one base: `Sampler` has lost its ``__init__``."""


def findings(use: Use, owner: ast.ClassDef, ctx: Context, reached: Reach) -> Iterator[Finding]:
    """What a class, and those of the file that derive from it, hand to the ``__init__`` of its base, and ask of themselves,
    that is no more."""
    for one in _line(owner, ctx):
        yield from _handed(use, one, ctx, reached)
        if use.symbol not in _SAMPLERS and len(one.bases) == 1:
            yield from _asked(use, one, ctx)


def _line(owner: ast.ClassDef, ctx: Context) -> Iterator[ast.ClassDef]:
    """A class, and those of the file that reach the same ``__init__`` through it, as it has none of its own."""
    line = [owner]
    for one in line:
        yield one
        if any(isinstance(part, ast.FunctionDef) and part.name == "__init__" for part in one.body):
            continue
        for place in ctx.uses.scopes.places:
            heir = place.statement
            if isinstance(heir, ast.ClassDef) and heir not in line and _derives(heir, one, place, ctx):
                line.append(heir)


def _derives(heir: ast.ClassDef, owner: ast.ClassDef, place: Place, ctx: Context) -> bool:
    """Whether the first base that a class has from this file is ``owner``, by a name that means nothing else."""
    for base in heir.bases:
        if isinstance(base, ast.Name) and (scope := place.scope.find(base.id)) is not None:
            return [binding.node for binding in scope.bindings[base.id]] == [owner]
    return False


def _handed(use: Use, owner: ast.ClassDef, ctx: Context, reached: Reach) -> Iterator[Finding]:
    """Calls of the base's ``__init__`` that hand the parameter on, by name or by its place."""
    change, position, alone = BASES[use.symbol]
    name = change.keywords[0]
    if alone and len(owner.bases) > 1:
        return
    for node in ast.walk(owner):
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "__init__"
        ):
            continue
        is_super = isinstance(node.func.value, ast.Call) and ast.unparse(node.func.value.func) == "super"
        if not is_super and ast.unparse(node.func.value) != ast.unparse(use.node):
            continue
        at = position if is_super else position + 1
        handed = [k for k in node.keywords if k.arg == name] or node.args[at : at + 1]
        if handed and not any(isinstance(argument, ast.Starred) for argument in node.args):
            argument = handed[0]
            yield ctx.finding(
                use,
                f"`{name}` of `{use.symbol}` {change.state(ctx.options.target)}; {change.instead}",
                severity=change.severity(ctx.options.target),
                fix=lambda node=node, argument=argument: _dropped(node, argument, ctx, change, reached),  # type: ignore[misc]
                span=ctx.source.span(argument),
                source=change.source,
            )


def _asked(use: Use, owner: ast.ClassDef, ctx: Context) -> Iterator[Finding]:
    """Reads of ``self.verbose``, which a scheduler has no more unless something in the file sets it."""
    change = BASES[use.symbol][0]
    (name,) = change.keywords
    if change.severity(ctx.options.target) is not Severity.ERROR or any(
        isinstance(getattr(node, "ctx", None), ast.Store)
        and name in (getattr(node, "attr", None), getattr(node, "id", None))
        for node in ctx.uses.flow.parents
    ):
        return
    for node in ast.walk(owner):
        if isinstance(node, ast.Attribute) and node.attr == name and ast.unparse(node.value) == "self":
            yield ctx.finding(
                use,
                f"`self.{name}` of `{{symbol}}` {change.state(ctx.options.target)}; set it in the class itself",
                severity=Severity.ERROR,
                span=ctx.source.span(node),
                source=change.source,
            )


def _dropped(
    call: ast.Call, argument: ast.expr | ast.keyword, ctx: Context, change: Change, reached: Reach
) -> Fix:
    require(change.needs, ctx, reached)
    unsafe = change.recipes[-1].unsafe
    title = f"Drop `{change.keywords[0]}`"
    dropped = DropArguments(call, (argument,))
    if unsafe:
        return Fix((dropped,), Safety.UNSAFE, f"{title}; unsafe because {unsafe}")
    return Fix((dropped,), Safety.SAFE, title)
