"""The table of changes agrees with itself, and with the ledger that is read in the wheels."""

from __future__ import annotations

import re

import pytest

from torchmigrate.engine import registry
from torchmigrate.model.torch_versions import NEWEST, Version, render_version
from torchmigrate.tables import api_ledger
from torchmigrate.tables.api_changes import ApiChange, ApiChangeKind, load_changes
from torchmigrate.tables.change_recipes import list_written_names
from torchmigrate.tables.first_releases import find_first_release

ALL = [change for kind in ApiChangeKind for change in load_changes(kind)]
NAMES = [
    change
    for kind in (ApiChangeKind.REMOVED, ApiChangeKind.DEPRECATED, ApiChangeKind.DOCUMENTED)
    for change in load_changes(kind)
]


OF_ARGUMENTS = ("PG301", "PG304", "PG305", "RM711")
"""Rules that say something of an argument, and nothing of the function that takes it."""


def test_no_name_belongs_to_two_families() -> None:
    families: dict[str, set[str]] = {}
    for rule in registry.load_rules().values():
        for symbol in rule.symbols if rule.family != "advice" and rule.code not in OF_ARGUMENTS else ():
            families.setdefault(symbol, set()).add(rule.family)
    assert {symbol: found for symbol, found in families.items() if len(found) > 1} == {}


def test_no_name_has_two_changes() -> None:
    symbols = [symbol for change in NAMES for symbol in change.symbols]
    assert len(symbols) == len(set(symbols))


@pytest.mark.parametrize("change", ALL, ids=lambda change: change.symbols[0])
def test_a_change_says_what_it_has_to(change: ApiChange) -> None:
    assert change.source
    assert change.instead
    assert change.documented or change.warns or change.gone
    assert change.kind is not ApiChangeKind.REMOVED or change.gone
    assert change.kind is not ApiChangeKind.DEPRECATED or change.warns
    assert change.needs <= NEWEST
    assert change.until is None or (change.warns is not None and change.warns <= change.until)


def test_the_first_release_with_what_recipes_write_is_known() -> None:
    written = {
        name
        for change in ALL
        if change.stated_needs is None
        for name in list_written_names(change.symbols, change.recipes)
    }
    unknown = [name for name in written if find_first_release(name) is None]
    assert unknown == [], "run `python tools/read_first_releases.py`"


@pytest.mark.parametrize(
    ("symbol", "needs"),
    [
        ("torch.symeig", (1, 8)),
        ("torch.ger", (1, 7)),
        ("torch._six.string_classes", (1, 0)),
        ("torch.qr", (1, 8)),
    ],
)
def test_a_change_needs_what_its_recipes_write(symbol: str, needs: Version) -> None:
    (change,) = (change for change in NAMES if symbol in change.symbols)
    assert change.needs == needs


@pytest.mark.parametrize(
    ("symbol", "change"),
    [
        (symbol, change)
        for change in NAMES
        for symbol in change.symbols
        if not symbol.endswith("*") and api_ledger.find_entry(symbol) is not None
    ],
)
def test_a_name_is_gone_when_the_ledger_says_so(symbol: str, change: ApiChange) -> None:
    entry = api_ledger.find_entry(symbol)
    assert entry is not None
    usable = [release for release in entry.usable_releases if change.gone is None or release >= change.gone]
    if change.gone is not None:
        assert not usable, f"the ledger has it in {', '.join(map(render_version, usable))}"
    else:
        assert NEWEST in entry.usable_releases


@pytest.mark.parametrize(
    "name",
    sorted(
        {
            name.replace("{leaf}", symbol.rpartition(".")[2])
            for change in ALL
            for symbol in change.symbols
            for recipe in change.recipes
            for name in [recipe.to, *re.findall(r"torch(?:vision|audio)?(?:\.\w+)+(?=\()", recipe.write)]
            if name
        }
    ),
)
def test_what_a_recipe_names_is_there(name: str) -> None:
    entry = api_ledger.find_any_entry(name)
    assert entry is None or NEWEST in entry.present
