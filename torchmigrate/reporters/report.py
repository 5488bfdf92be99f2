"""What all output formats share: the totals of a run, and how places and numbers are written."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol, cast

from torchmigrate.model.findings import UNKNOWN_PLACE, Place
from torchmigrate.model.vocabulary import Safety, Severity

if TYPE_CHECKING:
    from torchmigrate.documents.minimum_torch import Minimum
    from torchmigrate.model.findings import FileResult, Finding, Fix
    from torchmigrate.model.rule import Rule
    from torchmigrate.model.torch_versions import Version
    from torchmigrate.settings.settings import Settings


HOME = ""
"""The address of this project's sources, which a release sets; without one, reports link to no page of the project."""

_FOREIGN_PREFIX = "Z"
"""The first letter of the codes of other packages' rules, whose documentation is elsewhere."""


class Verified(NamedTuple):
    """What the command of ``fix --verify`` showed about the fixes."""

    command: str
    runs: int
    """How often the command ran."""
    kept: int
    left_out: tuple[tuple[Finding, str], ...]
    """The fixes that were not applied, each with what it breaks."""
    notes: tuple[str, ...]
    """Remarks on the command, such as tests that fail without any fix."""
    passed_before: int | None
    """How many tests passed before fixing, if the command reports it."""
    passed_after: int | None
    """How many tests passed with the kept fixes, if the command reports it."""


@dataclass(eq=False, repr=False)
class Report:
    """The settings of a run and the totals of its results."""

    settings: Settings
    """The settings of the folder that contains all given paths."""
    minimum: Minimum
    """The lowest minimum torch of all projects."""
    rules: Callable[[], Mapping[str, Rule]]
    """Returns all rules by code; called only when a rule has to be described, since loading the rules takes time."""
    settings_of: Callable[[str], Settings] | None = None
    """Returns the settings for a file path, where there are several projects."""
    color: bool = False
    """Whether to write ANSI colors."""
    links: bool = False
    """Whether to write terminal hyperlinks."""
    width: int = 0
    """The number of columns to wrap text at; 0 for no wrapping."""
    home: str = HOME
    """The address of this project's sources; "" for no links to it."""
    invocation: str = ""
    """The paths, rules and versions of this run, as the rest of a command line."""
    paths: Sequence[str] = ()
    """The files that were checked."""
    quiet: bool = False
    """Whether text formats leave out the summary."""
    suggests: bool = True
    """Whether text formats suggest the next command."""
    max_places: int = 0
    """The number of places of one message that are shown with their source lines; 0 for all."""
    files: int = 0
    seconds: float = 0.0
    suppressed: int = 0
    known: int = 0
    """Number of findings left out because a baseline or an earlier revision has them."""
    errors: int = 0
    severities: Counter[Severity] = field(default_factory=Counter)
    rules_found: Counter[tuple[str, Severity]] = field(default_factory=Counter)
    """Number of findings by rule and severity."""
    fixable: int = 0
    """Number of findings whose fix a run with the same settings applies."""
    hidden_unsafe: int = 0
    """Number of findings whose fix is applied only with ``--unsafe``."""
    failing: int = 0
    """Number of findings at or above the ``fail-on`` severity of their file."""
    fixing: bool = False
    """Whether the run is a `fix` that reports what it did and what it left."""
    applied: list[Finding] = field(default_factory=list)
    """Findings that this run has fixed, or would fix."""
    written: bool = False
    """Whether the fixed files are written."""
    verified: Verified | None = None
    """What the ``--verify`` command showed, if there was one."""
    withheld: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of findings without an applied fix, by rule and reason."""

    needed_bounds: Counter[Version] = field(default_factory=Counter)
    """Number of findings whose fix waits for a newer lower bound on torch, by that bound."""

    needed_options: Counter[str] = field(default_factory=Counter)
    """Number of findings that an option makes fixable, by that option."""

    @property
    def fixed(self) -> int:
        """The number of findings that this run has fixed, or would fix."""
        return len(self.applied)

    waiting: list[tuple[Place, Place]] = field(default_factory=list)
    """The place of each finding that waits for another change, and the place of that change."""
    changing: set[Place] = field(default_factory=set)
    """The places of findings that have a fix."""

    @property
    def waiting_for_others(self) -> int:
        """The number of findings that become fixable once another fix has been made, in one step or several."""
        changing = {*self.changing, UNKNOWN_PLACE}
        while reached := {place for place, waits_for in self.waiting if waits_for in changing} - changing:
            changing |= reached
        return sum(waits_for in changing for _, waits_for in self.waiting)

    @property
    def findings(self) -> int:
        """The number of findings of all severities."""
        return sum(self.severities.values())

    def add_result(self, result: FileResult) -> None:
        """Add the findings and errors of one file to the totals."""
        self.suppressed += result.suppressed
        self.errors += len(result.errors)
        settings = self.get_settings(result.path)
        for finding in result.findings:
            self.failing += self.is_failing(finding)
            self.severities[finding.severity] += 1
            self.rules_found[finding.code, finding.severity] += 1
            place = Place(finding.path, finding.location.line if finding.location else 0)
            if finding.withheld:
                self.withheld[finding.code, finding.withheld] += 1
            if finding.waits_for is not None:
                self.waiting.append((place, finding.waits_for))
            if finding.needs_torch is not None:
                self.needed_bounds[finding.needs_torch] += 1
            if finding.needs_option is not None:
                self.needed_options[finding.needs_option] += 1
            if finding.fix is not None:
                self.changing.add(place)
                if finding.fix.safety is Safety.UNSAFE and not settings.unsafe_fixes:
                    self.withheld[finding.code, "its fix is unsafe and needs --unsafe"] += 1
                    self.hidden_unsafe += 1
                self.fixable += self.is_applied(finding.fix, finding.path)

    def get_settings(self, path: str) -> Settings:
        """Return the settings that apply to the file at ``path``."""
        return self.settings if self.settings_of is None or not path else self.settings_of(path)

    def is_applied(self, fix: Fix, path: str) -> bool:
        """Return whether a run with the settings of the file at ``path`` applies ``fix``."""
        unsafe = self.get_settings(path).unsafe_fixes
        return fix.safety is Safety.SAFE or (fix.safety is Safety.UNSAFE and unsafe)

    def is_failing(self, finding: Finding) -> bool:
        """Return whether ``finding`` is at or above the ``fail-on`` severity of its file."""
        return finding.severity.rank >= Severity(self.get_settings(finding.path).fail_on).rank

    def is_listed(self, finding: Finding) -> bool:
        """Return whether text formats list ``finding`` by itself instead of only counting it."""
        return self.get_settings(finding.path).is_listed(finding.code, finding.severity.value)

    def find_source(self, code: str) -> str:
        """Return the source of the rule ``code`` as its documentation names it, or ""."""
        rule = self.rules().get(code)
        return extract_source(rule) if rule else ""

    def join_sources(self, code: str, findings: Iterable[Finding]) -> str:
        """Return the sources of some findings of a rule: their own, or else that of the rule."""
        own = dict.fromkeys(finding.source for finding in findings if finding.source)
        return "; ".join(own) or self.find_source(code)

    def find_page(self, code: str) -> str:
        """Return the address of a rule's page, or "" for an unknown rule, one of another package, or without a home."""
        if not self.home or code.startswith(_FOREIGN_PREFIX) or code not in self.rules():
            return ""
        return f"{self.home}/blob/main/docs/rules/{code}.md"

    def find_address(self, code: str) -> str:
        """Return the first URL in the source of the rule ``code``, or ""."""
        found = re.search(r"https://[^\s<>()]*[^\s<>().,;:]", self.find_source(code))
        return found[0] if found else ""


def extract_source(rule: Rule) -> str:
    """Return the text of ``Source:`` in the documentation of a rule, or ""."""
    found = re.search(r"^Sources?:\s*(.+?)(?:\n\s*\n|\Z)", rule.doc, re.S | re.M)
    clauses = re.split(r";\s+", " ".join(found[1].split())) if found else []
    return "; ".join(filter(None, (_OWN_TABLE.sub("", clause) for clause in clauses)))


_OWN_TABLE = re.compile(
    r"(?:[,\s]|\b(?:and|which|here|with the known tags in|the table is|the torch of each image, with its source, is in)\b)*"
    r"`torchmigrate/tables/.*"
)
"""The mention of a table of the project's own in a source, and what follows: its name says nothing to a user."""


class Reporter(Protocol):
    """The interface of the module of an output format."""

    def write_report(self, results: Iterable[FileResult], report: Report, out: IO[str]) -> None:
        """Write all ``results`` to ``out``; may iterate over them several times, but must not keep them in memory."""


def load_reporter(name: str) -> Reporter:
    """Return the module of the output format ``name``, one of the choices of the setting ``output-format``."""
    return cast("Reporter", importlib.import_module(f"torchmigrate.reporters.{name}"))


def format_evidence(finding: Finding) -> str:
    """Return what a recorded run shows about a finding as a sentence's part, or ""."""
    return f"run: {finding.evidence}" if finding.evidence else ""


def format_place(finding: Finding) -> str:
    """Return ``path:line:column`` of a finding, with ``cell N`` in a notebook, or "" if it concerns no file."""
    if finding.location is None:
        return _protect_path(finding.path)
    return format_position(
        finding.path, finding.location.line, finding.location.column, finding.location.cell
    )


def format_position(path: str, line: int | None, column: int | None, cell: int | None) -> str:
    """Return ``path:line:column`` with the parts that are known; lines, columns and cells count from 1."""
    parts = [
        _protect_path(path),
        f"cell {cell}" if cell is not None else None,
        line,
        column if line is not None else None,
    ]
    return ":".join(str(part) for part in parts if part is not None and part != "")


def _protect_path(path: str) -> str:
    """Return the path so that it cannot begin a line as a GitHub workflow command."""
    return f"./{path}" if path.lstrip().startswith("::") else path


def prefix_cell(cell: int | None, message: str) -> str:
    """Return the message with the number of its notebook cell, for formats that have no field for it."""
    return message if cell is None else f"cell {cell}: {message}"


def iterate_findings(results: Iterable[FileResult]) -> Iterable[Finding]:
    """Return the findings of all ``results`` in their order."""
    return (finding for result in results for finding in result.findings)


def format_count(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun, such as ``1 file`` or ``2 files``."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
