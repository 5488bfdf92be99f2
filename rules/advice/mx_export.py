"""`torch.export.save` of a program with `float8_e8m0fnu`, which works since torch 2.12.

Why: since torch 2.12 the format of exported programs supports `float8_e8m0fnu`, the type of the scales in MX formats.
Before, `torch.export.save` raises a KeyError.

    scale = scale.to(torch.float8_e8m0fnu)
    torch.export.save(torch.export.export(model, (x, scale)), "model.pt2")

What to do: require `torch>=2.12` if the project saves programs with MX formats; a program saved by 2.12 needs 2.12 to load.

Needs: torch 2.12; the type itself exists since 2.7.

Brings: MX-quantized models in one file, without a detour over `uint8`.

When not: the project already requires torch 2.12; then nothing is reported. Tests, which save many other programs, are not
reported either.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.11 and 2.12 wheels: torch/_export/serde/serialize.py
(`_TORCH_TO_SERIALIZE_DTYPE`), torch/_export/serde/schema.py (`ScalarType`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Severity, Use
from torchmigrate.model.torch_versions import render_version
from torchmigrate.semantics.version_guards import find_reach

from ._analyses.advice_findings import is_trial

rule = Rule(
    code="AD941",
    symbols=("torch.export.save",),
    pairs={"torch.export.save": ()},
    message="before torch 2.12 `{symbol}` does not support `float8_e8m0fnu`",
    since=(2, 12),
    kinds=frozenset({Kind.CALL}),
)

_TYPE = re.compile(rb"\bfloat8_e8m0fnu\b")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    oldest = min(ctx.options.minimum, ctx.options.target)
    reached = find_reach(use, ctx.uses)
    if reached.low is not None:
        oldest = max(oldest, reached.low)
    if oldest >= (2, 12) or not use.certain or is_trial(ctx) or not _TYPE.search(ctx.source.text):
        return
    yield ctx.finding(
        use,
        f"{rule.message}, and the project supports torch {render_version(oldest)}",
        severity=Severity.WARNING,
        hint="require torch 2.12 to save programs with MX formats",
    )
