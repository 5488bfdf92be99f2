"""What a qualified name is to the rules."""

from __future__ import annotations

import pytest

from torchmigrate.prefilter.watched_symbols import WatchedSymbols

WATCH = WatchedSymbols(
    ["torch.jit._script.*", "torch.jit._script.Attribute", "torch._C._jit_*", "torch._C._jit_pass_*"]
)


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("torch.jit._script.Attribute", "torch.jit._script.Attribute"),
        ("torch.jit._script.ScriptMeta", "torch.jit._script.*"),
        ("torch.jit._script.ScriptMeta.__init__", "torch.jit._script.*"),
        ("torch._C._jit_pass_dce", "torch._C._jit_pass_*"),
        ("torch._C._jit_compile", "torch._C._jit_*"),
        ("torch.jit.script", None),
    ],
)
def test_the_nearest_symbol_counts(name: str, symbol: str | None) -> None:
    assert WATCH.match_symbol(name) == symbol


def test_a_star_does_not_reach_into_results_or_into_symbols() -> None:
    assert WATCH.match_symbol("torch._C._jit_compile().graph") is None
    assert WATCH.match_symbol("torch.jit._script.Attribute.value") is None
