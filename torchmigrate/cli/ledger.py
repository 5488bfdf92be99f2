"""The command `torchmigrate ledger`: what became of a name of torch's API, and what differs between two releases.

Exit status: 0, or 2 for a name that is not known and for wrong usage.
"""

from __future__ import annotations

import click

from torchmigrate.cli import ledger_text, options, output
from torchmigrate.model import torch_versions
from torchmigrate.model.torch_versions import Version
from torchmigrate.tables import api_changes, api_ledger, early_names

FORMATS = ("text", "json", "markdown", "csv")


def complete_name(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the shell completions for a partly typed name, up to its next part."""
    owner, dot, last = incomplete.rpartition(".")
    if not dot:
        return sorted(name for name in api_ledger.list_owners() if "." not in name and name.startswith(last))
    return sorted(f"{owner}.{name}" for name in api_ledger.list_members(owner) if name.startswith(last))


@click.command(short_help="Show the history of names in torch's API, by release.")
@click.option("--from", "old", metavar="VERSION", help="With --to: list what differs between two releases.")
@click.option("--to", "new", metavar="VERSION", help="The newer of the two; default: the newest known.")
@click.option("--private", is_flag=True, help="Also list private names.")
@click.option(
    "--output-format",
    "style",
    type=options.FormatChoice(FORMATS),
    default=None,
    help="Output format.  [default: text; markdown for --from]",
)
@click.option("-o", "--output-file", metavar="FILE", type=options.PLACE, help="Write the output to a file.")
@click.argument("names", nargs=-1, metavar="[NAMES]...", shell_complete=complete_name)
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
                "pass a name, as in `torchmigrate ledger torch.qr`, or two releases, as in --from 2.4 --to 2.15"
            )
        if style not in (None, "text", "json"):
            raise click.UsageError(f"--output-format {style} requires --from")
        found = [_find_history(name) for name in names]
        text = ledger_text.render_json(found) if style == "json" else ledger_text.render_text(found)
    else:
        if style == "text":
            raise click.UsageError("--output-format text requires names")
        first, last = _parse_version(old), _parse_version(new or "latest")
        if first >= last:
            raise options.Failure(
                f"--from {torch_versions.render_version(first)} is not older than --to {torch_versions.render_version(last)}"
            )
        between = ledger_text.find_changes(first, last, names, private=private)
        text = ledger_text.render_changes(between, first, last, style or "markdown")
    if output_file:
        with output.replace_file(output_file) as file:
            file.write(text)
    else:
        output.print_text(text)
    return 0


def _parse_version(text: str) -> Version:
    try:
        return torch_versions.parse_target_version(text)
    except ValueError as error:
        raise options.Failure(str(error)) from None


def _find_removed_module(name: str) -> api_ledger.LedgerEntry | None:
    """Return the removed module that contained a name, whose members have no entries of their own."""
    while name := name.rpartition(".")[0]:
        entry = api_ledger.find_entry(name)
        if entry is not None:
            return entry if entry.kind == "module" and torch_versions.NEWEST not in entry.present else None
    return None


def _find_history(name: str) -> ledger_text.NameHistory:
    written = api_changes.find_changes(name)
    if (entry := api_ledger.find_any_entry(name)) or written:
        return ledger_text.NameHistory(name, entry, written)
    if module := _find_removed_module(name):
        return ledger_text.NameHistory(name, module, api_changes.find_changes(module.name))
    if early := early_names.find_early_name(name):
        return ledger_text.NameHistory(name, None, (), early)
    near = ledger_text.suggest_names(name)
    meant = f"; did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else ""
    if "." not in name:
        raise options.Failure(f"{name} is not a qualified name such as torch.qr{meant}")
    kept = ": private names that never changed are not in it" if "._" in name else ""
    raise options.Failure(f"the ledger has no name {name}{kept}{meant}")
