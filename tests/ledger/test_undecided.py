"""Every name that is offered and deprecated has been decided about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.api import undecided
from tools.api.undecided import Patterns
from torchmigrate.tables.api_ledger import DeprecationMark, LedgerEntry
from torchmigrate.tables.release_sets import ALL_RELEASES, ReleaseSet

needs_changes = pytest.mark.skipif(
    not all(path.exists() for path in undecided.CHANGES), reason="no changes are written down yet"
)


@needs_changes
def test_nothing_is_undecided() -> None:
    assert not list(undecided.listed(undecided.undecided())), "see CONTRIBUTING.md, After a release of torch"


@needs_changes
def test_every_reason_is_needed() -> None:
    assert not undecided.needless()


def test_patterns() -> None:
    some = Patterns(["torch.jit.*", "torch.qr"])
    assert "torch.jit" in some
    assert "torch.jit.script" in some
    assert "torch.jit.frontend.parse" in some
    assert "torch.jittery" not in some
    assert "torch.qr" in some
    assert "torch.qr.a" not in some


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[LedgerEntry]:
    old = DeprecationMark(ALL_RELEASES, "call", "FutureWarning", "use g")
    renewed = DeprecationMark(ReleaseSet(3), "call", "FutureWarning", "use h")
    made = [
        LedgerEntry(name, "function", "exported", ALL_RELEASES, ReleaseSet(0), marks, ())
        for name, marks in [
            ("torch.nn.f", (old,)),
            ("torch.nn.functional.f", (old,)),
            ("torch.f", (renewed,)),
            ("torch.plain", ()),
            ("torch.e", (old,)),
        ]
    ]
    monkeypatch.setattr("torchmigrate.tables.api_ledger.read_entries", lambda *, private: made)
    monkeypatch.setattr(undecided, "CHANGES", [tmp_path / "changes.toml"])
    monkeypatch.setattr(undecided, "DECIDED", tmp_path / "decided.toml")
    return made


def test_what_is_decided_of_a_name_is_so_of_the_same_thing_elsewhere(
    entries: list[LedgerEntry], tmp_path: Path
) -> None:
    (tmp_path / "changes.toml").write_text('[[deprecated]]\nbelow = "torch.nn.functional"\nsymbols = ["f"]\n')
    (tmp_path / "decided.toml").write_text('[[group]]\nwhy = "It is for torch alone"\nnames = ["torch.e"]\n')
    assert [entry.name for entry in undecided.undecided()] == ["torch.f"]
    assert list(undecided.listed(undecided.undecided())) == [
        "torch",
        "  torch.f",
        "    2.0 to 2.1: calling it, FutureWarning: use h",
    ]
    assert not undecided.needless()


def test_a_reason_for_what_is_decided_elsewhere_is_needless(
    entries: list[LedgerEntry], tmp_path: Path
) -> None:
    (tmp_path / "changes.toml").write_text('[[deprecated]]\nsymbols = ["torch.e"]\n')
    (tmp_path / "decided.toml").write_text(
        '[[group]]\nwhy = "…"\nnames = ["torch.e", "torch.nn.f", "torch.gone"]\n'
    )
    assert undecided.needless() == ["torch.e", "torch.gone"]
