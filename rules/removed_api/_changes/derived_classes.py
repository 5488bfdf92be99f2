"""Classes of a project that derive from classes of torch whose ``__init__`` lost a parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Severity, Use
from torchmigrate.rewrite.changes import DropArguments
from torchmigrate.semantics.scopes import StatementPlace
from torchmigrate.semantics.version_guards import VersionReach
from torchmigrate.tables import api_changes
from torchmigrate.tables.api_changes import ApiChange

from .change_fixes import require_minimum
from .recipe_edits import create_fix

_CHANGES = api_changes.index_by_callable(api_changes.ApiChangeKind.PARAMETER)
_SCHEDULER = "torch.optim.lr_scheduler.LRScheduler"
_SAMPLERS = ("torch.utils.data.Sampler", "torch.utils.data.sampler.Sampler")
CHANGED_BASES = {
    _SCHEDULER: (_CHANGES[_SCHEDULER][0], 2, False),
    "torch.optim.lr_scheduler._LRScheduler": (_CHANGES[_SCHEDULER][0], 2, False),
    **{symbol: (_CHANGES[symbol][0], 0, True) for symbol in _SAMPLERS},
}
"""Base classes, each with the change of its ``__init__``, the 0-based position of the lost parameter, and whether the
change holds only if it is the single base: `Sampler` has lost its ``__init__``, so another base's may run."""


def check_derived(use: Use, owner: ast.ClassDef, ctx: Context, reached: VersionReach) -> Iterator[Finding]:
    """Yield findings for a class that derives from the base at ``use``, and for the classes of the file derived from it.

    They pass the lost parameter to the base's ``__init__``, or read the attribute that it used to set.
    """
    for one in _find_heirs(owner, ctx):
        yield from _check_init_calls(use, one, ctx, reached)
        if use.symbol not in _SAMPLERS and len(one.bases) == 1:
            yield from _check_attribute(use, one, ctx)


def _find_heirs(owner: ast.ClassDef, ctx: Context) -> Iterator[ast.ClassDef]:
    """Yield a class, and the classes of the file that inherit the same ``__init__`` through it."""
    line = [owner]
    for one in line:
        yield one
        if any(isinstance(part, ast.FunctionDef) and part.name == "__init__" for part in one.body):
            continue
        for place in ctx.uses.scopes.places:
            heir = place.statement
            if isinstance(heir, ast.ClassDef) and heir not in line and _derives_from(heir, one, place):
                line.append(heir)


def _derives_from(heir: ast.ClassDef, owner: ast.ClassDef, place: StatementPlace) -> bool:
    """Return whether the first base that a class has from this file is ``owner``, by a name bound to nothing else."""
    for base in heir.bases:
        if isinstance(base, ast.Name) and (scope := place.scope.find_scope(base.id)) is not None:
            return [binding.node for binding in scope.bindings[base.id]] == [owner]
    return False


def _check_init_calls(
    use: Use, owner: ast.ClassDef, ctx: Context, reached: VersionReach
) -> Iterator[Finding]:
    """Yield findings for calls of the base's ``__init__`` that pass the parameter, by keyword or by position."""
    change, position, alone = CHANGED_BASES[use.symbol]
    name = change.keywords[0]
    if alone and len(owner.bases) > 1:
        return
    for node in ast.walk(owner):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__")):
                at = position
            case ast.Call(func=ast.Attribute(value=base, attr="__init__")):
                if ast.unparse(base) != ast.unparse(use.node):
                    continue
                at = position + 1  # behind `self`
            case _:
                continue
        passed = [k for k in node.keywords if k.arg == name] or node.args[at : at + 1]
        if passed and not any(isinstance(argument, ast.Starred) for argument in node.args):
            argument = passed[0]
            yield ctx.finding(
                use,
                f"`{name}` of `{use.symbol}` {change.describe_state(ctx.options.target)}; {change.instead}",
                severity=change.find_severity(ctx.options.target),
                fix=lambda node=node, argument=argument: _create_fix(node, argument, ctx, change, reached),  # type: ignore[misc]
                span=ctx.source.span_of(argument),
                source=change.source,
            )


def _check_attribute(use: Use, owner: ast.ClassDef, ctx: Context) -> Iterator[Finding]:
    """Yield findings for reads of ``self.verbose``, which a scheduler lacks unless something in the file sets it."""
    change = CHANGED_BASES[use.symbol][0]
    (name,) = change.keywords
    if change.find_severity(ctx.options.target) is not Severity.ERROR or any(
        isinstance(getattr(node, "ctx", None), ast.Store)
        and name in (getattr(node, "attr", None), getattr(node, "id", None))
        for node in ctx.uses.data_flow.parents
    ):
        return
    for node in ast.walk(owner):
        if isinstance(node, ast.Attribute) and node.attr == name and ast.unparse(node.value) == "self":
            yield ctx.finding(
                use,
                f"`self.{name}` of `{{symbol}}` {change.describe_state(ctx.options.target)}; set it in the class",
                severity=Severity.ERROR,
                span=ctx.source.span_of(node),
                source=change.source,
            )


def _create_fix(
    call: ast.Call, argument: ast.expr | ast.keyword, ctx: Context, change: ApiChange, reached: VersionReach
) -> Fix:
    require_minimum(change.needs, ctx, reached)
    edits = [DropArguments(call, (argument,))]
    return create_fix(edits, f"Drop `{change.keywords[0]}`", change.recipes[-1])
