"""The options of `check` for adopting the tool in a project that has findings already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from torchmigrate.cli.options import combine_options

if TYPE_CHECKING:
    from torchmigrate.adoption.ignore_comments import IgnoreComment
    from torchmigrate.cli.session import Session

BARE = "--add-ignore"
"""An option whose value may be left out, in which case it does not consume the next argument."""


class CheckCommand(click.Command):
    """The command `check`, which reads a bare ``--add-ignore`` as ``--add-ignore=``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments as click does."""
        end = args.index("--") if "--" in args else len(args)
        options = [f"{BARE}=" if given == BARE else given for given in args[:end]]
        return super().parse_args(ctx, options + args[end:])


add_options = combine_options(
    click.option(
        "--until",
        metavar="VERSION",
        help="With --add-ignore: the target version at which the comments expire and are reported.",
    ),
    click.option(
        BARE,
        metavar="[=REASON]",
        help="Suppress all reported findings with comments in the files, and report nothing.",
    ),
    click.option(
        "--diff-base",
        metavar="REF",
        help="Report only findings that are new since the merge base of HEAD and the git revision REF. The files of that "
        "revision are checked with today's settings; uncommitted changes count as new.",
    ),
    click.option(
        "--write-baseline",
        is_flag=True,
        help="Write all findings into the baseline, and report nothing.",
    ),
)
"""The options for adopting the tool, as a decorator of a command."""


def parse_ignore(reason: str | None, until: str | None, given: Mapping[str, Any]) -> IgnoreComment | None:
    """Return what --add-ignore requests, or None. Raises click.UsageError."""
    if given["write_baseline"] and given["diff_base"]:
        raise click.UsageError("--write-baseline and --diff-base cannot be used together")
    if reason is None:
        if until is not None:
            raise click.UsageError("--until requires --add-ignore")
        return None
    if given["write_baseline"]:
        raise click.UsageError("--add-ignore and --write-baseline cannot be used together")
    if "-" in given["paths"]:
        raise click.UsageError("--add-ignore cannot be used with standard input")
    from torchmigrate.cli import add_ignore

    return add_ignore.parse_request(reason, until)


def write_adoption(run: Session, ignore: IgnoreComment | None) -> int:
    """Write the comments, or the baseline; return the exit status."""
    if ignore is None:
        run.write_baseline()
    else:
        from torchmigrate.cli import add_ignore

        for line in add_ignore.write_suppressions(run, ignore):
            run.print_note(line)
    run.print_errors()
    return run.exit_status(failed=False)
