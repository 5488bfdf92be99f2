"""Every symbol of TorchScript belongs to exactly one rule."""

from __future__ import annotations

from itertools import combinations

from torchmigrate.registry import rules


def test_no_symbol_belongs_to_two_rules() -> None:
    own = [rule for rule in rules().values() if rule.family == "torchscript"]
    shared = {
        (one.code, other.code, symbol)
        for one, other in combinations(own, 2)
        for symbol in {*one.symbols} & {*other.symbols}
        if one.kinds & other.kinds
    }
    assert not shared
