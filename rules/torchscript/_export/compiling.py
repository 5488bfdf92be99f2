"""A chain that becomes `torch.compile`, or nothing but the module itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Fix, NoFix, Safety
from torchmigrate.model.findings import Change
from torchmigrate.rewrite.changes import DropArguments, Remove, Rename, replace
from torchmigrate.semantics.calls import arguments, value

from .._authoring import purpose
from .chain import Chain


def compiled(chain: Chain, model: ast.expr, because: str = "it is saved") -> Fix:
    """``script(model)`` → ``torch.compile(model)``. Raises NoFix where its result could not serve as before."""
    _check(chain, because)
    call = chain.call
    gone = tuple(node for node in arguments(call) if value(node) is not model)
    changes = [
        *without_wrappers(chain),
        chain.ctx.renamed(chain.use, "torch.compile"),
        *(Rename(keyword, "model") for keyword in call.keywords if keyword.value is model),
        DropArguments(call, gone),
    ]
    return Fix(tuple(changes), Safety.UNSAFE, "Use `torch.compile`")


def eager(chain: Chain, model: ast.expr, title: str, because: str = "it is saved") -> Fix:
    """``script(model)`` → ``model``. Raises NoFix as `compiled` does."""
    _check(chain, because)
    purpose.check_left(chain.call, model, chain.use.place, chain.ctx)
    statement = chain.flow.parents[chain.call]
    is_same = isinstance(statement, ast.Assign) and [*map(ast.unparse, statement.targets)] == [
        ast.unparse(model)
    ]
    change = chain.ctx.removed(chain.use.place) if is_same else replace(chain.call, "{model}", model=model)
    changes = (*without_wrappers(chain), change)
    return Fix(changes, Safety.UNSAFE, title, anytime=True)


def _check(chain: Chain, because: str) -> None:
    if chain.saves:
        raise NoFix(f"{because}, and a compiled module cannot be saved")
    if chain.keys_matter:
        raise NoFix("the state_dict of a compiled module has other keys; use `model.compile()` by hand")


def without_wrappers(chain: Chain) -> Iterator[Change]:
    """Takes `freeze(…)` and its like off what they are given."""
    for place, call in chain.wrappers:
        statement = chain.flow.parents[call]
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(place, ast.Name) and isinstance(target, ast.Name) and target.id == place.id:
            assert isinstance(statement, ast.Assign)
            yield Remove(statement)
        else:
            yield replace(call, "{module}", module=place)


def without_modes(chain: Chain) -> Iterator[Change]:
    """Takes `.eval()` and `.train()` away, which an exported module refuses."""
    for place, call in chain.modes:
        statement = chain.flow.parents[call]
        if isinstance(statement, ast.Expr) and isinstance(place, (ast.Name, ast.Attribute)):
            yield Remove(statement)
        else:
            yield replace(call, "{module}", module=place)
