"""The command group, which imports rarely used commands only when they are called."""

from __future__ import annotations

from typing import cast

import click

LAZY: dict[str, str] = {
    "artifacts": "torchmigrate.cli.artifacts:artifacts",
    "ledger": "torchmigrate.cli.ledger:ledger",
    "plan": "torchmigrate.cli.plan:plan",
    "probe": "torchmigrate.cli.probe:probe",
    "record": "torchmigrate.cli.record:record",
    "server": "torchmigrate.cli.server:server",
    "survey": "torchmigrate.survey.command:survey",
}
"""Commands in modules of their own: name → ``module:attribute``."""


ORDER = (
    "check",
    "fix",
    "plan",
    "survey",
    "record",
    "explain",
    "rules",
    "ledger",
    "probe",
    "artifacts",
    "server",
    "clean",
)
"""The order in which help lists the commands."""


class LazyGroup(click.Group):
    """A group that imports the commands in `LAZY` only when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, in the order in which help lists them."""
        return list(dict.fromkeys([*ORDER, *self.commands, *LAZY]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command ``cmd_name``, or None."""
        if cmd_name in LAZY:
            import importlib

            module, _, attribute = LAZY[cmd_name].partition(":")
            return cast("click.Command", getattr(importlib.import_module(module), attribute))
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the command as click does, but suggest the nearest name for an unknown one."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            from torchmigrate.settings.config import suggest_name

            raise click.UsageError(
                f"No such command {name!r}{suggest_name(name, self.list_commands(ctx))}", ctx
            )
        return super().resolve_command(ctx, args)
