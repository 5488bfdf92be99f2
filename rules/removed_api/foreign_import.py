"""A name imported from a module of torch that only imported it for its own use.

Why: `torch.nn.modules.conv` once imported `Union`, so that other code could import it from there. When such a module stops
importing a name, that code fails.

    from torch.nn.modules.conv import Union
    →
    from typing import Union

What to do: import the name from the module that defines it.

Fix safety: safe; names of `typing` are the same objects wherever they are imported from.

Source: `torchmigrate/tables/api_ledger.py` and `early_names.py`, tables read from the wheels of torch 1.0 to 2.15.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, NoFix, Rule, Safety, Use

from ._changes.lost_names import check_lost, list_lost

_SYMBOLS = list_lost("accidental")

rule = Rule(
    code="RM704",
    symbols=_SYMBOLS,
    pairs=dict.fromkeys(_SYMBOLS, ()),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield from check_lost(
        use,
        ctx,
        "was imported into that module from elsewhere, and the import was removed",
        lambda: _create_fix(use, ctx),
    )


def _create_fix(use: Use, ctx: Context) -> Fix:
    name = use.name.rpartition(".")[2]
    if name not in typing.__all__:
        raise NoFix("it is unclear which module defines the name")
    changed = ctx.rebind_use(use, f"typing.{name}")
    if changed is None:
        raise NoFix("the name is read as an attribute of the module here; import it from `typing`")
    return Fix((changed,), Safety.SAFE, f"Import `{name}` from `typing`")
