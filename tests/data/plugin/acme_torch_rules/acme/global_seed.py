"""`torch.manual_seed` leaves Acme's other generators unseeded.

Why: our loaders draw from generators of their own, which `acme.seeding.manual_seed` seeds together with torch's.

    torch.manual_seed(1)
    →
    acme.seeding.manual_seed(1)

Fix safety: unsafe; a program that seeds the other generators itself seeds them twice.

Source: https://handbook.acme.example/seeding
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, Rule, Safety, Severity, Use

rule = Rule(
    code="ZA101",
    symbols=("torch.manual_seed",),
    message="`{symbol}` seeds torch alone; use `acme.seeding.manual_seed`",
    safety=Safety.UNSAFE,
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, severity=Severity.WARNING, fix=lambda: _fix(use, ctx))


def _fix(use: Use, ctx: Context) -> Fix:
    change = ctx.rename_use(use, "acme.seeding.manual_seed")
    return Fix((change,), Safety.UNSAFE, "Use `acme.seeding.manual_seed`")
