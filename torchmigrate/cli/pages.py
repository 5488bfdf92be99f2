"""The rules as text: the table and the JSON of `torchmigrate rules`, and the page of `torchmigrate explain`."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torchmigrate.console.terminal import wants_color
from torchmigrate.model import versions

if TYPE_CHECKING:
    from torchmigrate.model.rule import Rule
    from torchmigrate.model.versions import Version


def as_json(rules: Mapping[str, Rule]) -> str:
    """A JSON list of all rules, by code."""
    return json.dumps([_facts(rule) for rule in _sorted(rules)], indent=2) + "\n"


def as_table(rules: Mapping[str, Rule]) -> str:
    """A table of all rules, as wide as the terminal, or as its content where there is none."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("Code", "Name", "Family", "Deprecated", "Breaks", "Fix", "Summary"):
        table.add_column(header, no_wrap=header == "Code", overflow="fold")
    for rule in _sorted(rules):
        facts = _facts(rule)
        summary = facts["summary"] if rule.default else f"{facts['summary']} (off by default)"
        row = [facts[key] or "" for key in ("code", "name", "family", "deprecated", "breaks", "safety")]
        table.add_row(*(Text(cell) for cell in (*row, summary)))
    text = io.StringIO()
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    color = wants_color("auto", sys.stdout)
    console = Console(
        file=text, width=width, force_terminal=color, color_system="standard" if color else None
    )
    console.print(table)
    return "".join(line.rstrip() + "\n" for line in text.getvalue().splitlines())


def as_page(rule: Rule, *, color: bool) -> str:
    """The documentation of ``rule``, with what its declaration says; rendered from Markdown in ``color``."""
    page = f"# {rule.code} {rule.name}\n\n{rule.doc.strip()}\n\n{_declared(rule)}\n"
    if not color:
        return page
    from rich.console import Console
    from rich.markdown import Markdown

    text = io.StringIO()
    width = min(shutil.get_terminal_size().columns, 100)
    Console(file=text, width=width, force_terminal=True).print(Markdown(page))
    return text.getvalue()


def _declared(rule: Rule) -> str:
    facts = _facts(rule)
    lines = [
        ("Family", rule.family),
        ("Replacement since", facts["since"]),
        ("Deprecated in", facts["deprecated"]),
        ("Breaks in", facts["breaks"]),
        ("Fix", facts["safety"]),
        ("Runs", "by default" if rule.default else "only when selected"),
        ("Watches", ", ".join(f"`{symbol}`" for symbol in rule.symbols)),
        ("Watches in other languages", ", ".join(f"`{name}`" for name in rule.foreign if name[0] != "$")),
        ("Looks in project files for", ", ".join(sort.value for sort in rule.references)),
    ]
    return "\n".join(f"- {label}: {value}" for label, value in lines if value)


def _facts(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "family": rule.family,
        "summary": rule.summary,
        "since": _version(rule.since),
        "deprecated": _version(rule.deprecated),
        "breaks": _version(rule.breaks),
        "safety": rule.safety.value if rule.safety else None,
        "default": rule.default,
        "symbols": list(rule.symbols),
    }


def _sorted(rules: Mapping[str, Rule]) -> list[Rule]:
    return [rules[code] for code in sorted(rules)]


def _version(version: Version | None) -> str | None:
    return None if version is None else versions.render(version)
