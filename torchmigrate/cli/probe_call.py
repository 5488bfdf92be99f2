"""One call of `torchmigrate probe`: its options, and its answers."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from torchmigrate.cli import output
from torchmigrate.cli.options import Failure
from torchmigrate.console.terminal import escape_line, wants_color
from torchmigrate.model import torch_versions
from torchmigrate.model.findings import FileResult, Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.probe import collector, driver_findings, fleet, verdict_text
from torchmigrate.probe import smoke_run as stages
from torchmigrate.probe.described_machine import describe_machine
from torchmigrate.probe.install_commands import ProbeCall
from torchmigrate.probe.machine_facts import FactsError, MachineFacts, facts_to_json
from torchmigrate.probe.verdict import check_machine, judge_machine
from torchmigrate.settings import config
from torchmigrate.settings.config import ConfigError, Layer
from torchmigrate.settings.settings import Settings
from torchmigrate.tables import torch_builds


def require_program(python: str, named: str | None) -> str:
    """Return the interpreter if it exists: a wrong ``--python`` is wrong usage, a broken environment is a finding."""
    if named and not shutil.which(python):
        raise Failure(f"--python {named}: there is no such program")
    return python


def get_target(settings: Settings) -> str:
    """Return the target version of the settings. Raises Failure if the tables do not have it."""
    version = torch_versions.render_version(settings.target_version)
    if version not in torch_builds.list_versions():
        known = f"{torch_builds.list_versions()[0]} to {torch_builds.list_versions()[-1]}"
        raise Failure(f"torch {version} is unknown to the probe, whose tables cover torch {known}")
    return version


def remove_ignored(found: Iterable[Finding], settings: Settings) -> list[Finding]:
    """Return the findings that the settings do not ignore; selected rules do not matter to the probe."""
    ignoring = Settings(ignore=settings.ignore)
    return [finding for finding in found if ignoring.is_selected(finding.code, "probe", True)]


class ProbeCommand:
    """One call: its checked options, and its answers."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.python: str | None = given["python"]
        self.smoke: bool = given["smoke"]
        self.as_json: bool = given["as_json"]
        self.facts: str | None = given["facts"]
        self.gpus: tuple[str, ...] = given["gpus"]
        self.driver: str | None = given["driver"]
        self.project: str | None = given["project"]
        self.after_fix: bool = given["after_fix"]
        self.merge: bool = given["merge"]
        self.ray: bool = given["ray"]
        self.address: str = given["ray_address"]
        self.limit: float = given["timeout"]
        self.style: str = given["style"]
        self.files: tuple[Path, ...] = given["files"]
        self._output_file: str | None = given["output_file"]
        self._exit_zero: bool = given["exit_zero"]
        self._color: str = given["color"]
        self._is_target_given = given["target_version"] is not None
        self._check()
        self.settings = _load_settings(given["target_version"])
        self.target = get_target(self.settings)
        words = ["torchmigrate", "probe"]
        named = None if self.gpus else self.python
        for option, value in (("--python", named), ("--target-version", given["target_version"])):
            words += [option, value] if value else []
        self.asked = ProbeCall(shlex.join(words))

    def _check(self) -> None:
        sources = [name for name in ("facts", "gpus", "merge", "ray") if getattr(self, name)]
        sources = [name.removesuffix("s") if name == "gpus" else name for name in sources]
        if len(sources) > 1:
            raise click.UsageError(f"--{sources[0]} and --{sources[1]} cannot be used together")
        if self.driver and not self.gpus:
            raise click.UsageError("--driver requires --gpu")
        if self.files and not self.merge:
            raise click.UsageError("FILES require --merge")
        if self.merge and not self.files:
            raise click.UsageError("--merge requires FILES")
        if self.after_fix and not self.project:
            raise click.UsageError("--after-fix requires --project")
        if self.project:
            others = ("merge", "ray", "smoke", "as_json")
            if other := next((name for name in others if getattr(self, name)), None):
                raise click.UsageError(f"--project and --{other.removeprefix('as_')} cannot be used together")
        if sources and self.smoke:
            raise click.UsageError(
                f"--smoke runs torch on this machine and cannot be used with --{sources[0]}"
            )
        if sources and self.python and not self.gpus:
            raise click.UsageError(f"--python is for this machine and cannot be used with --{sources[0]}")

    def get_facts(self) -> MachineFacts:
        """Return the facts to check: recorded ones, those of a described machine, or those of this one."""
        if self.gpus:
            try:
                return describe_machine(self.gpus, self.driver, self.python)
            except FactsError as error:
                raise Failure(str(error)) from None
        if self.facts is None:
            python = self._find_interpreter()
            self.asked = dataclasses.replace(self.asked, python=python)
            return collector.collect_facts(python, os.environ, limit=self.limit)
        machines = self._read_facts(Path(self.facts))
        if len(machines) != 1:
            raise Failure(f"{self.facts}: contains {len(machines)} machines; use --merge")
        return machines[0][1]

    def judge_one(self, facts: MachineFacts) -> int:
        """Check one machine, print the verdict and return the exit status."""
        verdict = judge_machine(facts, self.target, self.asked, is_described=bool(self.gpus))
        ran = stages.run_stages(self._find_interpreter(), facts, os.environ) if self.smoke else []
        found = [*verdict.findings, *stages.explain_failure(ran, verdict.findings)]
        shown = remove_ignored(found, self.settings)
        if self.style != "text":
            return self._write_report(shown)
        colored = self._uses_color()
        text = (
            verdict_text.render_rich(verdict, _terminal_width(), shown, ran)
            if colored
            else verdict_text.render_plain(verdict, shown, ran)
        )
        self._write_text(text)
        return self._exit_status(shown)

    def judge_project(self, facts: MachineFacts) -> int:
        """Check what is installed on a machine and what the files of a project would install there; return the exit status."""
        from torchmigrate.cli.probed_project import judge_files

        # A missing torch is no problem before the installation in question.
        there = (
            driver_findings.check_driver(facts) if facts.torch is None else check_machine(facts, self.asked)
        )
        # Of a range an installer takes the newest release, unless another target is asked for.
        target = self.target if self._is_target_given or self.after_fix else None
        judged = judge_files([self.project or ""], facts, target=target, after_fix=self.after_fix)
        shown = remove_ignored([*there, *judged], self.settings)
        if self.style != "text":
            return self._write_report(shown)
        self._write_text(verdict_text.render_heading(facts) + verdict_text.render_findings(shown))
        return self._exit_status(shown)

    def judge_many(self) -> int:
        """Check the machines in facts files, or the nodes of a cluster; return the exit status."""
        machines = []
        if self.ray:
            from torchmigrate.probe import ray_cluster
            from torchmigrate.probe.machine_facts import parse_facts

            try:
                nodes = ray_cluster.collect_node_facts(self.address, self.limit)
            except ray_cluster.RayError as error:
                raise Failure(str(error)) from None
            if self.as_json:
                return self.print_facts(nodes)
            machines = [(f"node {i}", parse_facts(node)) for i, node in enumerate(nodes)]
        of_files, unread = fleet.read_all_machines(self.files)
        machines += of_files
        if not machines:
            raise Failure("\n".join(finding.message for finding in unread))
        if self.as_json:
            for finding in unread:
                click.echo(f"warning: {escape_line(finding.message)}", err=True)
            return self.print_facts([facts_to_json(facts) for _, facts in machines])
        groups = fleet.group_machines(machines, self.target)
        found = remove_ignored([*unread, *fleet.merge_findings(groups)], self.settings)
        if self.style != "text":
            return self._write_report(found)
        table = fleet.build_table(groups)
        text = (
            verdict_text.render_table(table, _terminal_width())
            if self._uses_color()
            else fleet.render_plain_table(groups)
        )
        self._write_text(text + verdict_text.render_findings(found))
        return self._exit_status(found)

    def print_facts(self, data: Any) -> int:
        """Print facts as JSON."""
        self._write_text(json.dumps(data, indent=2) + "\n")
        return 0

    def _find_interpreter(self) -> str:
        python = collector.find_python(self.python, os.environ, Path.cwd())
        if python is None:
            raise Failure("no Python interpreter was found; choose one with --python PATH")
        return require_program(python, self.python)

    def _read_facts(self, path: Path) -> list[tuple[str, MachineFacts]]:
        try:
            return fleet.read_machines(path)
        except FactsError as error:
            raise Failure(str(error)) from None

    def _write_report(self, found: list[Finding]) -> int:
        import io

        from torchmigrate.documents.minimum_torch import Minimum
        from torchmigrate.engine import registry
        from torchmigrate.reporters.report import Report, load_reporter

        minimum = Minimum(self.settings.min_version or torch_versions.OLDEST)
        # A summary is about files, of which there are none here.
        report = Report(self.settings, minimum, registry.load_rules, color=self._uses_color(), quiet=True)
        result = FileResult("", findings=tuple(found))
        report.add_result(result)
        text = io.StringIO()
        load_reporter(self.style).write_report([result], report, text)
        self._write_text(text.getvalue())
        return self._exit_status(found)

    def _exit_status(self, found: list[Finding]) -> int:
        limit = Severity(self.settings.fail_on).rank
        return 1 if not self._exit_zero and any(f.severity.rank >= limit for f in found) else 0

    def _write_text(self, text: str) -> None:
        if self._output_file:
            with output.replace_file(self._output_file) as out:
                out.write(text)
        else:
            output.print_text(text)

    def _uses_color(self) -> bool:
        return self._output_file is None and wants_color(self._color, sys.stdout)


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns


def _load_settings(target: str | None) -> Settings:
    """Return the project's settings with the target version of the command line, and every severity shown."""
    stated: dict[str, Any] = {"show": ("error", "warning", "info")}
    try:
        if target is not None:
            stated["target_version"] = torch_versions.parse_version(target)
        file = config.find_file(os.getcwd())
        return config.merge_layers(
            [Layer(stated, os.curdir), *(config.read_layers(file, found=True) if file else [])]
        )
    except (ConfigError, ValueError) as error:
        raise Failure(str(error)) from None
