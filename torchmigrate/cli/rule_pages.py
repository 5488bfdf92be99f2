"""Rules as text: the table and JSON of `torchmigrate rules`, and the pages of `torchmigrate explain`."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from torchmigrate.console.terminal import wants_color
from torchmigrate.model import torch_versions

if TYPE_CHECKING:
    from torchmigrate.model.rule import Rule
    from torchmigrate.model.torch_versions import Version

COLUMNS = {
    "Code": "code",
    "Name": "name",
    "Family": "family",
    "Deprecated": "deprecated",
    "Breaks": "breaks",
    "Fix": "safety",
}
LEAST_SUMMARY = 50
"""The number of columns that are left for the summary."""


def render_json(rules: Mapping[str, Rule]) -> str:
    """Return a JSON list of all rules, by code."""
    return json.dumps([_render_rule(rule) for rule in _sort_rules(rules)], indent=2) + "\n"


def render_table(rules: Mapping[str, Rule]) -> str:
    """Return a table of all rules, as wide as its content, or with the columns that fit into the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    color = wants_color("auto", sys.stdout)
    listed = [_render_rule(rule) for rule in _sort_rules(rules)]
    columns = _choose_columns(listed, width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in columns:
        table.add_column(header, no_wrap=True)
    table.add_column("Summary", overflow="fold")
    for facts in listed:
        summary = facts["summary"] if facts["default"] else f"{facts['summary']} (off by default)"
        table.add_row(*(Text(facts[key] or "") for key in columns.values()), Text(summary))
    text = io.StringIO()
    console = Console(
        file=text, width=width, force_terminal=color, color_system="standard" if color else None
    )
    console.print(table)
    return "".join(line.rstrip() + "\n" for line in text.getvalue().splitlines())


def _choose_columns(listed: Sequence[Mapping[str, Any]], width: int) -> dict[str, str]:
    """Return the columns beside the summary that fit into ``width``: header → fact."""
    left = width - LEAST_SUMMARY
    shown: dict[str, str] = {}
    # The most important first.
    for header in ("Code", "Fix", "Name", "Family", "Deprecated", "Breaks"):
        key = COLUMNS[header]
        left -= 2 + max(len(header), *(len(facts[key] or "") for facts in listed))
        if left < 0 and shown:
            break
        shown[header] = key
    return {header: key for header, key in COLUMNS.items() if header in shown}


def find_rules(names: Sequence[str], rules: Mapping[str, Rule]) -> list[Rule]:
    """Return the rules that ``names`` (codes, prefixes of codes, names of rules or families) mean, in the order of the names.

    Raises `torchmigrate.cli.options.Failure` for a name that matches no rule.
    """
    from torchmigrate.cli.options import Failure
    from torchmigrate.settings.config import suggest_name

    found: dict[str, Rule] = {}
    for name in names:
        lower = name.lower()
        mine = [rule for rule in _sort_rules(rules) if lower in (rule.code.lower(), rule.name.lower())]
        mine = mine or [rule for rule in _sort_rules(rules) if lower == rule.family.lower()]
        if not mine and re.fullmatch(r"[a-z]{2}[0-9]{0,2}", lower):
            mine = [rule for rule in _sort_rules(rules) if rule.code.lower().startswith(lower)]
        if not mine:
            raise Failure(f"there is no rule {name}{suggest_name(*_list_candidates(name, rules))}")
        found |= {rule.code: rule for rule in mine}
    return list(found.values())


def _list_candidates(name: str, rules: Mapping[str, Rule]) -> tuple[str, list[str]]:
    """Return what to compare a misspelled name with: codes if it has a digit, else names and families."""
    if any(sign.isdigit() for sign in name):
        return name.upper(), list(rules)
    return name.lower(), sorted({text for rule in rules.values() for text in (rule.name, rule.family)})


def render_documents(rules: Sequence[Rule]) -> str:
    """Return a JSON list of rules with their documentation and its source."""
    from torchmigrate.reporters.report import extract_source

    listed = [
        {**_render_rule(rule), "source": extract_source(rule) or None, "documentation": rule.doc.strip()}
        for rule in rules
    ]
    return json.dumps(listed, indent=2) + "\n"


def render_pages(rules: Sequence[Rule], *, color: bool, width: int) -> str:
    """Return the documentation of each of ``rules``.

    With ``color`` it is rendered from Markdown with styles, with a ``width`` only in lines of so many columns; otherwise it is
    the Markdown itself.
    """
    if not color and not width:
        return "\n".join(render_page(rule) for rule in rules)
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.text import Text

    text = io.StringIO()
    system: Literal["standard"] | None = "standard" if color else None
    console = Console(file=text, width=min(width or 100, 100), force_terminal=color, color_system=system)
    for number, rule in enumerate(rules):
        heading, _, body = render_page(rule).partition("\n")
        console.print(Text(("\n" if number else "") + heading.removeprefix("# "), style="bold underline"))
        # Outside of code, our documentation has underscores in file names only.
        parts = re.split(r"(`[^`]+`|^    .*$)", body, flags=re.MULTILINE)
        console.print(
            Markdown(
                "".join(part if index % 2 else part.replace("_", r"\_") for index, part in enumerate(parts)),
                hyperlinks=color,
            )
        )
    return "".join(line.rstrip() + "\n" for line in text.getvalue().splitlines())


def render_page(rule: Rule) -> str:
    """Return the documentation of one rule as Markdown."""
    return f"# {rule.code} {rule.name}\n\n{rule.doc.strip()}\n\n{_describe_declaration(rule)}\n"


def _describe_declaration(rule: Rule) -> str:
    facts = _render_rule(rule)
    lines = [
        ("Family", rule.family),
        ("Replacement since", facts["since"]),
        ("Deprecated in", facts["deprecated"]),
        ("Breaks in", facts["breaks"]),
        ("Fix", facts["safety"]),
        (
            "Runs",
            "by default" if rule.default else f"only when selected{' by its code' if rule.by_code else ''}",
        ),
        ("Watches", ", ".join(f"`{symbol}`" for symbol in rule.symbols)),
        ("Watches in other languages", ", ".join(f"`{name}`" for name in rule.foreign if name[0] != "$")),
        ("Looks in project files for", ", ".join(sort.value for sort in rule.references)),
    ]
    return "\n".join(f"- {label}: {value}" for label, value in lines if value)


def _render_rule(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "family": rule.family,
        "summary": rule.summary,
        "since": _render_version(rule.since),
        "deprecated": _render_version(rule.deprecated),
        "breaks": _render_version(rule.breaks),
        "safety": rule.safety.value if rule.safety else None,
        "default": rule.default,
        "symbols": list(rule.symbols),
    }


def _sort_rules(rules: Mapping[str, Rule]) -> list[Rule]:
    return [rules[code] for code in sorted(rules)]


def _render_version(version: Version | None) -> str | None:
    return None if version is None else torch_versions.render_version(version)
