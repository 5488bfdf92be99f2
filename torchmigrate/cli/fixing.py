"""What `fix` and `check --fix` do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import click

from torchmigrate.cli import options, output
from torchmigrate.cli import verify_options as verifying
from torchmigrate.cli.fix_session import FixSession

add_common_options = options.combine_options(
    click.option(
        "--exit-non-zero-on-fix",
        is_flag=True,
        help="Exit with 1 if a file is changed, even if no finding is left.",
    ),
    click.option("--diff", is_flag=True, help="Print the fixes as a diff, as --output-format diff does."),
)
"""The options of both commands, the parameters ``diff`` and ``exit_non_zero_on_fix``."""


class FixRequest(NamedTuple):
    """What to do with the fixes."""

    apply: bool
    interactive: bool = False
    judge: verifying.VerifyRequest | None = None
    commit_per_rule: bool = False
    summary: str | None = None
    """The file for a Markdown summary."""
    exit_non_zero_on_fix: bool = False

    def check(self, paths: tuple[str, ...]) -> None:
        """Raise UsageError for options that cannot be combined."""
        if self.interactive and "-" in paths:
            raise click.UsageError(
                "--interactive cannot be used with `-`, since it reads the answers from standard input"
            )
        if self.interactive and self.judge:
            raise click.UsageError("--interactive and --verify cannot be used together")
        if self.commit_per_rule and (self.interactive or self.judge or "-" in paths):
            raise click.UsageError("--commit-per-rule cannot be used with --interactive, --verify or `-`")
        if self.commit_per_rule and not self.apply:
            raise click.UsageError("--commit-per-rule requires --apply")
        if self.summary and not self.apply:
            raise click.UsageError("--summary requires --apply")


def run_fixes(mending: FixRequest, given: Mapping[str, Any], *, diff: bool) -> int:
    """Fix the files that ``given``, the parameters of a `FixSession`, name; return the exit status."""
    from torchmigrate.run import multi_file

    mending.check(given["paths"])
    run = FixSession(**{**given, "output_format": "diff"} if diff else given)
    run.report.fixing, run.report.written = True, mending.apply
    run.recover(apply=mending.apply)
    changed = 0
    if mending.commit_per_rule:
        from torchmigrate.cli import commits

        changed = commits.commit_by_rule(run)
    else:
        every = run.fix_verified(mending.judge, given["paths"]) if mending.judge else None
        fixes = run.fix_files(mending.apply, mending.interactive) if every is None else every
        for unit in multi_file.group_for_writing(fixes):
            run.collect_results(fixed.result for fixed in unit)
            for fixed in run.deliver(unit, mending.apply):
                changed += 1
                run.report.applied += fixed.applied
    run.cache.close()
    if mending.apply:
        run.report_obsolete()
    if run.shows_diff(mending.apply):
        run.write_outcome(changed, mending.apply)
    else:
        run.write_report(to_stderr=mending.apply and "-" in given["paths"])
    run.print_proposals()
    if mending.summary:
        from torchmigrate.reporters import pull_request

        with output.replace_file(mending.summary) as out:
            pull_request.write_report(run.results, run.report, out)
    left_out = run.report.verified is not None and len(run.report.verified.left_out) > 0
    pending = changed > 0 and (not mending.apply or mending.exit_non_zero_on_fix)
    return run.exit_status(failed=left_out or pending or (mending.apply and run.has_failing()))
