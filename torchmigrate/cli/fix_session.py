"""A run of `fix`: how the fixes are chosen, and how the changes are written or shown.

Imports are kept inside the functions that need them, as in `torchmigrate.cli.commands`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torchmigrate.cli import output
from torchmigrate.cli import verify_options as verifying
from torchmigrate.cli.session import Session
from torchmigrate.console.terminal import ProgressBar
from torchmigrate.reporters.report import format_count

if TYPE_CHECKING:
    from torchmigrate.cli.chooser import FixChooser
    from torchmigrate.model.findings import Finding
    from torchmigrate.run.multi_file import FixResult


class FixSession(Session):
    """One run of `fix`."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._diff: list[bytes] = []

    def fix_files(self, apply: bool, interactive: bool) -> Iterator[FixResult]:
        """Yield the files with the wanted fixes applied."""
        from torchmigrate.run import runner

        choose = self._create_chooser() if interactive else None
        see = choose.set_text if choose else None
        wanted = not (self.quiet or interactive) and (apply or not sys.stdout.isatty())
        with ProgressBar(sys.stderr, wanted=wanted) as progress:
            for tree in self.trees:
                yield from runner.fix_tree(tree, choose=choose, see=see, cache=self.cache, progress=progress)

    def _create_chooser(self) -> FixChooser:
        from torchmigrate.cli.chooser import FixChooser

        return FixChooser(self.report)

    def fix_verified(self, asked: verifying.VerifyRequest, paths: Sequence[str]) -> Sequence[FixResult]:
        """Return the files with the fixes that the ``--verify`` command accepts."""
        from torchmigrate.run import runner

        def fixes(choose: Callable[[Finding], bool]) -> list[FixResult]:
            return [
                fixed
                for tree in self.trees
                for fixed in runner.fix_tree(tree, choose=choose, cache=self.cache)
            ]

        fixed, self.report.verified = verifying.verify_fixes(asked, paths, fixes, self.print_note)
        return fixed

    def deliver(self, unit: Sequence[FixResult], apply: bool) -> list[FixResult]:
        """Write or print the changes of files that belong together; return the changed files if all could be written."""
        changed = [fixed for fixed in unit if fixed.before != fixed.after]
        on_disk = [fixed for fixed in changed if self._find_stdin(fixed.path) is None]
        if apply and on_disk and not self.write_files(on_disk):
            changed = []
        for fixed in unit if apply else ():
            stdin = self._find_stdin(fixed.path)
            if stdin is not None:
                output.print_bytes(fixed.after if fixed in changed else stdin)
        for fixed in changed if self.shows_diff(apply) else ():
            if not apply or fixed in on_disk:
                self._show_diff(fixed)
        return changed

    def _find_stdin(self, path: str) -> bytes | None:
        """Return the bytes of standard input if the file came from there, else None."""
        given = (one.data for one in self.inputs if one.data is not None and one.path == path)
        return next(given, None)

    def _show_diff(self, fixed: FixResult) -> None:
        from torchmigrate.console import unified_diff

        made = unified_diff.create_unified_diff(fixed.path, fixed.before, fixed.after)
        if self.output_file:
            self._diff.append(made)
        else:
            output.print_diff(made, color=self.report.color, raw=self.format == "diff")

    def shows_diff(self, apply: bool) -> bool:
        """Return whether `fix` prints a diff, instead of a report on what it did and left."""
        return self.format == "diff" or (not apply and self.format in ("full", "concise"))

    def write_outcome(self, changed: int, apply: bool) -> None:
        """Write a diff that goes to a file, and print errors and the number of changes."""
        if self.output_file:
            with output.replace_file(self.output_file) as out:
                out.buffer.write(b"".join(self._diff))
        self.warn_unread()
        self.print_errors()
        if self.report.verified:
            from torchmigrate.reporters import concise

            for line in concise.describe_verification(self.report.verified):
                self.print_note(line)
        change = "changed" if apply else "would change"
        self.print_note(
            f"{format_count(changed, 'file')} {change}, fixing {format_count(self.report.fixed, 'finding')}"
        )
        hidden = format_count(self.report.hidden_unsafe, "unsafe fix", "unsafe fixes")
        self.print_note(f"{hidden} available with --unsafe", wanted=self.report.hidden_unsafe > 0)

    def print_proposals(self) -> None:
        """Print the moves of environments that were made, or that something blocks, each as a whole."""
        from torchmigrate.reporters.proposals import collect_proposals, describe_proposal

        left = (finding for result in self.results for finding in result.findings)
        for one in collect_proposals([*self.report.applied, *left]):
            for line in describe_proposal(one):
                self.print_note(line)
