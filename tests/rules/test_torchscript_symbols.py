"""Every symbol of TorchScript belongs to exactly one rule."""

from __future__ import annotations

from collections import Counter

import pytest

from torchmigrate.engine.registry import load_rules
from torchmigrate.prefilter.watched_symbols import WatchedSymbols

SCRIPT = [rule for rule in load_rules().values() if rule.code.startswith("TS")]
WATCH = WatchedSymbols(symbol for rule in SCRIPT for symbol in rule.symbols)


def test_no_symbol_belongs_to_two_rules() -> None:
    owners = Counter(symbol for rule in SCRIPT for symbol in rule.symbols)
    # As a base class, `ScriptModule` makes a module; everywhere else it is a type.
    assert {symbol for symbol, number in owners.items() if number > 1} == {
        "torch.jit.ScriptModule",
        "torch.jit._script.ScriptModule",
    }


def test_every_name_of_torch_jit_belongs_to_a_rule() -> None:
    jit = pytest.importorskip("torch.jit")
    incidental = {"Any", "Callable", "Iterator", "contextmanager", "set_module", "torch"}
    modules = {name for name, value in vars(jit).items() if type(value).__name__ == "module"}
    names = {name for name in vars(jit) if not name.startswith("__")} - incidental - modules
    assert names >= {*jit.__all__, "Final", "is_scripting", "_overload"}
    assert [name for name in sorted(names) if WATCH.match_symbol(f"torch.jit.{name}") is None] == []
