"""The command line: parses options, calls, prints, exits.

Exit status: 0 nothing to report, 1 findings (at or above ``--fail-on``) or a pending change, 2 wrong usage or a
file that could not be processed, 130 interrupted.

Imports are kept inside the functions that need them: most runs are hooks over a few small files.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from torchmigrate import __version__
from torchmigrate.cli import options, output
from torchmigrate.cli.asked import ask
from torchmigrate.console.terminal import Progress, escape, wants_color
from torchmigrate.model.findings import FileError, FileResult, Finding
from torchmigrate.reporters.report import Report, count
from torchmigrate.run import cache
from torchmigrate.run.wire import Results
from torchmigrate.settings.config import ConfigError

if TYPE_CHECKING:
    from torchmigrate.run.profiles import Profile
    from torchmigrate.run.runner import FixResult

Command = TypeVar("Command", bound=Callable[..., Any])

LAZY: dict[str, str] = {
    "ledger": "torchmigrate.cli.ledger:ledger",
    "probe": "torchmigrate.cli.probe:probe",
}
"""Commands that live in modules of their own: name → ``module:attribute``, imported when called."""


class Commands(click.Group):
    """A group that imports the commands in `LAZY` only when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of their definition."""
        return [*self.commands, *LAZY]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command ``cmd_name``, or None."""
        if cmd_name in LAZY:
            import importlib

            module, _, attribute = LAZY[cmd_name].partition(":")
            return cast("click.Command", getattr(importlib.import_module(module), attribute))
        return super().get_command(ctx, cmd_name)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="torchmigrate")
def cli() -> None:
    """Find what a PyTorch upgrade breaks in a project, and mend what can be proved."""


cache_folder = click.option(
    "--cache-dir",
    metavar="DIR",
    envvar="TORCHMIGRATE_CACHE_DIR",
    default=cache.default_folder,
    help="Where results are kept for later runs.  [default: the user's cache folder]",
)


def common(command: Command) -> Command:
    """Decorator: the parameters of `Run`, which `check` and `fix` share."""
    command = cache_folder(command)
    for decorate in (
        click.option("-v", "--verbose", is_flag=True, help="Say which settings and files are used."),
        click.option("-q", "--quiet", is_flag=True, help="Print findings and errors only."),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            help="Colour the output.",
        ),
        click.option("--exit-zero", is_flag=True, help="Exit with 0 in spite of findings."),
        click.option("--statistics", is_flag=True, help="Print the number of findings of each rule instead."),
        click.option("--no-cache", is_flag=True, help="Neither use nor keep results of earlier runs."),
        click.option("-o", "--output-file", metavar="FILE", help="Write the report to a file."),
        click.option("--stdin-filename", metavar="PATH", help="The name of the file that comes as `-`."),
        options.of_settings,
        click.argument("paths", nargs=-1, metavar="[PATHS]..."),
    ):
        command = decorate(command)
    return command


@cli.command()
@common
@click.option("--with-probe", is_flag=True, help="Also say whether this machine can run the target version.")
@click.option("--python", metavar="PATH", help="The interpreter for --with-probe; default: python3 on PATH.")
@click.option("--show-settings", metavar="FILE", help="Print what holds for FILE, and check nothing.")
@click.option("--show-files", is_flag=True, help="List the files to check, and check nothing.")
def check(
    with_probe: bool, python: str | None, show_settings: str | None, show_files: bool, **given: Any
) -> int:
    """Report what an upgrade breaks, deprecates or supersedes in PATHS (default: here)."""
    from torchmigrate.run import runner

    if python and not with_probe:
        raise click.UsageError("--python goes with --with-probe")
    if show_settings is not None:
        return show(show_settings, given)
    if show_files:
        run = Run(**{**given, "quiet": True})
        output.print_text("".join(f"{escape(file.path)}\n" for file in run.inputs))
        run.print_errors()
        return run.status(failed=False)
    run = Run(**given)
    if run.format == "diff":
        raise click.UsageError("--output-format diff is for `torchmigrate fix`")
    with Progress(sys.stderr, wanted=not run.quiet) as progress:
        for tree in run.trees:
            run.collect(runner.check(tree, cache=run.cache, progress=progress))
    run.cache.close()
    if with_probe:
        from torchmigrate.cli import probe

        settings = run.report.settings
        run.report.settings = probe.showing(settings)
        run.collect([probe.result(settings, python)])
    run.write_report()
    return run.status(failed=run.fails())


@cli.command()
@common
@click.option("--apply", is_flag=True, help="Write the fixed files, and report what is left.")
@click.option("--interactive", is_flag=True, help="Ask about every fix.")
def fix(apply: bool, interactive: bool, **given: Any) -> int:
    """Print the diff that mends PATHS (default: here), or write the files with --apply."""
    from torchmigrate.run import runner

    if interactive and "-" in given["paths"]:
        raise click.UsageError("--interactive reads the answers from standard input, where `-` is read from")
    run = Run(**given)
    run.report.fixing, run.report.written = True, apply
    changed = 0
    choose = Chooser(run.report) if interactive else None
    with Progress(
        sys.stderr, wanted=not (run.quiet or interactive) and (apply or not sys.stdout.isatty())
    ) as progress:
        for tree in run.trees:
            for fixed in runner.fix(tree, choose=choose, cache=run.cache, progress=progress):
                run.collect([fixed.result])
                if run.deliver(fixed, apply):
                    changed += 1
                    run.report.applied += fixed.applied
    run.cache.close()
    if run.shows_diff(apply):
        run.write_outcome(changed, apply)
    else:
        run.write_report(to_stderr=apply and "-" in given["paths"])
    return run.status(failed=run.fails() if apply else changed > 0)


@cli.command()
@click.option(
    "--format", "style", type=click.Choice(["table", "json"]), default="table", help="How to print."
)
def rules(style: str) -> int:
    """List all rules."""
    from torchmigrate.cli import pages
    from torchmigrate.engine import registry

    text = pages.as_json(registry.rules()) if style == "json" else pages.as_table(registry.rules())
    output.print_text(text)
    return 0


@cli.command()
@cache_folder
def clean(cache_dir: str) -> int:
    """Remove what earlier runs have kept."""
    try:
        removed = cache.clean(cache_dir)
    except OSError as error:
        raise options.Failure(f"{cache_dir} cannot be removed: {error.strerror}") from None
    output.print_text(f"Removed {cache_dir}.\n" if removed else f"Nothing is kept in {cache_dir}.\n")
    return 0


@cli.command()
@click.argument("code")
def explain(code: str) -> int:
    """Say what the rule CODE finds, why, and what to do."""
    from torchmigrate.cli import pages
    from torchmigrate.engine import registry
    from torchmigrate.settings import config

    known = registry.rules()
    rule = next(
        (rule for rule in known.values() if code.lower() in (rule.code.lower(), rule.name.lower())), None
    )
    if rule is None:
        raise options.Failure(f"there is no rule {code}{config.nearest(code.upper(), list(known))}")
    output.print_text(pages.as_page(rule, color=wants_color("auto", sys.stdout)))
    return 0


def show(file: str, given: Mapping[str, Any]) -> int:
    """Prints what holds for a file."""
    from torchmigrate.cli import show as showing

    try:
        output.print_text(showing.settings(file, options.load(given)))
    except ConfigError as error:
        raise options.Failure(str(error)) from None
    return 0


class Run:
    """One run of `check` or `fix`: its settings, its files, its results, and how they are printed."""

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
        **given: Any,
    ) -> None:
        from torchmigrate.engine import registry
        from torchmigrate.run import runner

        self.quiet = quiet
        self.results = Results()
        self._begin = time.monotonic()
        self._exit_zero = exit_zero
        self._output_file = output_file
        profiles = options.load(given)
        self.cache = cache.Cache(None if no_cache else cache_dir)
        try:
            asked = ask(paths, stdin_filename, profiles)
            screen = runner.screen({profile.settings for profile in asked.profiles}, self.cache)
        except ConfigError as error:
            raise options.Failure(str(error)) from None
        settings = asked.base.settings
        self.format = "statistics" if statistics else settings.output_format
        self._diff: list[bytes] = []
        colored = not output_file and wants_color(color, sys.stdout)
        lowest = min((profile.minimum for profile in asked.profiles), key=lambda minimum: minimum.version)
        self.report = Report(settings, lowest, registry.rules, asked.settings_of, color=colored, quiet=quiet)
        self.trees, self.inputs = asked.trees(screen), asked.inputs(screen)
        self.report.files = len(self.inputs)
        self.collect(FileResult(error.path, errors=(error,)) for error in asked.errors(screen))
        self.collect(_doubts(asked.profiles))
        stated = all(profile.settings.min_version is not None for profile in asked.profiles)
        self._say(options.describe(asked.profiles), wanted=not stated)
        for source in sorted({profile.config_file or "the defaults" for profile in asked.profiles}):
            self._say(f"settings from {source}", wanted=verbose)
        self._say(f"{count(len(self.inputs), 'file')} to check", wanted=verbose)
        self._say_links(asked.unfollowed, verbose=verbose)

    def collect(self, results: Iterable[FileResult]) -> None:
        """Counts ``results`` in, and keeps those that have something to say."""
        for result in results:
            self.report.add(result)
            self.results.add(result)

    def deliver(self, fixed: FixResult, apply: bool) -> bool:
        """Writes or prints what ``fixed`` changes; returns whether it changes anything and could be written."""
        stdin = next(
            (one.data for one in self.inputs if one.data is not None and one.path == fixed.path), None
        )
        changes = fixed.before != fixed.after
        if apply and stdin is not None:
            output.print_bytes(fixed.after if changes else stdin)
        if not changes:
            return False
        if apply and stdin is None and not self._written(fixed):
            return False
        if self.shows_diff(apply) and not (apply and stdin is not None):
            from torchmigrate.console import diff

            made = diff.unified(fixed.path, fixed.before, fixed.after)
            if self._output_file:
                self._diff.append(made)
            else:
                output.print_diff(made, color=self.report.color, raw=self.format == "diff")
        return True

    def shows_diff(self, apply: bool) -> bool:
        """Whether `fix` prints what it changes, and not a report on what it did and left."""
        return self.format == "diff" or (not apply and self.format in ("full", "concise"))

    def _written(self, fixed: FixResult) -> bool:
        from torchmigrate.run import write

        try:
            lost = write.write_atomic(fixed.path, fixed.after, fixed.before)
        except (OSError, write.Changed) as error:
            reason = f"cannot be written: {getattr(error, 'strerror', None) or error}"
            self.collect([FileResult(fixed.path, errors=(FileError(fixed.path, reason),))])
            return False
        self._say(f"{fixed.path}: the new file has not {', '.join(lost)}", wanted=bool(lost))
        return True

    def fails(self) -> bool:
        """Whether a finding is at or above ``--fail-on``."""
        return self.report.failing > 0

    def status(self, *, failed: bool) -> int:
        """The exit status."""
        if self.report.errors:
            return 2
        return 1 if failed and not self._exit_zero else 0

    def write_report(self, *, to_stderr: bool = False) -> None:
        """Prints the results in the format that is asked for."""

        from torchmigrate.reporters.report import load

        self.report.seconds = time.monotonic() - self._begin
        where = self._output_file
        with output.replaced(where) if where else output.Printed(to_stderr=to_stderr) as out:
            load(self.format).write(self.results, self.report, out)

    def write_outcome(self, changed: int, apply: bool) -> None:
        """Writes a diff where it goes to a file, and says which files failed and what changes."""
        if self._output_file:
            with output.replaced(self._output_file) as out:
                out.buffer.write(b"".join(self._diff))
        self.print_errors()
        change = "changed" if apply else "would change"
        self._say(f"{count(changed, 'file')} {change}, fixing {count(self.report.fixed, 'finding')}")
        hidden = count(self.report.hidden_unsafe, "unsafe fix", "unsafe fixes")
        self._say(f"{hidden} hidden, see --unsafe", wanted=self.report.hidden_unsafe > 0)

    def print_errors(self) -> None:
        """Says which files failed."""
        from torchmigrate.reporters.concise import error_line

        for result in self.results:
            for error in result.errors:
                output.print_text(error_line(error, self.report), to_stderr=True)

    def _say_links(self, links: Sequence[str], *, verbose: bool) -> None:
        if links:
            more = ": " + ", ".join(links) if verbose else "; --verbose names them"
            lead = "1 link leads" if len(links) == 1 else f"{len(links)} links lead"
            self._say(f"{lead} out of what was named and what is not excluded, not followed{more}")

    def _say(self, text: str, *, wanted: bool = True) -> None:
        if wanted and not self.quiet:
            output.print_text(f"torchmigrate: {escape(text)}\n", to_stderr=True)


def _doubts(profiles: Iterable[Profile]) -> Iterable[FileResult]:
    """What is wrong with patterns in the settings; the others hold."""
    from torchmigrate.project.patterns import malformed

    said: dict[FileError, None] = {}
    for profile in profiles:
        settings, place = profile.settings, profile.config_file or "command line"
        in_files = [pattern for pattern, _ in settings.per_file_ignores]
        for name, patterns in (("exclude", settings.excluded), ("per-file-ignores", in_files)):
            for _, text, reason in malformed(patterns):
                message = f"`{name}`: the pattern `{text}` matches nothing: {reason}"
                said[FileError(place, message)] = None
    return [FileResult(error.path, errors=(error,)) for error in said]


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


def main() -> None:
    """The entry point: runs the command line and exits with its status."""
    try:
        status = cli.main(prog_name="torchmigrate", standalone_mode=False)
    except click.ClickException as error:
        output.print_error(error)
        status = error.exit_code
    except ConfigError as error:
        output.print_error(options.Failure(str(error)))
        status = 2
    except (click.Abort, KeyboardInterrupt):
        status = 130
    except Exception as error:
        from torchmigrate.model.faults import described

        if {"-v", "--verbose"} & set(sys.argv):
            import traceback

            output.print_lines(traceback.format_exc())
        output.print_lines(
            f"Error: {escape(described(error))}; --verbose shows the traceback, please report it"
        )
        status = 2
    output.close()
    sys.exit(status)
