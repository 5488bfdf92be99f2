"""`model_urls` of a torchvision model, which was removed.

Why: until torchvision 0.14, each module of models had a dictionary with the addresses of its weights. Importing it from
torchvision 0.15, which belongs to torch 2.0, fails.

    state = torch.hub.load_state_dict_from_url(model_urls["resnet50"])
    →
    state = torch.hub.load_state_dict_from_url(torchvision.models.ResNet50_Weights.IMAGENET1K_V1.url)

A key that is not written there becomes `torchvision.models.get_model_weights(key).IMAGENET1K_V1.url`.

Fix safety: safe; the address is the same. There is no fix where the dictionary is used as a whole.

Source: torchvision 0.14 and 0.15 wheels: torchvision/models, which `torchmigrate/tables/data/model_weights.json` was read
from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.version_guards import find_reach
from torchmigrate.tables.companion_releases import render_release
from torchmigrate.tables.model_weights import load_addresses, load_arguments

from ._changes.missing_names import find_failing_imports, is_harmless
from ._changes.use_intent import is_replaced

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_ADDRESSES = load_addresses()
_GONE = (2, 0)
_FIND = "torchvision.models.get_model_weights"

rule = Rule(
    code="RM762",
    symbols=tuple(_ADDRESSES),
    pairs=dict.fromkeys(_ADDRESSES, ()),
    since=(1, 12),
    breaks=_GONE,
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if is_replaced(use) or is_harmless(use, ctx, find_reach(use, ctx.uses)):
        return
    gone = f"`{{symbol}}` was removed in {render_release('torchvision', _GONE)}"
    advice = "use the `url` of the model's weights"
    yield ctx.finding(use, f"{gone}; {advice}", severity=Severity.ERROR, fix=lambda: _create_fix(use, ctx))
    for one in find_failing_imports(use, ctx):
        yield ctx.finding(one, f"{gone}, so this import fails; {advice}", severity=Severity.ERROR)


def _create_fix(use: Use, ctx: Context) -> Fix:
    read = use.parents[-1]
    if not isinstance(read, ast.Subscript):
        raise NoFix(
            "it is used as a whole; `torchvision.models.get_model_weights` finds weights by the name of a model"
        )
    addresses = _ADDRESSES[use.symbol]
    if isinstance(read.slice, ast.Constant):
        weights = addresses.get(str(read.slice.value))
        if weights is None:
            raise NoFix(f"torchvision has no weights for {read.slice.value!r}")
        change = replace(read, "{weights}.url", weights=ctx.write_symbol(weights, use))
        return Fix((change,), Safety.SAFE, f"Use `{weights}.url`")
    if not all(f"torchvision.models.{name}" in load_arguments() for name in addresses):
        raise NoFix("the model is not written here, and its weights have another name than it has")
    found = ctx.write_symbol(_FIND, use)
    change = replace(read, "{found}({model}).IMAGENET1K_V1.url", found=found, model=read.slice)
    return Fix((change,), Safety.SAFE, f"Use `{_FIND}`")
