"""Output formats, one module each: ``write(results, report, out)`` in the module that has the format's name."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Protocol, cast

from torchmigrate.model.vocabulary import Safety, Severity

if TYPE_CHECKING:
    from torchmigrate.documents.minimum import Minimum
    from torchmigrate.model.findings import FileResult, Finding, Fix
    from torchmigrate.model.rule import Rule
    from torchmigrate.reporters.verified import Verified
    from torchmigrate.settings.settings import Settings


@dataclass(slots=True)
class Report:
    """What a run was asked, and what its results add up to."""

    settings: Settings
    """Those of the folder that holds all that was named."""
    minimum: Minimum
    """The lowest of all projects."""
    rules: Callable[[], Mapping[str, Rule]]
    """Gives all rules by code; called only when there is something to say of one, since loading them takes time."""
    settings_of: Callable[[str], Settings] | None = None
    """Those for a file, by its path, where there are several projects."""
    color: bool = False
    """Whether to write ANSI colours."""
    links: bool = False
    """Whether to write hyperlinks for a terminal."""
    width: int = 0
    """The columns that text is wrapped to; 0 for none."""
    invocation: str = ""
    """What was named, and which rules and versions, as a command line goes on with it."""
    paths: Sequence[str] = ()
    """The files that were looked at."""
    quiet: bool = False
    """Whether text formats leave out the summary."""
    files: int = 0
    seconds: float = 0.0
    suppressed: int = 0
    known: int = 0
    """Findings that are left out because a baseline or an earlier revision has them too."""
    errors: int = 0
    severities: Counter[Severity] = field(default_factory=Counter)
    rules_found: Counter[tuple[str, Severity]] = field(default_factory=Counter)
    """How many findings there are of each rule and severity."""
    fixable: int = 0
    """Findings with a fix that a run with the same settings applies."""
    hidden_unsafe: int = 0
    """Findings with a fix that only ``--unsafe`` applies."""
    failing: int = 0
    """Findings at or above the ``fail-on`` of their file."""
    fixing: bool = False
    """Whether the run fixes, and has something to say of what it did and what it left."""
    applied: list[Finding] = field(default_factory=list)
    """Findings that this run has fixed, or would fix."""
    written: bool = False
    """Whether the fixed files are written."""
    verified: Verified | None = None
    """What a command said about the fixes, if one was asked."""
    withheld: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many findings have no fix, or none that the run applies, by rule and reason."""

    @property
    def fixed(self) -> int:
        """How many findings this run has fixed, or would fix."""
        return len(self.applied)

    @property
    def waiting(self) -> int:
        """How many findings have no fix as long as something else stays, which another fix may change."""
        return sum(number for (_, reason), number in self.withheld.items() if "waits " in reason)

    @property
    def findings(self) -> int:
        """How many findings there are, of every severity."""
        return sum(self.severities.values())

    def add(self, result: FileResult) -> None:
        """Counts in the findings and errors of one file."""
        self.suppressed += result.suppressed
        self.errors += len(result.errors)
        settings = self.settings_for(result.path)
        for finding in result.findings:
            self.failing += self.fails(finding)
            self.severities[finding.severity] += 1
            self.rules_found[finding.code, finding.severity] += 1
            if finding.withheld:
                self.withheld[finding.code, finding.withheld] += 1
            if finding.fix is not None:
                if finding.fix.safety is Safety.UNSAFE and not settings.unsafe_fixes:
                    self.withheld[finding.code, "its fix is not safe in every case, see --unsafe"] += 1
                    self.hidden_unsafe += 1
                self.fixable += self.applies(finding.fix, finding.path)

    def settings_for(self, path: str) -> Settings:
        """The settings for the file at ``path``."""
        return self.settings if self.settings_of is None or not path else self.settings_of(path)

    def applies(self, fix: Fix, path: str) -> bool:
        """Whether a run with the settings of the file at ``path`` applies ``fix``."""
        unsafe = self.settings_for(path).unsafe_fixes
        return fix.safety is Safety.SAFE or (fix.safety is Safety.UNSAFE and unsafe)

    def fails(self, finding: Finding) -> bool:
        """Whether ``finding`` is at or above the ``fail-on`` of its file."""
        return finding.severity.rank >= Severity(self.settings_for(finding.path).fail_on).rank

    def shows(self, finding: Finding) -> bool:
        """Whether text formats list ``finding`` by itself, and do not only count it."""
        return self.settings_for(finding.path).shows(finding.code, finding.severity.value)

    def source(self, code: str) -> str:
        """Where the facts of the rule ``code`` come from, as its documentation says; "" when it does not."""
        rule = self.rules().get(code)
        return source_of(rule) if rule else ""

    def sources(self, code: str, findings: Iterable[Finding]) -> str:
        """Where the facts of some findings of the rule ``code`` come from: their own sources, or that of the rule."""
        own = dict.fromkeys(finding.source for finding in findings if finding.source)
        return "; ".join(own) or self.source(code)

    def address(self, code: str) -> str:
        """The first address in what `source` says; "" where there is none."""
        found = re.search(r"https://[^\s<>()]*[^\s<>().,;:]", self.source(code))
        return found[0] if found else ""


def source_of(rule: Rule) -> str:
    """Where the facts of a rule come from, as its documentation says; "" when it does not."""
    found = re.search(r"^Sources?:\s*(.+?)(?:\n\s*\n|\Z)", rule.doc, re.S | re.M)
    return " ".join(found[1].split()) if found else ""


class Reporter(Protocol):
    """What the module of a format is."""

    def write(self, results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
        """Writes all ``results`` to ``out``; goes through them as often as it needs to, but keeps none."""


def load(name: str) -> Reporter:
    """The module of the output format ``name``, one of the choices of the setting ``output-format``."""
    return cast("Reporter", importlib.import_module(f"torchmigrate.reporters.{name}"))


def place(finding: Finding) -> str:
    """``path:line:column`` of a finding, with ``cell N`` in a notebook; "" when it is about no file."""
    if finding.location is None:
        return _named(finding.path)
    return position(finding.path, finding.location.line, finding.location.column, finding.location.cell)


def position(path: str, line: int | None, column: int | None, cell: int | None) -> str:
    """``path:line:column``, as far as it is known."""
    parts = [
        _named(path),
        f"cell {cell}" if cell is not None else None,
        line,
        column if line is not None else None,
    ]
    return ":".join(str(part) for part in parts if part is not None and part != "")


def _named(path: str) -> str:
    """The path, so that at the beginning of a line it is no workflow command of GitHub."""
    return f"./{path}" if path.lstrip().startswith("::") else path


def in_cell(cell: int | None, message: str) -> str:
    """A message, where a format has no other place for the number of a notebook's cell."""
    return message if cell is None else f"cell {cell}: {message}"


def all_findings(results: Iterable[FileResult]) -> Iterable[Finding]:
    """The findings of ``results`` in their order."""
    return (finding for result in results for finding in result.findings)


def count(number: int, singular: str, plural: str = "") -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
