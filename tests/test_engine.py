"""Facts that rules note about the project, and what fixing does with fixes that get in each other's way, or that cannot be proved."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import settings_of
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import Reference
from torchmigrate.engine.engine import Engine
from torchmigrate.engine.fix_rounds import FixedFile, FixSelection
from torchmigrate.engine.rule_context import Context
from torchmigrate.engine.rule_set import RuleSet
from torchmigrate.model.findings import Edit, Finding, Fix, NoFix
from torchmigrate.model.rule import Rule
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.model.vocabulary import Safety, Severity, Sort
from torchmigrate.project.file_search import InputFile
from torchmigrate.project.project_facts import Project
from torchmigrate.run import runner
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree
from torchmigrate.semantics.symbol_uses import SymbolUses
from torchmigrate.semantics.use import Use

FIXTURES = Path(__file__).parents[1] / "fixtures"

removal = Rule(code="XX901", symbols=("torch.remove",), message="goes", safety=Safety.SAFE)
loss = Rule(code="XX902", symbols=("torch.lose",), message="goes, with its comments", safety=Safety.SAFE)
fault = Rule(code="XX903", symbols=("torch.fault",), message="swallows what follows", safety=Safety.SAFE)


@removal.check
def check_removal(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: Fix((ctx.remove_statement(use.place),), Safety.SAFE, "Remove it"))


@loss.check
def check_loss(use: Use, ctx: Context) -> Iterator[Finding]:
    edit = Edit(*ctx.source.span_of(use.place.statement), "pass")
    yield ctx.finding(use, fix=lambda: Fix((edit,), Safety.SAFE, "Remove it"))


@fault.check
def check_fault(use: Use, ctx: Context) -> Iterator[Finding]:
    edit = Edit(*ctx.source.span_of(use.node), "torch.right #")
    yield ctx.finding(use, fix=lambda: Fix((edit,), Safety.SAFE, "Rename it"))


def fix(text: str) -> FixedFile:
    engine = Engine(RuleSet([removal, loss, fault], RuleOptions(target=(2, 15), minimum=(2, 0))))
    return engine.fix_file("a.py", text.encode(), Project(), None, FixSelection())


def test_statements_that_make_up_a_block_leave_a_pass() -> None:
    fixed = fix("import torch\ndef f():\n    torch.remove()\n    torch.remove()\n    torch.remove(1)\n")
    assert fixed.data == b"def f():\n    pass\n"
    assert len(fixed.applied) == 3
    assert not fixed.result.errors


def test_a_fix_that_cannot_be_proved_is_left_out_and_said_so() -> None:
    fixed = fix("import torch\ntorch.remove()\nprint(\n    torch.fault(1\n    ))\ntorch.remove(1)\n")
    assert fixed.data == b"import torch\nprint(\n    torch.fault(1\n    ))\n"
    assert [finding.code for finding in fixed.applied] == ["XX901", "XX901"]
    assert [finding.code for finding in fixed.result.findings] == ["XX903"]
    (error,) = fixed.result.errors
    assert "XX903" in error.message


def test_a_fix_that_would_lose_a_comment_is_left_out_and_said_so() -> None:
    text = "import torch\nprint(\n    torch.lose(  # why\n    ))\n"
    fixed = fix(text)
    assert fixed.data == text.encode()
    (error,) = fixed.result.errors
    assert error.message.endswith("the fix of XX902 cannot be proved: the comment `# why` would be lost")
    assert [finding.code for finding in fixed.result.findings] == ["XX902"]


def test_what_a_rule_notes_in_one_file_is_known_in_all() -> None:
    rule = Rule(code="XX101", symbols=("torch.jit.load",), asks=("torch.jit.save",))

    @rule.note
    def note(use: Use, ctx: Context) -> Iterator[str]:
        if use.call is not None and len(use.call.args) > 2:
            yield "saves with many arguments"

    @rule.check
    def check(use: Use, ctx: Context) -> Iterator[Finding]:
        if ctx.project.find_uses("saves with many arguments"):
            yield ctx.finding(use, "saved elsewhere")

    engine = Engine(RuleSet([rule], RuleOptions((2, 15), (2, 0)), selects=lambda code, path: path == "b.py"))
    project = Project()
    a = b"import torch\ntorch.jit.save(m, f, extra)\n"
    b = b"import torch\ntorch.jit.load(f)\n"
    assert not engine.scan_file("b.py", b, project).result.findings
    project.record_mentions(engine.scan_file("a.py", a, project).facts.mentions)
    assert [m.line for m in project.find_uses("saves with many arguments")] == [2]
    (finding,) = engine.scan_file("b.py", b, project).result.findings
    assert finding.message == "saved elsewhere"


def test_a_rule_that_asks_too_early_is_asked_again() -> None:
    """What it would work out after its question waits until there is an answer, and what it said before counts once."""
    answers = []

    def check(use: Use, ctx: Context) -> Iterator[Finding]:
        yield ctx.finding(use, "said before")
        answers.append(bool(ctx.project.find_uses("torch.jit.load")))
        yield ctx.finding(use, "said after")

    rule = Rule("XX902", ("torch.jit.load",))
    rule.check(check)
    engine = Engine(RuleSet([rule], RuleOptions((2, 15), (2, 0))))
    project = Project()
    project.is_complete = False
    early = engine.scan_file("a.py", b"import torch\ntorch.jit.load(f)\n", project)
    assert (early.result.findings, early.result.errors, early.facts.provisional) == ((), (), True)
    project.record_mentions(early.facts.mentions)
    project.is_complete = True
    late = engine.scan_file("a.py", b"import torch\ntorch.jit.load(f)\n", project)
    assert [finding.message for finding in late.result.findings] == ["said before", "said after"]
    assert answers == [True]


def test_nothing_of_a_file_outlives_its_scan() -> None:
    """What rules work out about a file refers to its tree: kept anywhere else, it would never be freed."""
    files = [InputFile(str(path)) for path in sorted(FIXTURES.rglob("case*.py"))]
    settings, minimum = settings_of(["--jobs", "1"])
    before = _alive()
    assert any(
        result.findings
        for result in runner.check_tree(Tree(files, create_uniform_profile(settings, minimum)))
    )
    assert _alive() == before


def _alive() -> int:
    gc.collect()
    return sum(isinstance(one, SymbolUses) for one in gc.get_objects())


def _refuses() -> Fix:
    raise NoFix("nobody knows")


def test_the_reason_for_no_fix_is_what_the_finding_says() -> None:
    def check(use: Use, ctx: Context) -> Iterator[Finding]:
        yield ctx.finding(use, fix=_refuses)

    rule = Rule("XX900", ("torch.jit.script",), "old", since=(2, 0))
    rule.check(check)
    (finding,) = (
        Engine(RuleSet([rule], RuleOptions((2, 15), (2, 0))))
        .scan_file("a.py", b"import torch\ntorch.jit.script(f)\n", Project())
        .result.findings
    )
    assert (finding.fix, finding.withheld) == (None, "nobody knows")


def test_the_same_holds_for_project_files() -> None:
    def check(reference: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
        yield ctx.finding(reference, "old", Severity.ERROR, fix=_refuses)

    rule = Rule("XX901", references=(Sort.REQUIREMENT,))
    rule.check_reference(check)
    (finding,) = (
        Engine(RuleSet([rule], RuleOptions((2, 15), (2, 0))))
        .scan_file("requirements.txt", b"torch==2.0\n", Project())
        .result.findings
    )
    assert (finding.fix, finding.withheld) == (None, "nobody knows")


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python reads it")
@pytest.mark.parametrize(
    "newer", ["try:\n    pass\nexcept ValueError, TypeError:\n    pass\n", "pass\npass\ny = t'{x}'\n"]
)
def test_what_only_a_newer_python_reads_is_an_error_with_its_line_and_costs_no_other_file(newer: str) -> None:
    settings, minimum = settings_of()
    hit = "import torch\nx = torch.jit.script(f)\n"
    inputs = [InputFile("new.py", (hit + newer).encode()), InputFile("old.py", hit.encode())]
    new, old = runner.check_tree(Tree(inputs, create_uniform_profile(settings, minimum)))
    ((error,), (finding,)) = new.errors, old.findings
    assert (error.line, finding.code) == (5, "TS101")
    assert not new.findings
