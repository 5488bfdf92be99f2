"""The method `next` of the iterator of a `DataLoader`, which was removed.

Why: the iterators of a `DataLoader` had the method `next` for Python 2, where it is what `next(iterator)` calls. torch 1.13
dropped it.

    images, labels = iter(loader).next()
    →
    images, labels = next(iter(loader))

Reported are the results of `iter` of what is a `DataLoader`, or is named as a loader, unless the project defines a method `next`.

What to do: call `next(iterator)`.

Fix safety: safe; whatever `iter` returns can be given to `next`.

Source: torch 1.12.1 and 1.13.1 wheels: torch/utils/data/dataloader.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.version_guards import find_reach

from ._changes.missing_names import MISSING_NAME

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_LOADER = "torch.utils.data.DataLoader()"

rule = Rule(
    code="RM713",
    symbols=(".next",),
    pairs={".next": ("iter",)},
    message="`next` of the iterator of a `DataLoader` was removed in torch {breaks}; call `next(iterator)`",
    kinds=frozenset({Kind.CALL}),
    breaks=(1, 13),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call
    assert isinstance(use.node, ast.Attribute)
    if call is None or call.args or call.keywords or find_reach(use, ctx.uses).caught & MISSING_NAME:
        return
    if any(_is_of_loader(one, use, ctx) for one in _find_iterated(use.node.value, use, ctx)) and not (
        ctx.project.find_spellings((("next",), (r"def next\(",)), beside="")
    ):
        yield ctx.finding(use, fix=lambda: _create_fix(call, use))


def _find_iterated(iterator: ast.expr, use: Use, ctx: Context) -> Iterator[ast.expr]:
    """Yield what an expression certainly iterates over: the argument of the calls of `iter` that it is."""
    values: list[ast.expr | None] = [iterator]
    if isinstance(iterator, ast.Name):
        values = [ctx.uses.data_flow.find_definition(iterator, use.place.scope)]
    elif isinstance(iterator, ast.Attribute):
        values = [*_find_assigned(iterator, ctx)]
    found = [_find_argument(value) for value in values]
    if all(found):
        yield from (one for one in found if one is not None)


def _find_assigned(attribute: ast.Attribute, ctx: Context) -> Iterator[ast.expr]:
    """Yield what the file assigns to an attribute: ``self.batches = iter(loader)``."""
    written = ast.unparse(attribute)
    for place in ctx.uses.scopes.places:
        match place.statement:
            case ast.Assign(targets=[ast.Attribute(attr=attribute.attr) as target], value=value):
                if ast.unparse(target) == written and not _is_none(value):
                    yield value


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _find_argument(value: ast.expr | None) -> ast.expr | None:
    match value:
        case ast.Call(func=ast.Name(id="iter"), args=[iterated], keywords=[]):
            return iterated
    return None


def _is_of_loader(iterated: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether an expression is a `DataLoader`, or is named as a loader."""
    resolved = ctx.uses.names.resolve_expression(iterated, use.place.scope)
    if resolved is not None and resolved.certain:
        return _LOADER in resolved.names
    return "loader" in (last_name(iterated) or "").lower()


def _create_fix(call: ast.Call, use: Use) -> Fix:
    assert isinstance(use.node, ast.Attribute)
    if use.place.scope.find_scope("next") is not None:
        raise NoFix("the file gives `next` another meaning")
    change = replace(call, "next({iterator})", iterator=use.node.value)
    return Fix((change,), Safety.SAFE, "Call `next`")
