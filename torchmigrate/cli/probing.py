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
from torchmigrate.console.terminal import shown, wants_color
from torchmigrate.model import versions
from torchmigrate.model.findings import FileResult, Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.probe import collect, driver, fleet, render
from torchmigrate.probe import smoke as stages
from torchmigrate.probe.commands import Asked
from torchmigrate.probe.facts import Facts, FactsError, to_json
from torchmigrate.probe.verdict import judge, present
from torchmigrate.settings import config
from torchmigrate.settings.config import ConfigError, Layer
from torchmigrate.settings.settings import Settings
from torchmigrate.tables import matrix


def existing(python: str, named: str | None) -> str:
    """Return the interpreter if it exists: a wrong ``--python`` is wrong usage, a broken environment is a finding."""
    if named and not shutil.which(python):
        raise Failure(f"--python {named}: there is no such program")
    return python


def target_of(settings: Settings) -> str:
    """Return the target version of the settings. Raises Failure if the tables do not have it."""
    version = versions.render(settings.target_version)
    if version not in matrix.versions():
        known = f"{matrix.versions()[0]} to {matrix.versions()[-1]}"
        raise Failure(f"torch {version} is not known to the probe, which knows {known}")
    return version


def kept(found: Iterable[Finding], settings: Settings) -> list[Finding]:
    """Return the findings that the settings do not ignore; selections in them concern code only."""
    ignoring = Settings(ignore=settings.ignore)
    return [finding for finding in found if ignoring.selects(finding.code, "probe", True)]


class Call:
    """One call: its checked options, and its answers."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.python: str | None = given["python"]
        self.smoke: bool = given["smoke"]
        self.as_json: bool = given["as_json"]
        self.facts: str | None = given["facts"]
        self.project: str | None = given["project"]
        self.merge: bool = given["merge"]
        self.ray: bool = given["ray"]
        self.address: str = given["ray_address"]
        self.limit: float = given["timeout"]
        self.style: str = given["style"]
        self.files: tuple[Path, ...] = given["files"]
        self._output_file: str | None = given["output_file"]
        self._exit_zero: bool = given["exit_zero"]
        self._color: str = given["color"]
        self._check()
        self.settings = _settings(given["target_version"])
        self.target = target_of(self.settings)
        self.asked = Asked(self._again(given["target_version"]))

    def _check(self) -> None:
        sources = [name for name in ("facts", "merge", "ray") if getattr(self, name)]
        if len(sources) > 1:
            raise click.UsageError(f"--{sources[0]} and --{sources[1]} exclude each other")
        if self.files and not self.merge:
            raise click.UsageError("FILES require --merge")
        if self.merge and not self.files:
            raise click.UsageError("--merge needs facts files")
        if self.project:
            others = ("merge", "ray", "smoke", "as_json")
            if other := next((name for name in others if getattr(self, name)), None):
                raise click.UsageError(f"--project and --{other.removeprefix('as_')} exclude each other")
        if sources and self.smoke:
            raise click.UsageError(
                f"--smoke runs torch on this machine and cannot be used with --{sources[0]}"
            )
        if sources and self.python:
            raise click.UsageError(f"--python is for this machine and cannot be used with --{sources[0]}")

    def _again(self, target: str | None) -> str:
        """Return the command that repeats this call on this machine."""
        words = ["torchmigrate", "probe"]
        for option, value in (("--python", self.python), ("--target-version", target)):
            words += [option, value] if value else []
        return shlex.join(words)

    def facts_of_one(self) -> Facts:
        """Return the facts to check: recorded ones, or those of this machine."""
        if self.facts is None:
            python = self._interpreter()
            self.asked = dataclasses.replace(self.asked, python=python)
            return collect.collect(python, os.environ, limit=self.limit)
        machines = self._read(Path(self.facts))
        if len(machines) != 1:
            raise Failure(f"{self.facts}: contains {len(machines)} machines; use --merge")
        return machines[0][1]

    def one(self, facts: Facts) -> int:
        """Check one machine, print the verdict and return the exit status."""
        verdict = judge(facts, self.target, self.asked)
        ran = stages.smoke(self._interpreter(), facts, os.environ) if self.smoke else []
        found = [*verdict.findings, *stages.findings(ran, verdict.findings)]
        shown = kept(found, self.settings)
        if self.style != "text":
            return self._report(shown)
        colored = self._colored()
        text = render.rich(verdict, _width(), shown, ran) if colored else render.plain(verdict, shown, ran)
        self._print(text)
        return self._status(shown)

    def project_on(self, facts: Facts) -> int:
        """Check what is installed on a machine and what the files of a project would install there; return the exit status."""
        from torchmigrate.cli.probed_project import judged

        # A missing torch is no problem before the installation in question.
        there = driver.findings(facts) if facts.torch is None else present(facts, self.asked)
        shown = kept([*there, *judged([self.project or ""], facts)], self.settings)
        if self.style != "text":
            return self._report(shown)
        self._print(render.heading(facts) + render.lines(shown))
        return self._status(shown)

    def many(self) -> int:
        """Check the machines in facts files, or the nodes of a cluster; return the exit status."""
        machines = []
        if self.ray:
            from torchmigrate.probe import ray
            from torchmigrate.probe.facts import from_json

            try:
                nodes = ray.facts_of_nodes(self.address, self.limit)
            except ray.RayError as error:
                raise Failure(str(error)) from None
            if self.as_json:
                return self.print_facts(nodes)
            machines = [(f"node {i}", from_json(node)) for i, node in enumerate(nodes)]
        of_files, unread = fleet.read_all(self.files)
        machines += of_files
        if not machines:
            raise Failure("\n".join(finding.message for finding in unread))
        if self.as_json:
            for finding in unread:
                click.echo(f"warning: {shown(finding.message)}", err=True)
            return self.print_facts([to_json(facts) for _, facts in machines])
        groups = fleet.group(machines, self.target)
        found = kept([*unread, *fleet.findings(groups)], self.settings)
        if self.style != "text":
            return self._report(found)
        table = fleet.table(groups)
        text = render.table(table, _width()) if self._colored() else fleet.plain(groups)
        self._print(text + render.lines(found))
        return self._status(found)

    def print_facts(self, data: Any) -> int:
        """Print facts as JSON."""
        self._print(json.dumps(data, indent=2) + "\n")
        return 0

    def _interpreter(self) -> str:
        python = collect.find_python(self.python, os.environ, Path.cwd())
        if python is None:
            raise Failure("no Python interpreter was found; name one with --python PATH")
        return existing(python, self.python)

    def _read(self, path: Path) -> list[tuple[str, Facts]]:
        try:
            return fleet.read(path)
        except FactsError as error:
            raise Failure(str(error)) from None

    def _report(self, found: list[Finding]) -> int:
        import io

        from torchmigrate.documents.minimum import Minimum
        from torchmigrate.engine import registry
        from torchmigrate.reporters.report import Report, load

        minimum = Minimum(self.settings.min_version or versions.OLDEST)
        # A summary is about files, of which there are none here.
        report = Report(self.settings, minimum, registry.rules, color=self._colored(), quiet=True)
        result = FileResult("", findings=tuple(found))
        report.add(result)
        text = io.StringIO()
        load(self.style).write([result], report, text)
        self._print(text.getvalue())
        return self._status(found)

    def _status(self, found: list[Finding]) -> int:
        limit = Severity(self.settings.fail_on).rank
        return 1 if not self._exit_zero and any(f.severity.rank >= limit for f in found) else 0

    def _print(self, text: str) -> None:
        if self._output_file:
            with output.replaced(self._output_file) as out:
                out.write(text)
        else:
            output.print_text(text)

    def _colored(self) -> bool:
        return self._output_file is None and wants_color(self._color, sys.stdout)


def _width() -> int:
    return shutil.get_terminal_size().columns


def _settings(target: str | None) -> Settings:
    """Return the project's settings with the target version of the command line, and every severity shown."""
    stated: dict[str, Any] = {"show": ("error", "warning", "info")}
    try:
        if target is not None:
            stated["target_version"] = versions.parse(target)
        file = config.find_file(os.getcwd())
        return config.merge([Layer(stated, os.curdir), *(config.read_layers(file) if file else [])])
    except (ConfigError, ValueError) as error:
        raise Failure(str(error)) from None
