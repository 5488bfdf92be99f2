"""Fixes that are wanted one by one."""

from __future__ import annotations

import click

from torchmigrate.cli import output
from torchmigrate.model.findings import Finding
from torchmigrate.reporters.report import Report


class Chooser:
    """Asks on the terminal whether to apply the fix of a finding."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._rest: bool | None = None
        self._sourced: set[str] = set()

    def __call__(self, finding: Finding) -> bool:
        """The user's answer, or the one that holds for all the rest."""
        from torchmigrate.reporters import full

        if self._rest is not None:
            return self._rest
        output.print_text("\n".join(full.lines(finding, self._report, self._sourced)) + "\n", to_stderr=True)
        answer = click.prompt(
            "Apply this fix? (yes, no, all, quit)",
            type=click.Choice(["y", "n", "a", "q"]),
            default="n",
            err=True,
        )
        if answer in "aq":
            self._rest = answer == "a"
        return answer in "ya"
