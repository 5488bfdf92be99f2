"""A device backend that its users have to import, although torch 2.5 can load it automatically.

Why: a package that adds a device registers it under `PrivateUse1` when it is imported. Since torch 2.5 `import torch` calls
the functions that packages declare under the entry point `torch.backends`, so that the device needs no import of its own.

    torch.utils.rename_privateuse1_backend("acme")
    →
    [project.entry-points."torch.backends"]
    acme = "torch_acme:_autoload"

What to do: give the package a function that registers the device, and name it in the packaging metadata. The package is
imported in the middle of `import torch`, so it must not need anything that torch imports later.

Needs: torch 2.5; older releases ignore the entry point.

Brings: programs run on the device without changing their imports.

When not: a test or an example registers a device only for itself. `TORCH_DEVICE_BACKEND_AUTOLOAD=0` turns loading off.

Source: https://pytorch.org/blog/pytorch2-5/; torch 2.5 and 2.15 wheels: torch/__init__.py (`_import_device_backends`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use

from ._analyses.advice_findings import create_advice

rule = Rule(
    code="AD913",
    symbols=(
        "torch.utils.rename_privateuse1_backend",
        "torch.utils.backend_registration.rename_privateuse1_backend",
    ),
    message="users have to import this backend themselves; declare the entry point `torch.backends`, so that `import torch` loads it",
    since=(2, 5),
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_OFFERED = r"torch\.backends[\"']?\s*[\]=:,)]"
_LOADS = re.compile(rb"\bdef _?autoload\b|TORCH_DEVICE_BACKEND_AUTOLOAD")
"""Code that exists for the entry point, wherever the entry point is declared."""


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if _LOADS.search(ctx.source.text):
        return
    packaged = any(True for _ in ctx.search_elsewhere({" .toml .cfg ": _OFFERED}))
    if not packaged and not ctx.project.find_spellings((("entry", "torch.backends"), (_OFFERED,)), beside=""):
        yield from create_advice(use, ctx)
