"""The fuzz tests can fail: rules with faults of every kind are planted, and the invariants see each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pytest

from tests.fuzz import harness, oracle
from tests.fuzz.invariants import hold
from tests.fuzz.oracle import Violation
from torchmigrate.engine import registry
from torchmigrate.engine.rule_context import Context
from torchmigrate.model.findings import Edit, Finding, Fix
from torchmigrate.model.rule import Rule
from torchmigrate.model.vocabulary import Kind, Safety
from torchmigrate.prefilter.triggers import Trigger
from torchmigrate.proof import edit_verification
from torchmigrate.run import selection
from torchmigrate.semantics.use import Use

BEFORE = """\
import torch
import numpy

x = old_function(1,  # why
                 torch.planted.symbol(2 + 3) * 4)
y = numpy.array(x)
"""
CALL = BEFORE.index("torch.planted"), BEFORE.index(" * 4")


def planted(monkeypatch: pytest.MonkeyPatch, *edits: tuple[int, int, str]) -> None:
    """Makes a rule whose fix consists of these edits the only one, and the tool's own proof blind."""
    rule = Rule(
        "TS999", ("torch.planted.symbol",), "planted", safety=Safety.SAFE, kinds=frozenset({Kind.CALL})
    )
    fix = Fix(tuple(Edit(*edit) for edit in edits), Safety.SAFE, "Plant")

    @rule.check
    def check(use: Use, ctx: Context) -> Iterator[Finding]:
        yield ctx.finding(use, fix=lambda: fix)

    def selected(settings: object) -> Mapping[str, Rule]:
        return {rule.code: rule}

    monkeypatch.setattr(registry, "select_rules", selected)
    monkeypatch.setattr(selection, "_prefilters", {})
    monkeypatch.setattr(selection, "_rule_sets", {})
    monkeypatch.setattr(registry, "collect_triggers", lambda: [Trigger.from_rule(rule)])
    monkeypatch.setattr(registry, "check_selectors", lambda settings, rules: None)
    monkeypatch.setattr(edit_verification, "verify_edits", lambda before, after, edits: None)


def test_a_fix_without_a_fault_is_let_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, (*CALL, "(2 + 3)"))
    fixed = BEFORE.replace("torch.planted.symbol", "").replace("import torch\n", "")
    assert hold(BEFORE.encode()).after.decode() == fixed


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([(BEFORE.index("1,"), CALL[1], "2, 5")], "comment # why is lost"),
        ([(*CALL, "2 + 3")], "is gone, and no edit says so"),
        ([(*CALL, "5"), (len(BEFORE), len(BEFORE), "    z = 1\n")], "an error: .*unexpected indent"),
        ([(*CALL, "5"), (BEFORE.index("y ="), BEFORE.index("y ="), "#")], "is gone, and no edit says so"),
        ([(*CALL, "5"), (BEFORE.index("numpy\n"), BEFORE.index("\n\nx"), "numpi")], "nothing binds"),
        ([(*CALL, "5"), (0, 0, "return\n")], "does not compile"),
    ],
)
def test_a_fix_with_a_fault_is_seen(
    monkeypatch: pytest.MonkeyPatch, edits: list[tuple[int, int, str]], message: str
) -> None:
    planted(monkeypatch, *edits)
    with pytest.raises(Violation, match=message):
        hold(BEFORE.encode())


def test_a_fix_that_is_never_done_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, (CALL[0], CALL[0], "1 + "))
    with pytest.raises(Violation, match="the file still changes after"):
        hold(BEFORE.encode())


def tampered(monkeypatch: pytest.MonkeyPatch, tamper: Callable[[bytes], bytes]) -> None:
    """Makes the tool change files in a way that no edit tells of."""
    from torchmigrate.text.source_text import SourceText

    replaced = SourceText.apply_edits
    monkeypatch.setattr(SourceText, "apply_edits", lambda self, edits: tamper(replaced(self, edits)))


@pytest.mark.parametrize("tamper", [bytes.rstrip, lambda data: data.replace(b"(1,", b"(2,")])
def test_a_change_that_no_edit_tells_of_is_seen(
    monkeypatch: pytest.MonkeyPatch, tamper: Callable[[bytes], bytes]
) -> None:
    planted(monkeypatch, (*CALL, "5"))
    tampered(monkeypatch, tamper)
    with pytest.raises(Violation, match="and no edit says so"):
        hold(BEFORE.encode())


def test_a_count_that_is_not_true_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, (*CALL, "5"))
    outcome = harness.fix(BEFORE.encode())
    assert len(outcome.applied) == 1
    twice = replace(outcome, applied=outcome.applied * 2)
    idle = replace(outcome, applied=())
    monkeypatch.setattr(harness, "fix", lambda data, *_: twice if data == twice.before else idle)
    with pytest.raises(Violation, match="2 are fixed"):
        hold(BEFORE.encode())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if a:\n    b\nc\n", "if a:\n    b\n    c\n"),
        ("f(a + b) * c\n", "a + b * c\n"),
        ("a\n# b\nc\n", "a\n# b c\n"),
    ],
)
def test_the_oracle_sees_code_that_is_regrouped(before: str, after: str) -> None:
    with pytest.raises(Violation):
        oracle.compare(before.encode(), list(_edits(before, after)), after.encode())


def test_the_oracle_tells_apart_the_blanks_of_changes_beside_each_other() -> None:
    before = b"def g():\n  a = f(Cell())  # x\n# note\n  b = 1\n"
    after = b"def g():\n  a = Cell()  # x\n  a.compile()\n# note\n  b = 1\n"
    first, last, line = before.index(b"f("), before.index(b")  #"), before.index(b"# note")
    edits = [Edit(first, first + 2, ""), Edit(last, last + 1, ""), Edit(line, line, "  a.compile()\n")]
    oracle.compare(before, edits, after)
    with pytest.raises(Violation):
        oracle.compare(before, edits[:2], after)


def _edits(before: str, after: str) -> Iterator[Edit]:
    from difflib import SequenceMatcher

    for kind, start, end, to, to_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Edit(start, end, after[to:to_end])
