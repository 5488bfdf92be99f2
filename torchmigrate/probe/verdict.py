"""The verdict on a machine: findings from its facts and the tables, each with the one command that helps.

Every function here is pure. The findings come in the order in which a reader wants them: the interpreter and its packages,
the driver, the installed torch on these GPUs, and the target version on these GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchmigrate.model.findings import Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.probe import (
    driver_findings,
    gpu_findings,
    gpu_visibility,
    library_findings,
    package_findings,
    target_findings,
)
from torchmigrate.probe.build_fit import BuildFit, find_candidates, judge_fit
from torchmigrate.probe.install_commands import InstallCommands, ProbeCall, create_install
from torchmigrate.probe.machine_facts import MachineFacts
from torchmigrate.tables.torch_builds import TorchBuild, list_versions


@dataclass(frozen=True, slots=True)
class BuildRow:
    """One build of the target version, with its fit on each GPU of the machine."""

    build: TorchBuild
    fits: tuple[BuildFit, ...]


@dataclass(frozen=True, slots=True)
class MachineVerdict:
    """Everything that the probe reports about one machine."""

    facts: MachineFacts
    target: str
    findings: tuple[Finding, ...]
    rows: tuple[BuildRow, ...]
    best: TorchBuild | None
    """The build of the target version to install; None where none runs on every GPU."""
    install: InstallCommands | None
    """How to install that build; None where it is installed already."""


def judge_machine(
    facts: MachineFacts,
    wanted: str | None = None,
    asked: ProbeCall | None = None,
    *,
    is_described: bool = False,
) -> MachineVerdict:
    """Judge a machine for the torch minor version ``wanted`` (default: the newest in the tables).

    ``asked`` is the call of the probe, for its hints only. Of a machine that is only described, what it has installed is
    unknown.
    """
    version = wanted or list_versions()[-1]
    build = target_findings.choose_build(version, facts)
    findings = [] if is_described else check_machine(facts, asked)
    stopping = gpu_visibility.STOPPING_CODES & {f.code for f in findings if f.severity is not Severity.INFO}
    stopped = bool(stopping) and not gpu_visibility.judge_visibility(facts).whole
    reported = {(finding.code, finding.hint) for finding in findings}
    findings += [
        f
        for f in target_findings.check_target(version, facts, build, stopped, is_described=is_described)
        if (f.code, f.hint) not in reported
    ]
    candidates = find_candidates(version, facts)
    rows = [BuildRow(b, tuple(judge_fit(gpu, b, facts) for gpu in facts.gpus)) for b in candidates]
    installation = (
        None
        if build is None or target_findings.is_build_installed(build, facts)
        else create_install(build, facts)
    )
    return MachineVerdict(facts, version, tuple(findings), tuple(rows), build, installation)


def check_machine(facts: MachineFacts, asked: ProbeCall | None = None) -> list[Finding]:
    """Find what is wrong with the machine and the installed torch, whatever the target version is."""
    findings = [
        *package_findings.check_packages(facts, asked or ProbeCall()),
        *driver_findings.check_driver(facts),
    ]
    findings += [*gpu_findings.check_gpus(facts), *library_findings.check_libraries(facts)]
    failing = {finding.code for finding in findings if finding.severity is not Severity.INFO}
    explained = {finding.code for finding in findings}
    return [*findings, *gpu_visibility.check_visibility(facts, failing, explained)]
