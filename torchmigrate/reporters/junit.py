"""JUnit XML, which most CI services show as tests: a file is a test suite, a finding a test case.

Sources: https://github.com/testmoapp/junitxml, and junit-10.xsd of Jenkins' xUnit plugin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import IO
from xml.sax import saxutils

from torchmigrate.console.terminal import escape_controls, escape_line
from torchmigrate.model.findings import FileResult, Finding
from torchmigrate.reporters.report import Report, format_evidence, format_place, format_position

NAME = "torchmigrate"


def write_report(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write the test suites; a run without findings is one test case that passes."""
    suites = [(result.path, list(_render_cases(result, report))) for result in results]
    suites = [(path, cases) for path, cases in suites if cases]
    cases = [case for _, some in suites for case in some] or [_TestCase("no findings", NAME)]
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    out.write(f"<testsuites{_format_attributes(name=NAME, **_count_outcomes(cases))}>\n")
    for path, some in suites or [(NAME, cases)]:
        out.write(f"  <testsuite{_format_attributes(name=path or NAME, **_count_outcomes(some))}>\n")
        out.writelines(case.text for case in some)
        out.write("  </testsuite>\n")
    out.write("</testsuites>\n")


class _TestCase:
    """One test case as XML: passed, failed, or not run because of an error."""

    def __init__(self, name: str, of: str, outcome: str = "", message: str = "", detail: str = "") -> None:
        self.outcome = outcome
        opening = f"    <testcase{_format_attributes(name=name, classname=of)}"
        if outcome:
            attributes = (
                _format_attributes(message=message, type=name) if outcome in ("failure", "error") else ""
            )
            inner = f"<{outcome}{attributes}>{_escape_text(detail)}</{outcome}>"
            self.text = f"{opening}>\n      {inner}\n    </testcase>\n"
        else:
            self.text = f"{opening}/>\n"


def _render_cases(result: FileResult, report: Report) -> Iterator[_TestCase]:
    for error in result.errors:
        where = format_position(error.path, error.line, error.column, error.cell)
        yield _TestCase("failed", error.path, "error", error.message, f"{where}: {error.message}")
    for finding in result.findings:
        if report.is_listed(finding):
            outcome = "failure" if report.is_failing(finding) else "system-out"
            yield _TestCase(
                finding.code, finding.path or NAME, outcome, finding.message, _format_detail(finding)
            )


def _format_detail(finding: Finding) -> str:
    where = format_place(finding)
    lines = [
        f"{where}: {finding.message}" if where else finding.message,
        finding.hint,
        finding.withheld,
        format_evidence(finding),
    ]
    return "\n".join(line for line in lines if line)


def _count_outcomes(cases: Iterable[_TestCase]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    return {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count("failure")),
        "errors": str(outcomes.count("error")),
    }


def _format_attributes(**given: str) -> str:
    return "".join(f" {name}={saxutils.quoteattr(_remove_illegal(value))}" for name, value in given.items())


def _escape_text(text: str) -> str:
    return "\n".join(saxutils.escape(_remove_illegal(escape_line(line))) for line in text.split("\n"))


def _remove_illegal(text: str) -> str:
    """Return ``text`` without the characters that XML cannot hold even when they are escaped."""
    return re.sub("[\ufffe\uffff]", "�", escape_controls(text))
