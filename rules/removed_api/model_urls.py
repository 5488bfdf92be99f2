"""`model_urls` of a torchvision model, which was removed.

Why: until torchvision 0.14, each module of models had a dictionary with the addresses of its weights. Importing it from
torchvision 0.15, which belongs to torch 2.0, fails.

    state = torch.hub.load_state_dict_from_url(model_urls["resnet50"])
    →
    state = torch.hub.load_state_dict_from_url(torchvision.models.ResNet50_Weights.IMAGENET1K_V1.url)

A key that is not written there becomes `torchvision.models.get_model_weights(key).IMAGENET1K_V1.url`.

A dictionary that is used as a whole is replaced by one that is made of `get_model_weights`.

Fix safety: safe; the address is the same. Unsafe where the dictionary is used as a whole: it no longer lists models without
weights.

Source: torchvision 0.14 and 0.15 wheels: torchvision/models, which `torchmigrate/tables/data/model_weights.json` was read
from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.name_resolution import innermost_object
from torchmigrate.semantics.scopes import BindingKind
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
    addresses = _ADDRESSES[use.symbol]
    if not isinstance(read, ast.Subscript):
        return _create_whole(use, ctx, addresses)
    if isinstance(read.slice, ast.Constant):
        weights = addresses.get(str(read.slice.value))
        if weights is None:
            raise NoFix(f"torchvision has no weights for {read.slice.value!r}")
        # The class can be imported, and its member cannot.
        owner, _, member = weights.rpartition(".")
        change = replace(read, f"{{weights}}.{member}.url", weights=ctx.write_symbol(owner, use))
        return Fix((change,), Safety.SAFE, f"Use `{weights}.url`")
    if not _are_builders(addresses):
        raise NoFix("the model is not written here, and its weights have another name than it has")
    found = ctx.write_symbol(_FIND, use)
    change = replace(read, "{found}({model}).IMAGENET1K_V1.url", found=found, model=read.slice)
    return Fix((change,), Safety.SAFE, f"Use `{_FIND}`")


def _are_builders(addresses: Mapping[str, str]) -> bool:
    """Return whether `get_model_weights` finds the weights of all models by the names in the old dictionary."""
    return all(f"torchvision.models.{name}" in load_arguments() for name in addresses)


def _create_whole(use: Use, ctx: Context, addresses: Mapping[str, str]) -> Fix:
    """Return the fix that writes the dictionary of the addresses in the place of the old one."""
    named = innermost_object(use.node)
    owner = use.place.scope.find_scope(named.id) if isinstance(named, ast.Name) else None
    bound = owner.bindings[named.id] if isinstance(named, ast.Name) and owner is not None else []
    if not _are_builders(addresses) or not isinstance(use.node, (ast.Name, ast.Attribute)):
        raise NoFix(
            "it is used as a whole; `torchvision.models.get_model_weights` finds weights by the name of a model"
        )
    if any(one.kind not in (BindingKind.IMPORT, BindingKind.FROM) for one in bound):
        raise NoFix("it is used under another name; the dictionary is replaced where that is assigned")
    models = ", ".join(f'"{name}"' for name in addresses) + ("," if len(addresses) == 1 else "")
    code = f"{{{{model: {{found}}(model).IMAGENET1K_V1.url for model in ({models})}}}}"
    change = replace(use.node, code, found=ctx.write_symbol(_FIND, use))
    reason = "models without weights are no longer listed"
    return Fix((change,), Safety.UNSAFE, f"Use `{_FIND}`; unsafe because {reason}")
