"""What must hold of the tool for every program."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from tests.fuzz import harness, oracle
from tests.fuzz.harness import UNSAFE, Outcome, Step
from tests.fuzz.oracle import Violation
from torchmigrate.model.findings import Finding

Read = Callable[[bytes], str]
"""The program in a file: its code as text."""

_READS_BOTH = "this is only for TorchScript files; remove it when none is left"
"""The reason for a load that a fix has put beside one of exported programs."""
_RUN = {"TC404", "TC405", "TC406"}
_SYMBOL = re.compile(r"`(torch\.[\w.()]+|\w+)`")


def plain(data: bytes) -> str:
    """The program in a UTF-8 module."""
    return data.decode("utf-8-sig")


def checked(data: bytes, flags: Sequence[str] = UNSAFE, path: str = "case.py") -> Outcome:
    """What the tool finds. Raises Violation if it fails on the file."""
    outcome = harness.check(data, flags, path)
    _no_errors(outcome)
    return outcome


def hold(data: bytes, flags: Sequence[str] = UNSAFE, path: str = "case.py", read: Read = plain) -> Outcome:
    """Checks and fixes a file twice. Raises Violation if one of the invariants does not hold; returns the fixed file."""
    first = checked(data, flags, path)
    fixed = harness.fix(data, flags, path)
    _no_errors(fixed)
    said = {edit for finding in fixed.applied if finding.fix for edit in finding.fix.edits}
    for step in fixed.steps:
        oracle.compare(step.before, step.edits, step.after)
        for edit in set(step.edits) - said:
            _removes_an_import(step, edit)
    before, after = read(data), read(fixed.after)
    _keeps_the_program(before, after)
    again = harness.fix(fixed.after, flags, path)
    if again.applied or again.after != fixed.after:
        raise Violation("a second run changes something: " + _listed(again.applied))
    if _places(again.findings) != _places(fixed.findings):
        raise Violation(
            f"what is left is told wrongly: {_listed(fixed.findings)} and not {_listed(again.findings)}"
        )
    _counts(first.findings, fixed, oracle.imports(after))
    return fixed


def _no_errors(outcome: Outcome) -> None:
    if outcome.errors:
        raise Violation(f"an error: {outcome.errors[0].message} (line {outcome.errors[0].line})")


def _keeps_the_program(before: str, after: str) -> None:
    """Compiles as before, with every comment, and reads no name that nothing binds any more."""
    if (comment := oracle.lost_comment(before, after)) is not None:
        raise Violation(f"the comment {comment} is lost")
    try:
        _compile(before)
        names = oracle.unbound(before)
    except SyntaxError:
        return  # it did not compile before
    try:
        _compile(after)
        missing = oracle.unbound(after) - names
    except SyntaxError as error:
        raise Violation(f"the result does not compile: {error}") from None
    if missing and "import *" not in before:
        raise Violation(f"nothing binds {sorted(missing)} any more")


def _compile(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(text, "case.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def _removes_an_import(step: Step, edit: object) -> None:
    """Besides fixes, only whole imports, or names of them, may go."""
    from torchmigrate.model.findings import Edit

    assert isinstance(edit, Edit)
    gone = step.before[edit.start : edit.end].decode().strip()
    inside = any(edit.start in one and edit.end - 1 in one for one in oracle.imports(step.before.decode()))
    if inside and not edit.text.strip(" ,()") and re.fullmatch(r"(?:[\w.\s,()\\]|#.*)*", gone):
        return
    try:
        nodes = [*ast.parse(gone).body, *ast.parse(edit.text).body]
    except SyntaxError:
        nodes = []
    if not nodes or not all(isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)) for node in nodes):
        raise Violation(f"an edit that belongs to no fix removes {gone!r}")


def _counts(found: Iterable[Finding], fixed: Outcome, imports: Sequence[range]) -> None:
    """What is reported as fixed was found before and is there no more, and fixing makes nothing worse.

    A fix may put another symbol of the same rule into the place of the first, so that there is one more of those; and
    an import whose name it was the last to use may have to stay, which is a finding then. What is found by running
    functions shows itself only once nothing is in them that cannot be run. A load that reads both formats keeps the old one.
    """
    stayed = [
        f
        for f in fixed.findings
        if f.span and not any(f.span.start in one for one in imports) and f.withheld != _READS_BOTH
    ]
    before, gone, left = (
        Counter((finding.code, finding.message) for finding in findings)
        for findings in (found, fixed.applied, stayed)
    )
    for one in gone:
        if one[0] not in _RUN and gone[one] + left[one] > before[one]:
            raise Violation(f"{before[one]} of {one}: {gone[one]} are fixed, and {left[one]} are left")
    for code, number in Counter(code for code, _ in left.elements()).items():
        if code not in _RUN and number > sum(before[one] for one in before if one[0] == code):
            raise Violation(f"fixing makes a new {code}")


def _places(findings: Iterable[Finding]) -> list[object]:
    return [(f.code, f.message, f.location, f.span, f.withheld, f.hint) for f in findings]


def _listed(findings: Iterable[Finding]) -> str:
    return ", ".join(f"{f.code} in line {f.location.line if f.location else 0}" for f in findings)


def codes(outcome: Outcome) -> list[tuple[str, str]]:
    """The code and the symbol of each finding, in order."""
    return [(finding.code, _symbol(finding)) for finding in outcome.findings]


def lines(outcome: Outcome) -> list[tuple[int, str, str]]:
    """As `codes`, with the line, which in a notebook is that of its cell."""
    return [(f.location.line if f.location else 0, f.code, _symbol(f)) for f in outcome.findings]


def _symbol(finding: Finding) -> str:
    match = _SYMBOL.search(finding.message)
    return match[1] if match and match[1].startswith("torch.") else ""
