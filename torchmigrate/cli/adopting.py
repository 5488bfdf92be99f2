"""The options of `check` with which a project takes the tool up that has findings already."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from torchmigrate.adoption.ignoring import Ignore
    from torchmigrate.cli.session import Session

Command = TypeVar("Command", bound=Callable[..., Any])

BARE = "--add-ignore"
"""An option whose value may be left out, and then does not take the next argument for it."""


class Checking(click.Command):
    """The command, with ``--add-ignore`` alone as ``--add-ignore=``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does."""
        end = args.index("--") if "--" in args else len(args)
        options = [f"{BARE}=" if given == BARE else given for given in args[:end]]
        return super().parse_args(ctx, options + args[end:])


def options(command: Command) -> Command:
    """Decorator: the options."""
    for decorate in (
        click.option(
            "--until",
            metavar="VERSION",
            help="With --add-ignore: the target from which on the comments silence nothing and are reported.",
        ),
        click.option(
            BARE,
            metavar="[=REASON]",
            help="Write comments into the files that silence what is reported, and report nothing.",
        ),
        click.option(
            "--diff-base",
            metavar="REF",
            help="Report only what is new since HEAD and the git revision REF parted: the files as they were then are "
            "checked too, by the settings of today, and what they had is left out. What is not committed is new.",
        ),
        click.option(
            "--write-baseline",
            is_flag=True,
            help="Write what is found into the baseline, and report nothing.",
        ),
    ):
        command = decorate(command)
    return command


def ignore(reason: str | None, until: str | None, given: Mapping[str, Any]) -> Ignore | None:
    """What --add-ignore asks for, if it is given. Raises click.UsageError."""
    if given["write_baseline"] and given["diff_base"]:
        raise click.UsageError(
            "a baseline holds all that is found, and --diff-base leaves some out: one of them"
        )
    if reason is None:
        if until is not None:
            raise click.UsageError("--until goes with --add-ignore")
        return None
    if given["write_baseline"]:
        raise click.UsageError(
            "--add-ignore silences what is found, and --write-baseline keeps it: one of them"
        )
    if "-" in given["paths"]:
        raise click.UsageError("--add-ignore writes into files, and `-` is none")
    from torchmigrate.cli import ignoring

    return ignoring.wanted(reason, until)


def write(run: Session, ignore: Ignore | None) -> int:
    """Writes the comments, or the baseline; returns the exit status."""
    if ignore is None:
        run.write_baseline()
    else:
        from torchmigrate.cli import ignoring

        for line in ignoring.write(run, ignore):
            run.say(line)
    run.print_errors()
    return run.status(failed=False)
