"""So what: from the facts and the tables to findings, each with the one command that mends it.

Every function here is pure. The findings come from these places, in the order in which a reader wants them: the
interpreter and its packages (`torchmigrate.probe.installed`), the driver (`torchmigrate.probe.driver`), the installed
torch on these GPUs (`torchmigrate.probe.on_gpus`, `sight`, `libraries`), and the target version on these GPUs
(`torchmigrate.probe.target`).
"""

from __future__ import annotations

from dataclasses import dataclass

from torchmigrate.model.findings import Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.probe import driver, installed, libraries, on_gpus, sight, target
from torchmigrate.probe.commands import Asked, Install, install
from torchmigrate.probe.facts import Facts
from torchmigrate.probe.fit import Fit, candidates, fit
from torchmigrate.tables import matrix
from torchmigrate.tables.matrix import Build


@dataclass(frozen=True, slots=True)
class Row:
    """One build of the target version, and whether each GPU of the machine runs it."""

    build: Build
    fits: tuple[Fit, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Everything that is said about one machine."""

    facts: Facts
    target: str
    findings: tuple[Finding, ...]
    rows: tuple[Row, ...]
    best: Build | None
    """The build of the target version to install; None where none runs on every GPU."""
    install: Install | None
    """How to install it; None where it is what is installed."""


def judge(facts: Facts, wanted: str | None = None, asked: Asked | None = None) -> Verdict:
    """The verdict on a machine for the torch minor version ``wanted``, by default the newest that the tables know.

    How the probe was ``asked`` is for its hints only.
    """
    version = wanted or matrix.versions()[-1]
    build = target.best_build(version, facts)
    findings = present(facts, asked)
    stopping = sight.STOPPING & {f.code for f in findings if f.severity is not Severity.INFO}
    stopped = bool(stopping) and not sight.sight(facts).whole
    said = {(finding.code, finding.hint) for finding in findings}
    findings += [f for f in target.findings(version, facts, build, stopped) if (f.code, f.hint) not in said]
    rows = [Row(b, tuple(fit(gpu, b, facts) for gpu in facts.gpus)) for b in candidates(version, facts)]
    is_there = build is not None and target.is_installed(build, facts)
    return Verdict(
        facts=facts,
        target=version,
        findings=tuple(findings),
        rows=tuple(rows),
        best=build,
        install=None if build is None or is_there else install(build, facts),
    )


def present(facts: Facts, asked: Asked | None = None) -> list[Finding]:
    """What is said of the machine and of what is installed there, whatever is to be installed."""
    findings = [
        *installed.findings(facts, asked or Asked()),
        *driver.findings(facts),
        *on_gpus.findings(facts),
    ]
    findings += libraries.findings(facts)
    failing = {finding.code for finding in findings if finding.severity is not Severity.INFO}
    return [*findings, *sight.findings(facts, failing)]


def failed(verdict: Verdict) -> bool:
    """Whether anything but advice was found: the exit status."""
    return any(finding.severity is not Severity.INFO for finding in verdict.findings)
