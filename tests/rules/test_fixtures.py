"""Every fixture: findings exactly where the markers say, and exactly those recorded; the exact result of fixing; and a
second run that is idle.

A line of a module that must give findings ends in ``# expect: CODE`` (several codes: separated by commas); project
files have no markers. All that each finding says stands in ``case.findings`` (see `tests.rules.cases`; absent: there is
none). ``case.fixed.py`` is the result of fixing ``case.py`` (absent: nothing may change). A first line ``# flags: …``
holds options of the command line; in a folder, that of the first file that has one counts, or that of its record.

``pytest tests/rules --accept`` rewrites the ``.fixed`` files and the records, never the markers.
"""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from tests.rules.cases import FIXTURES, RECORD, Case, cases, declared_otherwise
from tests.waits import find_circle, list_waits
from torchmigrate.engine.registry import load_rules
from torchmigrate.foreign.foreign_use import UNREAD
from torchmigrate.model.findings import Finding, Place

CASES = cases()


@pytest.fixture(scope="module", params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    """One case, whose results the tests share; all tests of a case run before those of the next, and then they go."""
    return Case(request.param.path)


def test_findings(case: Case, accept: bool) -> None:
    assert not case.checked.errors
    for file in case.modules:
        assert case.marked(file) == case.expected(file), f"findings in {file.name}"
    if case.path.stem.endswith("in_f_string") and sys.version_info >= (3, 12):
        return  # older Pythons, of which the record is, do not know places inside of an f-string
    described = case.described()
    if accept:
        if described:
            case.record.write_text(described, "utf-8")
        else:
            case.record.unlink(missing_ok=True)
    assert described == case.recorded, (
        f"findings are not those in {case.record.name}: `--accept` takes them over"
    )


def test_fixes(case: Case, accept: bool) -> None:
    results = case.fixed
    for file in case.files:
        result = results[str(file)]
        assert not result.result.errors
        wanted = file.with_name(f"{file.stem}.fixed{file.suffix}")
        if accept:
            if result.after != result.before:
                wanted.write_bytes(result.after)
            else:
                wanted.unlink(missing_ok=True)
        before = file.read_bytes()
        assert (result.after or before) == (wanted.read_bytes() if wanted.exists() else before)

    if any(result.applied for result in results.values()):  # else a second run is the first one
        again = case.fixed_again()
        assert not [result.applied for result in again.values() if result.applied], (
            "a second run changes something"
        )


def test_every_rule_that_watches_something_has_fixtures() -> None:
    missing = []
    for rule in load_rules().values():
        folder = FIXTURES / rule.family.replace("-", "_") / rule.name.replace("-", "_")
        texts = [file.read_text("utf-8") for file in folder.glob(f"*{RECORD}")]
        watches = rule.symbols or rule.references or rule.foreign not in ((), (UNREAD,))
        if watches and not any(f" {rule.code} " in text for text in texts):
            missing.append(f"{rule.code} {folder.relative_to(FIXTURES)}")
    assert not missing


def test_rules_declare_the_best_safety_that_their_fixes_have() -> None:
    assert declared_otherwise() == {}


def test_a_case_says_what_it_is_for() -> None:
    assert [str(case) for case in CASES if not case.purpose] == []


def test_no_recorded_result_is_left_without_a_case() -> None:
    stray = [
        path
        for path in FIXTURES.glob("*/*/*.fixed.*")
        if not path.with_name(path.name.replace(".fixed", "")).exists()
    ]
    stray += set(FIXTURES.glob(f"*/*/*{RECORD}")) - {case.record for case in CASES}
    assert not stray


def test_what_only_a_later_round_fixes_is_announced(case: Case) -> None:
    """What `check` gives no fix and `fix` mends all the same says what it waits for."""
    results = case.fixed
    waited_for = {finding.waits_for for finding in case.checked.findings}
    for path, result in case.checked.results.items():
        made = Counter(finding.code for finding in results[path].applied)
        for finding in result.findings:
            if finding.fix is not None or finding.waits_for is not None:
                made[finding.code] -= 1
            # What others wait for may change once more, together with them.
            if finding.location is not None and Place(finding.path, finding.location.line) in waited_for:
                made[finding.code] -= 1
        assert not +made


def test_no_finding_waits_for_one_that_waits_for_it(case: Case) -> None:
    assert find_circle(list_waits(case.checked.findings)) == []


def test_a_finding_without_a_fix_has_a_next_step(case: Case) -> None:
    assert [finding for finding in case.checked.findings if not _has_next_step(finding)] == []


def _has_next_step(finding: Finding) -> bool:
    """Return whether a finding has a fix, waits for another one, or tells what to do in its hint or behind its reason."""
    if not finding.code.startswith("TS"):
        return True
    is_told = finding.hint is not None or "; " in (finding.withheld or "")
    return finding.fix is not None or finding.waits_for is not None or is_told
