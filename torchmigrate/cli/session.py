"""One run of `check` or `fix`: its settings, its files, its results, and how they are printed.

Imports are kept inside the functions that need them, as in `torchmigrate.cli.commands`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torchmigrate.cli import options, output
from torchmigrate.cli import verify as verifying
from torchmigrate.cli.asked import ask
from torchmigrate.console.terminal import Progress, escape, wants_color, wants_links, width
from torchmigrate.reporters.report import Report, count
from torchmigrate.run import cache
from torchmigrate.run.unread import CODE as UNREAD_CODE
from torchmigrate.run.wire import Results
from torchmigrate.settings.config import ConfigError

if TYPE_CHECKING:
    from torchmigrate.cli.chooser import Chooser
    from torchmigrate.cli.known import Known
    from torchmigrate.model.findings import FileError, FileResult, Finding
    from torchmigrate.run.joint import FixResult
    from torchmigrate.settings.settings import Settings


class Session:
    """One run of `check` or `fix`."""

    def __init__(
        self,
        paths: tuple[str, ...],
        stdin_filename: str | None,
        output_file: str | None,
        statistics: bool,
        exit_zero: bool,
        color: str,
        quiet: bool,
        verbose: bool,
        no_cache: bool,
        cache_dir: str,
        diff_base: str | None = None,
        write_baseline: bool = False,
        **given: Any,
    ) -> None:
        from torchmigrate.engine import registry
        from torchmigrate.run.selection import Selection

        self.quiet = quiet
        self.results = Results()
        self._begin = time.monotonic()
        self._exit_zero = exit_zero
        self._unread: list[str] = []
        self._output_file = output_file
        profiles = options.load(given)
        resolves = bool(given.get("resolve"))
        if resolves:
            _say_what_resolves()
        # What a resolver says today is not kept.
        self.cache = cache.Cache(None if no_cache or resolves else cache_dir)
        try:
            asked = ask(paths, stdin_filename, profiles)
            sorts = Selection([profile.settings for profile in asked.profiles]).sorts(self.cache)
        except ConfigError as error:
            raise options.Failure(str(error)) from None
        settings = asked.base.settings
        self.format = "statistics" if statistics else settings.output_format
        self._diff: list[bytes] = []
        colored = not output_file and wants_color(color, sys.stdout)
        lowest = min((profile.minimum for profile in asked.profiles), key=lambda minimum: minimum.version)
        self.report = Report(settings, lowest, registry.rules, asked.settings_of, color=colored, quiet=quiet)
        self.report.links = colored and wants_links(sys.stdout)
        if not output_file and sys.stdout.isatty():
            self.report.width = width()
        self.report.invocation = options.invocation(
            [stdin_filename or path if path == "-" else path for path in paths], given
        )
        self.trees, self.inputs = asked.trees(sorts), asked.inputs(sorts)
        self._known = self._known_findings(asked.settings_of, diff_base, write_baseline)
        self.report.paths = [file.path for file in self.inputs]
        self.report.files = len(self.inputs)
        self._fail(asked.errors(sorts))
        self._fail(asked.doubts)
        stated = all(profile.settings.min_version is not None for profile in asked.profiles)
        self.say(options.describe(asked.profiles), wanted=not stated)
        for source in sorted({profile.config_file or "the defaults" for profile in asked.profiles}):
            self.say(f"settings from {source}", wanted=verbose)
        self.say(f"{count(len(self.inputs), 'file')} to check", wanted=verbose)
        self._say_links(asked.unfollowed, verbose=verbose)

    def collect(self, results: Iterable[FileResult]) -> None:
        """Add ``results`` to the totals, and keep those with findings or errors."""
        for found in results:
            result = self._known.new(found) if self._known else found
            self.report.known += len(found.findings) - len(result.findings)
            self.report.add(result)
            self.results.add(result)
            unread = (finding for finding in result.findings if finding.code == UNREAD_CODE)
            self._unread += [f"warning: {finding.message}; {finding.hint}" for finding in unread]

    def _fail(self, errors: Iterable[FileError]) -> None:
        """Counts in what could not be done."""
        for error in errors:
            from torchmigrate.model.findings import FileResult

            self.collect([FileResult(error.path, errors=(error,))])

    def _known_findings(
        self, settings_of: Callable[[str], Settings], diff_base: str | None, writes: bool
    ) -> Known | None:
        if not (writes or diff_base or any(settings_of(file.path).baseline for file in self.inputs)):
            return None
        from torchmigrate.adoption.git import GitError
        from torchmigrate.adoption.revision import known_at
        from torchmigrate.cli.known import Known

        try:
            earlier = known_at(self.trees, diff_base, self.cache) if diff_base else None
        except GitError as error:
            raise options.Failure(f"--diff-base: {error}") from None
        return Known(self.inputs, settings_of, earlier, writes=writes)

    def _warn_unread(self) -> None:
        """Print a warning that counts the files whose grammars are not installed, if there are any."""
        for warning in self._unread:
            self.say(warning)

    def say_gone(self) -> None:
        """Print which known findings no longer exist."""
        for line in self._known.gone() if self._known else ():
            self.say(line)

    def write_baseline(self) -> None:
        """Write all findings into the baseline."""
        for line in self._known.write() if self._known else ():
            self.say(line)

    def fixes(self, apply: bool, interactive: bool) -> Iterator[FixResult]:
        """Yield the files with the fixes that are wanted."""
        from torchmigrate.run import runner

        choose = self._chooser() if interactive else None
        see = choose.see if choose else None
        wanted = not (self.quiet or interactive) and (apply or not sys.stdout.isatty())
        with Progress(sys.stderr, wanted=wanted) as progress:
            for tree in self.trees:
                yield from runner.fix(tree, choose=choose, see=see, cache=self.cache, progress=progress)

    def _chooser(self) -> Chooser:
        from torchmigrate.cli.chooser import Chooser

        return Chooser(self.report)

    def judged(self, asked: verifying.Wanted, paths: Sequence[str]) -> Sequence[FixResult]:
        """Return the files with the fixes that the ``--verify`` command accepts."""
        from torchmigrate.run import runner

        def fixes(choose: Callable[[Finding], bool]) -> list[FixResult]:
            return [
                fixed for tree in self.trees for fixed in runner.fix(tree, choose=choose, cache=self.cache)
            ]

        fixed, self.report.verified = verifying.judged(asked, paths, fixes, self.say)
        return fixed

    def delivered(self, unit: Sequence[FixResult], apply: bool) -> list[FixResult]:
        """Write or print the changes of files that belong together; return the changed files if all could be written."""
        changed = [fixed for fixed in unit if fixed.before != fixed.after]
        on_disk = [fixed for fixed in changed if self._stdin(fixed.path) is None]
        if apply and on_disk and not self.written(on_disk):
            changed = []
        for fixed in unit if apply else ():
            stdin = self._stdin(fixed.path)
            if stdin is not None:
                output.print_bytes(fixed.after if fixed in changed else stdin)
        for fixed in changed if self.shows_diff(apply) else ():
            if not apply or fixed in on_disk:
                self._show_diff(fixed)
        return changed

    def _stdin(self, path: str) -> bytes | None:
        """Return the bytes of standard input if the file came from there, else None."""
        given = (one.data for one in self.inputs if one.data is not None and one.path == path)
        return next(given, None)

    def _show_diff(self, fixed: FixResult) -> None:
        from torchmigrate.console import diff

        made = diff.unified(fixed.path, fixed.before, fixed.after)
        if self._output_file:
            self._diff.append(made)
        else:
            output.print_diff(made, color=self.report.color, raw=self.format == "diff")

    def shows_diff(self, apply: bool) -> bool:
        """Return whether `fix` prints a diff, instead of a report on what it did and left."""
        return self.format == "diff" or (not apply and self.format in ("full", "concise"))

    def written(self, unit: Sequence[FixResult]) -> bool:
        """Replace files, all or none; return whether they were replaced. A failure becomes an error."""
        from torchmigrate.model.findings import FileError
        from torchmigrate.project.folders import is_within
        from torchmigrate.run import together

        place = os.path.realpath(unit[0].path)
        folder = next(tree.folder for tree in self.trees if is_within(place, tree.folder))
        try:
            lost = together.write_together([(one.path, one.after, one.before) for one in unit], folder)
        except together.NotWritten as failed:
            reason = f"cannot be written: {getattr(failed.error, 'strerror', None) or failed.error}"
            for fixed in unit:
                why = reason if fixed.path == failed.path else f"not changed, because {failed.path} {reason}"
                if fixed.path in failed.stays:
                    why = f"changed and could not be restored, although {failed.path} {reason}"
                self._fail([FileError(fixed.path, why)])
            return False
        for fixed, gone in zip(unit, lost, strict=True):
            self.say(f"{fixed.path}: the new file lost {', '.join(gone)}", wanted=bool(gone))
        return True

    def settle(self, *, apply: bool) -> None:
        """Complete what a killed run has left half-done, if ``apply``; what cannot be completed becomes an error."""
        from torchmigrate.run.journals import journals_in

        for tree in self.trees:
            for journal in journals_in(tree.folder):
                from torchmigrate.cli.unfinished import settled

                self._fail(settled(journal, tree, self.say, apply=apply))

    def fails(self) -> bool:
        """Return whether a finding is at or above ``--fail-on``."""
        return self.report.failing > 0

    def status(self, *, failed: bool) -> int:
        """Return the exit status."""
        if self.report.errors:
            return 2
        return 1 if failed and not self._exit_zero else 0

    def write_report(self, *, to_stderr: bool = False) -> None:
        """Print the results in the requested format."""

        from torchmigrate.reporters.report import load

        self._warn_unread()
        self.report.seconds = time.monotonic() - self._begin
        self._summarize_for_github()
        where = self._output_file
        with output.replaced(where) if where else output.Printed(to_stderr=to_stderr) as out:
            load(self.format).write(self.results, self.report, out)

    def _summarize_for_github(self) -> None:
        """Append a page to the summary of the GitHub job that runs this, if there is one."""
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        if self.format != "github" or not path:
            return
        from torchmigrate.reporters import markdown

        try:
            with open(path, "a", encoding="utf-8", errors="backslashreplace", newline="\n") as out:
                markdown.write(self.results, self.report, out)
        except OSError as error:
            self.say(f"the job summary cannot be written: {error.strerror}")

    def write_outcome(self, changed: int, apply: bool) -> None:
        """Write a diff that goes to a file, and print errors and the number of changes."""
        if self._output_file:
            with output.replaced(self._output_file) as out:
                out.buffer.write(b"".join(self._diff))
        self._warn_unread()
        self.print_errors()
        if self.report.verified:
            from torchmigrate.reporters import concise

            for line in concise.verified_lines(self.report.verified):
                self.say(line)
        change = "changed" if apply else "would change"
        self.say(f"{count(changed, 'file')} {change}, fixing {count(self.report.fixed, 'finding')}")
        hidden = count(self.report.hidden_unsafe, "unsafe fix", "unsafe fixes")
        self.say(f"{hidden} hidden, see --unsafe", wanted=self.report.hidden_unsafe > 0)

    def print_errors(self) -> None:
        """Print the files that failed."""
        from torchmigrate.reporters.concise import error_line

        for result in self.results:
            for error in result.errors:
                output.print_text(error_line(error, self.report), to_stderr=True)

    def _say_links(self, links: Sequence[str], *, verbose: bool) -> None:
        if links:
            more = ": " + ", ".join(links) if verbose else " (see --verbose)"
            lead = "1 link leads" if len(links) == 1 else f"{len(links)} links lead"
            self.say(f"{lead} out of the checked folders and were not followed{more}")

    def say(self, text: str, *, wanted: bool = True) -> None:
        """Print a message that is no finding to standard error, unless the run is quiet."""
        if wanted and not self.quiet:
            output.print_text(f"torchmigrate: {escape(text)}\n", to_stderr=True)


def _say_what_resolves() -> None:
    """Print a warning if no resolver is available."""
    from torchmigrate.documents import resolve

    if resolve.program() is None:
        output.print_text("warning: --resolve has no effect: neither uv nor pip is on PATH\n", to_stderr=True)
