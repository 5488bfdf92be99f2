"""One run of `check` or `fix`: its settings, its files, its results, and how they are printed.

Imports are kept inside the functions that need them, as in `torchmigrate.cli.commands`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from torchmigrate.cli import options, output
from torchmigrate.cli.requested_files import find_files
from torchmigrate.console.terminal import escape_controls, line_width, wants_color, wants_links
from torchmigrate.reporters.report import Report, format_count
from torchmigrate.run import cache
from torchmigrate.run.unread import CODE as UNREAD_CODE
from torchmigrate.run.wire import PackedResults
from torchmigrate.settings.config import ConfigError

if TYPE_CHECKING:
    from torchmigrate.cli.known_findings import KnownFindings
    from torchmigrate.model.findings import FileError, FileResult
    from torchmigrate.run.multi_file import FixResult
    from torchmigrate.settings.settings import Settings


class Session:
    """One run of `check`."""

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
        max_places: int = 0,
        diff_base: str | None = None,
        write_baseline: bool = False,
        **given: Any,
    ) -> None:
        from torchmigrate.engine import registry
        from torchmigrate.run.selection import RuleSelection

        self.quiet = quiet
        self.results = PackedResults()
        self._begin = time.monotonic()
        self._exit_zero = exit_zero
        self._unread: list[str] = []
        self.output_file = output_file
        profiles = options.load_profiles(given)
        resolves = bool(given.get("resolve"))
        if resolves:
            _warn_without_resolver()
        # What a resolver says today is not kept.
        self.cache = cache.Cache(None if no_cache or resolves else cache_dir)
        try:
            asked = find_files(paths, stdin_filename, profiles)
            sorts = RuleSelection([profile.settings for profile in asked.profiles]).get_file_sorts(self.cache)
        except ConfigError as error:
            raise options.Failure(str(error)) from None
        settings = asked.base.settings
        self.format = "statistics" if statistics else settings.output_format
        colored = not output_file and wants_color(color, sys.stdout)
        lowest = min((profile.minimum for profile in asked.profiles), key=lambda minimum: minimum.version)
        self.report = Report(
            settings, lowest, registry.load_rules, asked.get_settings, color=colored, quiet=quiet
        )
        self.report.max_places = max_places
        # pre-commit sets this variable for its hooks.
        self.report.suggests = "PRE_COMMIT" not in os.environ
        self.report.links = colored and wants_links(sys.stdout)
        if not output_file and sys.stdout.isatty():
            self.report.width = line_width()
        self.report.invocation = options.format_invocation(
            [stdin_filename or path if path == "-" else path for path in paths], given
        )
        self.trees, self.inputs = asked.build_trees(sorts), asked.select_inputs(sorts)
        self._known = self._load_known(asked.get_settings, diff_base, write_baseline)
        self.report.paths = [file.path for file in self.inputs]
        self.report.files = len(self.inputs)
        self.add_errors(asked.select_errors(sorts))
        self.add_errors(asked.invalid_patterns)
        stated = all(profile.settings.min_version is not None for profile in asked.profiles)
        self.print_note(options.describe_versions(asked.profiles), wanted=not stated)
        for name, meant in options.find_misspelt_variables(os.environ).items():
            self.print_note(f"warning: the environment variable {name} sets nothing; did you mean {meant}?")
        for source in sorted({profile.config_file or "the defaults" for profile in asked.profiles}):
            self.print_note(f"settings from {source}", wanted=verbose)
        self.print_note(f"{format_count(len(self.inputs), 'file')} to check", wanted=verbose)
        self._report_links(asked.unfollowed, verbose=verbose)
        for note in (note for tree in self.trees for note in tree.record.describe()):
            self.print_note(note)

    def collect_results(self, results: Iterable[FileResult]) -> None:
        """Add ``results`` to the totals, and keep those with findings or errors."""
        for found in results:
            result = self._known.remove_known(found) if self._known else found
            self.report.known += len(found.findings) - len(result.findings)
            self.report.add_result(result)
            self.results.add_result(result)
            unread = (finding for finding in result.findings if finding.code == UNREAD_CODE)
            self._unread += [f"warning: {finding.message}; {finding.hint}" for finding in unread]

    def add_errors(self, errors: Iterable[FileError]) -> None:
        """Add errors to the totals."""
        for error in errors:
            from torchmigrate.model.findings import FileResult

            self.collect_results([FileResult(error.path, errors=(error,))])

    def _load_known(
        self, settings_of: Callable[[str], Settings], diff_base: str | None, writes: bool
    ) -> KnownFindings | None:
        if not (writes or diff_base or any(settings_of(file.path).baseline for file in self.inputs)):
            return None
        from torchmigrate.adoption.earlier_findings import collect_earlier_findings
        from torchmigrate.cli.known_findings import KnownFindings
        from torchmigrate.project.git import GitError

        try:
            earlier = collect_earlier_findings(self.trees, diff_base, self.cache) if diff_base else None
        except GitError as error:
            raise options.Failure(f"--diff-base: {error}") from None
        return KnownFindings(self.inputs, settings_of, earlier, writes=writes)

    def warn_unread(self) -> None:
        """Print a warning that counts the files whose grammars are not installed, if there are any."""
        for warning in self._unread:
            self.print_note(warning)

    def report_obsolete(self) -> None:
        """Print which known findings no longer exist."""
        for line in self._known.describe_obsolete() if self._known else ():
            self.print_note(line)

    def write_baseline(self) -> None:
        """Write all findings into the baseline."""
        for line in self._known.write_baselines() if self._known else ():
            self.print_note(line)

    def write_files(self, unit: Sequence[FixResult]) -> bool:
        """Replace files, all or none; return whether they were replaced. A failure becomes an error."""
        from torchmigrate.model.findings import FileError
        from torchmigrate.project.folders import is_within
        from torchmigrate.run import transaction

        place = os.path.realpath(unit[0].path)
        folder = next(tree.folder for tree in self.trees if is_within(place, tree.folder))
        try:
            lost = transaction.write_together([(one.path, one.after, one.before) for one in unit], folder)
        except transaction.NotWritten as failed:
            reason = f"cannot be written: {getattr(failed.error, 'strerror', None) or failed.error}"
            for fixed in unit:
                why = reason if fixed.path == failed.path else f"not changed, because {failed.path} {reason}"
                if fixed.path in failed.stays:
                    why = f"changed, and could not be restored; its fix is incomplete, because {failed.path} {reason}"
                self.add_errors([FileError(fixed.path, why)])
            return False
        for fixed, gone in zip(unit, lost, strict=True):
            self.print_note(f"{fixed.path}: the new file lost {', '.join(gone)}", wanted=bool(gone))
        return True

    def recover(self, *, apply: bool) -> None:
        """Complete what a killed run has left half-done, if ``apply``; what cannot be completed becomes an error."""
        from torchmigrate.run.journals import find_journals

        for tree in self.trees:
            for journal in find_journals(tree.folder):
                from torchmigrate.cli.recovery import recover_journal

                self.add_errors(recover_journal(journal, tree, self.print_note, apply=apply))

    def has_failing(self) -> bool:
        """Return whether a finding is at or above ``--fail-on``."""
        return self.report.failing > 0

    def exit_status(self, *, failed: bool) -> int:
        """Return the exit status."""
        if self.report.errors:
            return 2
        return 1 if failed and not self._exit_zero else 0

    def write_report(self, *, to_stderr: bool = False) -> None:
        """Print the results in the requested format."""

        from torchmigrate.reporters.report import load_reporter

        self.warn_unread()
        self.report.seconds = time.monotonic() - self._begin
        self._summarize_for_github()
        where = self.output_file
        with output.replace_file(where) if where else output.ChunkedOutput(to_stderr=to_stderr) as out:
            load_reporter(self.format).write_report(self.results, self.report, out)

    def _summarize_for_github(self) -> None:
        """Append a page to the summary of the GitHub job that runs this, if there is one."""
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        if self.format != "github" or not path:
            return
        from torchmigrate.reporters import markdown

        try:
            with open(path, "a", encoding="utf-8", errors="backslashreplace", newline="\n") as out:
                markdown.write_report(self.results, self.report, out)
        except OSError as error:
            self.print_note(f"the job summary cannot be written: {error.strerror}")

    def print_errors(self) -> None:
        """Print the files that failed."""
        from torchmigrate.reporters.concise import format_error

        for result in self.results:
            for error in result.errors:
                output.print_text(format_error(error, self.report), to_stderr=True)

    def _report_links(self, links: Sequence[str], *, verbose: bool) -> None:
        if links:
            more = ": " + ", ".join(links) if verbose else " (see --verbose)"
            lead = "1 link leads" if len(links) == 1 else f"{len(links)} links lead"
            followed = "was not followed" if len(links) == 1 else "were not followed"
            self.print_note(f"{lead} out of the checked folders and {followed}{more}")

    def print_note(self, text: str, *, wanted: bool = True) -> None:
        """Print a message that is no finding to standard error, unless the run is quiet."""
        if wanted and not self.quiet:
            output.print_text(f"torchmigrate: {escape_controls(text)}\n", to_stderr=True)


def _warn_without_resolver() -> None:
    """Print a warning if no resolver is available."""
    from torchmigrate.documents import resolver_process

    if resolver_process.find_resolver() is None:
        output.print_text("warning: --resolve has no effect: neither uv nor pip is on PATH\n", to_stderr=True)
