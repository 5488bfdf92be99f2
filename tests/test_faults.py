"""A fault of the tool costs what it was met in: a rule in a file, or a file; it is said, and all else is checked."""

from __future__ import annotations

import ast
import contextlib
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.counted_work import count_calls
from tests.support import settings_of
from torchmigrate.engine import file_limits, python_module, registry
from torchmigrate.engine.rule_context import Context
from torchmigrate.model.findings import Edit, FileResult, Finding, Fix
from torchmigrate.model.rule import Rule
from torchmigrate.model.vocabulary import Safety, Sort
from torchmigrate.prefilter.triggers import Trigger
from torchmigrate.project.file_search import InputFile
from torchmigrate.rewrite.changes import Replace
from torchmigrate.rewrite.rewriter import Rewriter
from torchmigrate.run import runner, selection
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree
from torchmigrate.semantics.symbol_uses import SymbolUses
from torchmigrate.semantics.use import Use

CALM = Rule(code="ZZ901", symbols=("torch.use",), message="calm", name="calm", family="test")
WILD = Rule(code="ZZ902", symbols=("torch.use",), message="wild", name="wild", family="test")
FILES = {
    "a.py": b"import torch\ntorch.use(1)\ntorch.use(2)\n",
    "b.py": b"import torch\ntorch.use(1)\ntorch.use('break')\ntorch.use(3)\n",
    "c.py": b"import torch\ntorch.use(3)\n",
}


def breaks(use: Use) -> bool:
    return use.call is not None and "break" in ast.dump(use.call)


class Odd(Exception):
    """One whose text is a fault, too."""

    def __str__(self) -> str:
        return "\x1b[2J\n::error::" * 200


def in_check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use)
    if breaks(use):
        raise Odd


def in_fix(use: Use, ctx: Context) -> Iterator[Finding]:
    def fix() -> Fix:
        if breaks(use):
            raise KeyError("fix")
        return Fix((ctx.rename_use(use, "torch.other"),), Safety.SAFE, "Rename it")

    yield ctx.finding(use, fix=fix)


def in_edits(use: Use, ctx: Context) -> Iterator[Finding]:
    name: Any = 1 if breaks(use) else ctx.write_symbol("torch.other", use)
    assert isinstance(use.node, ast.expr)
    change = Replace(use.node, name)
    if not breaks(use):
        change = ctx.rename_use(use, "torch.other")
    yield ctx.finding(use, fix=lambda: Fix((change,), Safety.SAFE, "Rename it"))


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "load_rules", lambda: {rule.code: rule for rule in (CALM, WILD)})
    monkeypatch.setattr(
        registry, "collect_triggers", lambda: [Trigger.from_rule(rule) for rule in (CALM, WILD)]
    )
    monkeypatch.setattr(selection, "_prefilters", {})
    monkeypatch.setattr(selection, "_rule_sets", {})
    yield
    WILD.check_function = WILD.note_function = None
    WILD.asks = ()


def checked(files: Mapping[str, bytes], *flags: str) -> dict[str, FileResult]:
    settings, minimum = settings_of(flags)
    inputs = [InputFile(path, data) for path, data in files.items()]
    return {
        result.path: result
        for result in runner.check_tree(Tree(inputs, create_uniform_profile(settings, minimum)))
    }


def codes(result: FileResult) -> list[tuple[int, str]]:
    return [(f.location.line, f.code) for f in result.findings if f.location]


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("wild", [in_check, in_fix])
def test_a_rule_that_raises_says_nothing_of_that_file_and_all_else_is_said(wild: Callable[..., Any]) -> None:
    WILD.check_function = wild
    results = checked(FILES)
    assert codes(results["a.py"]) == [(2, "ZZ901"), (2, "ZZ902"), (3, "ZZ901"), (3, "ZZ902")]
    assert codes(results["b.py"]) == [(2, "ZZ901"), (3, "ZZ901"), (4, "ZZ901")]
    assert codes(results["c.py"]) == [(2, "ZZ901"), (2, "ZZ902")]
    assert [result.path for result in results.values() if result.errors] == ["b.py"]
    (error,) = results["b.py"].errors
    assert (error.line, error.column) == (3, 1)
    assert "a fault in torchmigrate (" in error.message
    assert "test_faults.py:" in error.message
    assert "ZZ902 was not applied to this file" in error.message
    assert len(error.message) < 1000


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize("wild", [in_check, in_fix, in_edits])
def test_fixing_passes_over_what_a_rule_fails_at(wild: Callable[..., Any]) -> None:
    WILD.check_function = wild
    settings, minimum = settings_of(["--show", "info"])
    inputs = [InputFile(path, data) for path, data in FILES.items()]
    fixed = {
        one.path: one for one in runner.fix_tree(Tree(inputs, create_uniform_profile(settings, minimum)))
    }
    assert [error.line for error in fixed["b.py"].result.errors] == [3]
    assert not fixed["a.py"].result.errors
    if wild is not in_check:
        assert fixed["a.py"].after == FILES["a.py"].replace(b"use", b"other")
    if wild is in_edits:
        after = FILES["b.py"].replace(b"use(1)", b"other(1)").replace(b"use(3)", b"other(3)")
        assert fixed["b.py"].after == after


def spin() -> None:
    """Use CPU time without end, also where a single exception would be swallowed."""
    while True:
        with contextlib.suppress(Exception):
            sum(range(1000))


def check_slowly(use: Use, ctx: Context) -> Iterator[Finding]:
    """A rule that does not end at one use."""
    yield ctx.finding(use)
    if breaks(use):
        spin()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timers")
@pytest.mark.usefixtures("rules")
def test_a_file_that_takes_too_long_is_named_and_all_others_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    WILD.check_function = check_slowly
    monkeypatch.setattr(file_limits, "SECONDS_PER_FILE", 0.2)
    results = checked(FILES)
    assert [error.message for error in results["b.py"].errors] == [
        "not checked: it takes more than 0.2 seconds of CPU time"
    ]
    assert codes(results["c.py"]) == [(2, "ZZ901"), (2, "ZZ902")]
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)


@pytest.mark.usefixtures("rules")
def test_a_file_that_takes_too_long_in_a_thread_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    WILD.check_function = check_slowly
    monkeypatch.setattr(file_limits, "SECONDS_IN_THREAD", 0.2)
    with ThreadPoolExecutor(1) as pool:
        results = pool.submit(checked, FILES).result()
        assert [error.message for error in results["b.py"].errors] == [
            "not checked: it takes more than 0.2 seconds"
        ]
        assert codes(results["c.py"]) == [(2, "ZZ901"), (2, "ZZ902")]
        assert pool.submit(sum, range(100_000)).result() == 4999950000  # nothing arrives afterwards
    # An exception that is taken back makes Python 3.11 look for it for ever, at each step that a profiler sees.
    assert count_calls(lambda: [len("") for _ in range(10)]) > 10


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system does not limit data")
@pytest.mark.usefixtures("rules")
def test_a_file_that_takes_too_much_memory_is_named_and_all_others_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def check(use: Use, ctx: Context) -> Iterator[Finding]:
        yield ctx.finding(use)
        if breaks(use):
            bytearray(1 << 29)

    resource: Any = pytest.importorskip("resource")
    WILD.check_function = check
    monkeypatch.setattr(file_limits, "GIBIBYTES_PER_FILE", 0.25)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    results = checked(FILES)
    assert [error.message for error in results["b.py"].errors] == [
        "not checked: it takes more than 0.25 GiB of memory"
    ]
    assert codes(results["c.py"]) == [(2, "ZZ901"), (2, "ZZ902")]
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timers")
@pytest.mark.usefixtures("rules")
def test_a_file_whose_fixes_take_too_long_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(use: Use, ctx: Context) -> Iterator[Finding]:
        yield ctx.finding(use, fix=lambda: Fix((ctx.rename_use(use, "torch.other"),), Safety.SAFE, "Rename"))

    def rename(self: Rewriter, changes: Iterable[object]) -> tuple[Edit, ...]:
        if b"break" in self._source.text:
            spin()
        return rewrite(self, changes)  # type: ignore[arg-type]

    rewrite = Rewriter.build_edits
    WILD.check_function = check
    monkeypatch.setattr(file_limits, "SECONDS_PER_FILE", 0.2)
    monkeypatch.setattr(Rewriter, "build_edits", rename)
    settings, minimum = settings_of(["--show", "info"])
    inputs = [InputFile(path, data) for path, data in FILES.items()]
    tree = Tree(inputs, create_uniform_profile(settings, minimum))
    fixed = {one.path: one for one in runner.fix_tree(tree)}
    assert fixed["b.py"].after in (b"", FILES["b.py"])
    assert ["not fixed" in error.message for error in fixed["b.py"].result.errors] == [True]
    assert fixed["c.py"].after == FILES["c.py"].replace(b"use", b"other")


@pytest.mark.usefixtures("rules")
def test_a_note_that_raises_is_said() -> None:
    def note(use: Use, ctx: Context) -> Iterator[str]:
        if breaks(use):
            raise ValueError("note")
        yield "noted"

    WILD.note_function, WILD.asks = note, ("torch.use",)
    results = checked(FILES)
    assert [path for path, result in results.items() if result.errors] == ["b.py"]
    assert codes(results["b.py"])


def test_a_rule_for_project_files_that_raises_costs_that_rule_only(monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict(registry.load_rules())
    broken = next(rule for rule in known.values() if Sort.INDEX in rule.references)
    whole = checked({"requirements.txt": REQUIREMENTS})

    def fail(*_: object) -> Iterator[Finding]:
        raise AssertionError

    monkeypatch.setattr(broken, "check_reference_function", fail)
    results = checked({"requirements.txt": REQUIREMENTS})
    left = [finding for finding in codes(whole["requirements.txt"]) if finding[1] != broken.code]
    assert codes(results["requirements.txt"]) == left
    (error,) = results["requirements.txt"].errors
    assert (error.line, broken.code in error.message) == (1, True)


REQUIREMENTS = b"--extra-index-url https://download.pytorch.org/whl/cu126\ntorch==2.14.1+cu126\n"


def test_a_fault_outside_of_every_rule_costs_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    original = SymbolUses

    def uses(source: Any, *arguments: Any) -> Any:
        if source.path == "b.py":
            raise IndexError("lost")
        return original(source, *arguments)

    monkeypatch.setattr(python_module, "SymbolUses", uses)
    files = dict.fromkeys(FILES, b"import torch\ntorch.jit.script(f)\n")
    results = checked(files)
    assert [path for path, result in results.items() if result.findings] == ["a.py", "c.py"]
    (error,) = results["b.py"].errors
    assert "this file was not checked" in error.message
