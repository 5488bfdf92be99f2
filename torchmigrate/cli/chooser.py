"""The questions of ``fix --interactive``."""

from __future__ import annotations

import click

from torchmigrate.cli import output
from torchmigrate.model.findings import Finding
from torchmigrate.reporters.report import Report

ANSWERS = {
    "y": "apply this fix",
    "n": "do not apply it",
    "a": "apply this fix and all that follow",
    "f": "skip the rest of this file",
    "r": "skip the rest of this rule",
    "q": "quit: apply the fixes accepted so far, and nothing else",
    "?": "this help",
}


class FixChooser:
    """Asks on the terminal whether to apply the fix of a finding."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._rest: bool | None = None
        self._sourced: set[str] = set()
        self._files: set[str] = set()
        self._rules: set[str] = set()
        self._text = b""

    def set_text(self, text: bytes) -> None:
        """Set the text that the edits of the next finding are for."""
        self._text = text

    def __call__(self, finding: Finding) -> bool:
        """Return the user's answer, or an earlier one that applies to everything, to its file or to its rule."""
        if self._rest is not None:
            return self._rest
        if finding.path in self._files or finding.code in self._rules:
            return False
        self._show_fix(finding)
        while (answer := self._read_answer()) == "?":
            about = "".join(f"  {key}  {meaning}\n" for key, meaning in ANSWERS.items())
            output.print_text(about, to_stderr=True)
        if answer in "aq":
            self._rest = answer == "a"
        if answer == "f":
            self._files.add(finding.path)
        if answer == "r":
            self._rules.add(finding.code)
        return answer in "ya"

    def _read_answer(self) -> str:
        """Return one of `ANSWERS`, "q" at the end of the input. Raises KeyboardInterrupt if the user interrupts."""
        one_of = click.Choice(list(ANSWERS), case_sensitive=False)
        try:
            answer: str = click.prompt("Apply this fix?", type=one_of, default="n", err=True)
        except click.Abort as abort:
            if isinstance(abort.__context__, EOFError):
                output.print_text("\n", to_stderr=True)
                return "q"
            raise KeyboardInterrupt from None  # Abort is an Exception: it would pass for a fault of the file's
        return answer

    def _show_fix(self, finding: Finding) -> None:
        """Print the finding, and the lines that the fix changes."""
        from torchmigrate.console import unified_diff
        from torchmigrate.reporters import full
        from torchmigrate.text.text_edits import apply_edits

        text = "\n".join(full.describe_finding(finding, self._report, self._sourced)) + "\n"
        if finding.fix is not None and self._text:
            made = unified_diff.create_unified_diff(
                finding.path, self._text, apply_edits(self._text, finding.fix.edits)
            )
            hunks = made.split(b"\n", 2)[-1]  # without the lines that name the file
            text += unified_diff.escape_diff(hunks, color=self._report.color)
        output.print_text(text, to_stderr=True)
