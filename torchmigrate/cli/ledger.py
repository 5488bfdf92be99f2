"""The command `torchmigrate ledger`: what became of a name of torch's API, and what differs between two releases.

Exit status: 0, or 2 for a name that is not known and for wrong usage.
"""

from __future__ import annotations

import click

from torchmigrate.cli import histories, options, output
from torchmigrate.model import versions
from torchmigrate.model.versions import Version
from torchmigrate.tables import api, changes

FORMATS = ("text", "json", "markdown", "csv")


def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the names that begin with what is typed, one part further."""
    owner, dot, last = incomplete.rpartition(".")
    if not dot:
        return sorted(name for name in api.owners() if "." not in name and name.startswith(last))
    return sorted(f"{owner}.{name}" for name in api.members(owner) if name.startswith(last))


@click.command(short_help="Show the history of names of torch's API, by release.")
@click.option("--from", "old", metavar="VERSION", help="With --to: list what differs between two releases.")
@click.option("--to", "new", metavar="VERSION", help="The newer of the two; default: the newest known.")
@click.option("--private", is_flag=True, help="Also list private names.")
@click.option(
    "--output-format",
    "style",
    type=options.Format(FORMATS),
    default=None,
    help="How to print.  [default: text; markdown for --from]",
)
@click.option("-o", "--output-file", metavar="FILE", type=options.PLACE, help="Write to a file.")
@click.argument("names", nargs=-1, metavar="[NAMES]...", shell_complete=complete)
def ledger(
    names: tuple[str, ...],
    old: str | None,
    new: str | None,
    private: bool,
    style: str | None,
    output_file: str | None,
) -> int:
    """Show what happened to NAMES of torch's API in each release, or what differs between two releases."""
    if old is None:
        if new or private:
            raise click.UsageError(f"{'--to' if new else '--private'} requires --from")
        if not names:
            raise click.UsageError(
                "a name is missing: `torchmigrate ledger torch.qr`, or --from 2.4 --to 2.15"
            )
        if style not in (None, "text", "json"):
            raise click.UsageError(f"--output-format {style} requires --from")
        found = [_found(name) for name in names]
        text = histories.as_json(found) if style == "json" else histories.as_text(found)
    else:
        if style == "text":
            raise click.UsageError("--output-format text requires names")
        first, last = _version(old), _version(new or "latest")
        if first >= last:
            raise options.Failure(
                f"--from {versions.render(first)} is not older than --to {versions.render(last)}"
            )
        between = histories.changes(first, last, names, private=private)
        text = histories.as_difference(between, first, last, style or "markdown")
    if output_file:
        with output.replaced(output_file) as file:
            file.write(text)
    else:
        output.print_text(text)
    return 0


def _version(text: str) -> Version:
    try:
        return versions.parse_target(text)
    except ValueError as error:
        raise options.Failure(str(error)) from None


def _gone_around(name: str) -> api.Entry | None:
    """Return the removed module that contained a name, whose members have no entries of their own."""
    while name := name.rpartition(".")[0]:
        entry = api.find(name)
        if entry is not None:
            return entry if entry.kind == "module" and versions.NEWEST not in entry.present else None
    return None


def _found(name: str) -> histories.History:
    written = changes.about(name)
    if (entry := api.find_any(name)) or written:
        return histories.History(name, entry, written)
    if module := _gone_around(name):
        return histories.History(name, module, changes.about(module.name))
    near = histories.near(name)
    meant = f"; did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else ""
    if "." not in name:
        raise options.Failure(f"{name} is not a qualified name such as torch.qr{meant}")
    kept = ": private names that never changed are not in it" if "._" in name else ""
    raise options.Failure(f"the ledger has no name {name}{kept}{meant}")
