"""The command line: parses options, calls, prints, exits.

Exit status: 0 nothing to report, 1 findings (at or above ``--fail-on``) or a pending change, 2 wrong usage or a
file that could not be processed, 130 interrupted.

Imports are kept inside the functions that need them: most runs are hooks over a few small files.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import Any

import click

from torchmigrate import __version__
from torchmigrate.cli import adoption_options, fixing, options, output
from torchmigrate.cli import verify_options as verifying
from torchmigrate.cli.group import LazyGroup
from torchmigrate.cli.session import Session
from torchmigrate.console.terminal import ProgressBar, escape_controls, line_width, wants_color
from torchmigrate.run import cache
from torchmigrate.settings.config import ConfigError


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="torchmigrate")
def cli() -> None:
    """Find what a PyTorch upgrade breaks in a project, and fix what can be proved."""


VARIABLES = "Settings can also be set by environment variables, such as TORCHMIGRATE_TARGET_VERSION=2.15."


@cli.command(
    cls=adoption_options.CheckCommand,
    epilog=VARIABLES,
    short_help="Report what an upgrade breaks, deprecates or supersedes.",
)
@options.add_session_options
@adoption_options.add_options
@click.option(
    "--with-probe", is_flag=True, help="Also check whether this machine can run the target version."
)
@click.option(
    "--python",
    metavar="PATH",
    type=options.PLACE,
    help="The interpreter that --with-probe checks; default: python3 on PATH.",
)
@click.option(
    "--show-settings",
    metavar="FILE",
    type=options.PLACE,
    help="Print the settings for FILE, and check nothing.",
)
@click.option("--show-files", is_flag=True, help="List the files to check, and check nothing.")
@click.option("--fix", "mends", is_flag=True, help="Also write the fixed files, as `fix --apply` does.")
@fixing.add_common_options
def check(
    with_probe: bool,
    python: str | None,
    show_settings: str | None,
    show_files: bool,
    add_ignore: str | None,
    until: str | None,
    mends: bool,
    diff: bool,
    exit_non_zero_on_fix: bool,
    **given: Any,
) -> int:
    """Report what an upgrade breaks, deprecates or supersedes in PATHS (default: the current folder)."""
    from torchmigrate.run import runner

    shows, adopts = show_settings is not None or show_files, add_ignore is not None or given["write_baseline"]
    if (mends or diff) and (with_probe or shows or adopts):
        raise click.UsageError(
            "--fix and --diff cannot be used with --with-probe, --show-settings, --show-files, --add-ignore or "
            "--write-baseline"
        )
    if shows and adopts:
        raise click.UsageError(
            "--show-settings and --show-files cannot be used with --add-ignore or --write-baseline"
        )
    if mends or diff:
        wanted = fixing.FixRequest(mends and not diff, exit_non_zero_on_fix=exit_non_zero_on_fix)
        return fixing.run_fixes(wanted, given, diff=diff)
    if python and not with_probe:
        raise click.UsageError("--python requires --with-probe")
    ignore = adoption_options.parse_ignore(add_ignore, until, given)
    if show_settings is not None:
        from torchmigrate.cli.show_settings import render_settings

        output.print_text(render_settings(show_settings, options.load_profiles(given)))
        return 0
    if show_files:
        run = Session(**{**given, "quiet": True, "diff_base": None, "write_baseline": False})
        output.print_text("".join(f"{escape_controls(file.path)}\n" for file in run.inputs))
        run.print_errors()
        return run.exit_status(failed=False)
    run = Session(**given)
    if run.format == "diff":
        raise click.UsageError("--output-format diff is for `torchmigrate fix`")
    run.recover(apply=False)
    with ProgressBar(sys.stderr, wanted=not run.quiet) as progress:
        for tree in run.trees:
            run.collect_results(runner.check_tree(tree, cache=run.cache, progress=progress))
    run.cache.close()
    if ignore or given["write_baseline"]:
        return adoption_options.write_adoption(run, ignore)
    run.report_obsolete()
    if with_probe:
        from torchmigrate.cli import probed_machine

        settings = run.report.settings
        # The report lists the verdict even where all is well.
        run.report.settings = dataclasses.replace(settings, show=(*settings.show, "RT032"))
        paths = [path for path in given["paths"] or ["."] if path != "-"]
        run.collect_results([probed_machine.probe_machine(settings, python, paths)])
    run.write_report()
    return run.exit_status(failed=run.has_failing())


@cli.command(epilog=VARIABLES, short_help="Show the fixes as a diff, or apply them.")
@options.add_session_options
@click.option("--apply", is_flag=True, help="Write the fixed files, and report the remaining findings.")
@click.option(
    "--interactive",
    is_flag=True,
    help="Show every fix, ask whether to apply it, and write what was agreed to.",
)
@click.option("--commit-per-rule", is_flag=True, help="With --apply, in git: make one commit for each rule.")
@click.option(
    "--summary",
    metavar="FILE",
    type=options.PLACE,
    help="With --apply: describe what changed and what is left, in Markdown for a pull request.",
)
@fixing.add_common_options
@verifying.add_options
def fix(
    apply: bool,
    interactive: bool,
    commit_per_rule: bool,
    summary: str | None,
    diff: bool,
    exit_non_zero_on_fix: bool,
    verify: str | None,
    verify_runs: int,
    verify_timeout: float,
    verify_env: Sequence[str],
    **given: Any,
) -> int:
    """Print the diff that fixes PATHS (default: the current folder), or write the files with --apply."""
    judge = verifying.parse_request(verify, verify_runs, verify_timeout, verify_env)
    wanted = fixing.FixRequest(
        apply or (interactive and not diff),
        interactive,
        judge,
        commit_per_rule,
        summary,
        exit_non_zero_on_fix,
    )
    return fixing.run_fixes(wanted, given, diff=diff)


@cli.command()
@click.option(
    "--output-format",
    "--format",
    "style",
    type=click.Choice(["table", "json"]),
    default="table",
    help="Output format.",
)
def rules(style: str) -> int:
    """List all rules."""
    from torchmigrate.cli import rule_pages
    from torchmigrate.engine import registry

    render = rule_pages.render_json if style == "json" else rule_pages.render_table
    output.print_text(render(registry.load_rules()))
    return 0


@cli.command()
@options.cache_folder
def clean(cache_dir: str) -> int:
    """Remove the cached results of earlier runs."""
    try:
        removed = cache.remove_cache(cache_dir)
    except OSError as error:
        raise options.Failure(f"{cache_dir} cannot be removed: {error.strerror}") from None
    output.print_text(f"Removed {cache_dir}.\n" if removed else f"There is no cache in {cache_dir}.\n")
    return 0


@cli.command()
@click.option(
    "--output-format", "style", type=click.Choice(["text", "json"]), default="text", help="Output format."
)
@click.argument("codes", nargs=-1, required=True, metavar="CODES...", shell_complete=options.complete_codes)
def explain(codes: tuple[str, ...], style: str) -> int:
    """Explain what rules find, why, and what to do. CODES are codes, prefixes of codes, or names of rules or families."""
    from torchmigrate.cli import rule_pages
    from torchmigrate.engine import registry

    rules = rule_pages.find_rules(codes, registry.load_rules())
    if style == "json":
        text = rule_pages.render_documents(rules)
    else:
        columns = line_width() if sys.stdout.isatty() else 0
        text = rule_pages.render_pages(rules, color=wants_color("auto", sys.stdout), width=columns)
    output.print_text(text)
    return 0


def main() -> None:
    """Run the command line and exit with its status; the entry point."""
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
        from torchmigrate.model.tool_faults import describe_fault

        if {"-v", "--verbose"} & set(sys.argv):
            import traceback

            output.print_lines(traceback.format_exc())
        output.print_lines(
            f"Error: {escape_controls(describe_fault(error))}; --verbose shows the traceback, please report it"
        )
        status = 2
    output.flush_output()
    sys.exit(status)
