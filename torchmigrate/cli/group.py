"""The commands by their names; those that few runs need are imported when they are asked for."""

from __future__ import annotations

from typing import cast

import click

LAZY: dict[str, str] = {
    "artifacts": "torchmigrate.cli.artifacts:artifacts",
    "ledger": "torchmigrate.cli.ledger:ledger",
    "plan": "torchmigrate.cli.plan:plan",
    "probe": "torchmigrate.cli.probe:probe",
    "server": "torchmigrate.cli.server:server",
}
"""Commands that live in modules of their own: name → ``module:attribute``, imported when called."""


ORDER = ("check", "fix", "plan", "explain", "rules", "ledger", "probe", "artifacts", "server", "clean")
"""The commands as one meets them in an upgrade."""


class Commands(click.Group):
    """A group that imports the commands in `LAZY` only when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which help lists them."""
        return list(dict.fromkeys([*ORDER, *self.commands, *LAZY]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command ``cmd_name``, or None."""
        if cmd_name in LAZY:
            import importlib

            module, _, attribute = LAZY[cmd_name].partition(":")
            return cast("click.Command", getattr(importlib.import_module(module), attribute))
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with the nearest name where there is no such command."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            from torchmigrate.settings.config import nearest

            raise click.UsageError(f"No such command {name!r}{nearest(name, self.list_commands(ctx))}", ctx)
        return super().resolve_command(ctx, args)
