"""The verdict on a machine: findings from its facts and the tables, each with the one command that helps.

Every function here is pure. The findings come in the order in which a reader wants them: the interpreter and its packages,
the driver, the installed torch on these GPUs, and the target version on these GPUs.
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
    """One build of the target version, with its fit on each GPU of the machine."""

    build: Build
    fits: tuple[Fit, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Everything that the probe reports about one machine."""

    facts: Facts
    target: str
    findings: tuple[Finding, ...]
    rows: tuple[Row, ...]
    best: Build | None
    """The build of the target version to install; None where none runs on every GPU."""
    install: Install | None
    """How to install that build; None where it is installed already."""


def judge(facts: Facts, wanted: str | None = None, asked: Asked | None = None) -> Verdict:
    """Judge a machine for the torch minor version ``wanted`` (default: the newest in the tables).

    ``asked`` is the call of the probe, for its hints only.
    """
    version = wanted or matrix.versions()[-1]
    build = target.best_build(version, facts)
    findings = present(facts, asked)
    stopping = sight.STOPPING & {f.code for f in findings if f.severity is not Severity.INFO}
    stopped = bool(stopping) and not sight.sight(facts).whole
    reported = {(finding.code, finding.hint) for finding in findings}
    findings += [
        f for f in target.findings(version, facts, build, stopped) if (f.code, f.hint) not in reported
    ]
    rows = [Row(b, tuple(fit(gpu, b, facts) for gpu in facts.gpus)) for b in candidates(version, facts)]
    installation = None if build is None or target.is_installed(build, facts) else install(build, facts)
    return Verdict(facts, version, tuple(findings), tuple(rows), build, installation)


def present(facts: Facts, asked: Asked | None = None) -> list[Finding]:
    """Find what is wrong with the machine and the installed torch, whatever the target version is."""
    findings = [*installed.findings(facts, asked or Asked()), *driver.findings(facts)]
    findings += [*on_gpus.findings(facts), *libraries.findings(facts)]
    failing = {finding.code for finding in findings if finding.severity is not Severity.INFO}
    return [*findings, *sight.findings(facts, failing)]
