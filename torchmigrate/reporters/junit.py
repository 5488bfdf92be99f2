"""JUnit XML, which most CI services show as tests: a file is a test suite, a finding a test case.

Sources: https://github.com/testmoapp/junitxml, and junit-10.xsd of Jenkins' xUnit plugin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import IO
from xml.sax import saxutils

from torchmigrate.console.terminal import escape, shown
from torchmigrate.model.findings import FileError, FileResult, Finding
from torchmigrate.reporters.report import Report, place, position

NAME = "torchmigrate"


def write(results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
    """Write the test suites; a run without findings is one test case that passes."""
    suites = [(result.path, list(_cases(result, report))) for result in results]
    suites = [(path, cases) for path, cases in suites if cases]
    cases = [case for _, some in suites for case in some] or [_Case("no findings", NAME)]
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    out.write(f"<testsuites{_attributes(name=NAME, **_counts(cases))}>\n")
    for path, some in suites or [(NAME, cases)]:
        out.write(f"  <testsuite{_attributes(name=path or NAME, **_counts(some))}>\n")
        out.writelines(case.text for case in some)
        out.write("  </testsuite>\n")
    out.write("</testsuites>\n")


class _Case:
    """One test case as XML: passed, failed, or not run because of an error."""

    def __init__(self, name: str, of: str, outcome: str = "", message: str = "", detail: str = "") -> None:
        self.outcome = outcome
        opening = f"    <testcase{_attributes(name=name, classname=of)}"
        if outcome:
            attributes = _attributes(message=message, type=name) if outcome in ("failure", "error") else ""
            inner = f"<{outcome}{attributes}>{_text(detail)}</{outcome}>"
            self.text = f"{opening}>\n      {inner}\n    </testcase>\n"
        else:
            self.text = f"{opening}/>\n"


def _cases(result: FileResult, report: Report) -> Iterator[_Case]:
    for error in result.errors:
        yield _broken(error)
    for finding in result.findings:
        if report.shows(finding):
            outcome = "failure" if report.fails(finding) else "system-out"
            yield _Case(finding.code, finding.path or NAME, outcome, finding.message, _detail(finding))


def _broken(error: FileError) -> _Case:
    where = position(error.path, error.line, error.column, error.cell)
    return _Case("failed", error.path, "error", error.message, f"{where}: {error.message}")


def _detail(finding: Finding) -> str:
    where = place(finding)
    lines = [f"{where}: {finding.message}" if where else finding.message, finding.hint, finding.withheld]
    return "\n".join(line for line in lines if line)


def _counts(cases: Iterable[_Case]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    return {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count("failure")),
        "errors": str(outcomes.count("error")),
    }


def _attributes(**given: str) -> str:
    return "".join(f" {name}={saxutils.quoteattr(_allowed(value))}" for name, value in given.items())


def _text(text: str) -> str:
    return "\n".join(saxutils.escape(_allowed(shown(line))) for line in text.split("\n"))


def _allowed(text: str) -> str:
    """Return ``text`` without the characters that XML cannot hold even when they are escaped."""
    return re.sub("[\ufffe\uffff]", "�", escape(text))
