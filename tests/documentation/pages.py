"""What of the documentation is written from the code: parts of pages, and whole pages."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from tests.documentation import builds
from tests.documentation.declared import ROOT, own_rules, severities
from tests.documentation.examples import EXAMPLES
from tests.documentation.rewrites import REWRITES, Rewrite
from tests.documentation.systems import BLOGS, SYSTEMS
from torchmigrate import api
from torchmigrate.api import Context
from torchmigrate.cli.rule_pages import render_page
from torchmigrate.model.findings import FixChange
from torchmigrate.model.rule import Rule
from torchmigrate.rewrite import changes
from torchmigrate.settings import config

DOCS = ROOT / "docs"
RULES = DOCS / "rules"
"""A page for each rule."""
_LIST = re.compile(r"^(?!- )(\S.*)\n(?= {0,3}- )", re.MULTILINE)
"""The line before a list: many renderers want an empty one between them."""
OTHERS = "Z"
"""How the codes of rules begin that other packages bring; no rule here does."""
RESERVED: dict[str, str] = {}
"""Codes that are set aside for families to come."""


class Part(NamedTuple):
    """A part of a page, between ``<!-- name -->`` and ``<!-- /name -->``."""

    path: Path
    name: str
    made: Callable[[], str]

    @property
    def _marked(self) -> re.Pattern[str]:
        return re.compile(rf"(?<=<!-- {self.name} -->\n).*?(?=<!-- /{self.name} -->)", re.DOTALL)

    @property
    def present(self) -> str:
        """What the page has now. Raises ValueError without the marks."""
        found = self._marked.search(self.path.read_text("utf-8"))
        if found is None:
            raise ValueError(f"{self.path} has no <!-- {self.name} -->")
        return found[0]

    def write(self) -> None:
        """Puts what is made of the code in the place of what is there."""
        made = self.made()
        text = self._marked.sub(lambda _: made, self.path.read_text("utf-8"))
        self.path.write_text(text, "utf-8")


def parts() -> list[Part]:
    """Every part that is written from the code."""
    readme, contributing = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
    return [
        Part(readme, "rewrites", rewrites_table),
        Part(readme, "families", families_table),
        Part(contributing, "codes", codes_table),
        Part(contributing, "api", api_table),
        Part(contributing, "context", context_table),
        Part(contributing, "changes", changes_table),
        Part(DOCS / "rules.md", "rules", rules_index),
        Part(DOCS / "settings.md", "settings", config.render_table),
        Part(DOCS / "plugins.md", "example", plugin_example),
        Part(DOCS / "systems.md", "systems", systems_table),
        Part(DOCS / "builds.md", "builds", builds_table),
    ]


def builds_table() -> str:
    """The builds of torch that the tables have."""
    return _table(("torch", "Python", "Build", "Platforms", "GPUs", "Driver"), builds.list_rows())


def families() -> dict[str, list[Rule]]:
    """The rules of each family, in the order of the first code's number."""
    found: dict[str, list[Rule]] = defaultdict(list)
    for rule in own_rules().values():
        found[rule.family].append(rule)
    return dict(sorted(found.items(), key=lambda item: (not int(item[1][0].code[2]), item[1][0].code[2:])))


def prefixes(family: list[Rule]) -> list[str]:
    """How the codes of a family begin: two letters and the hundreds."""
    return sorted({rule.code[:3] for rule in family})


def families_table() -> str:
    """The families: what their codes begin with, and the first paragraph of their package's docstring."""
    rows = []
    for name, family in families().items():
        link = f"[`{name}`](docs/rules.md#{name})"
        rows.append((_codes(prefixes(family)), link, _said_of(name)))
    return _table(("Codes", "Family", "What"), rows)


def _said_of(family: str) -> str:
    doc = inspect.getdoc(import_module(f"torchmigrate.rules.{family.replace('-', '_')}")) or ""
    return " ".join(doc.split("\n\n")[0].split()).removesuffix(".")


def codes_table() -> str:
    """Which codes are free: of each family, what is left of the tens that it has begun, and whole tens."""
    rows = []
    for name, family in families().items():
        for prefix in prefixes(family):
            taken = {rule.code for rule in family}
            tens = {ten: [f"{prefix}{ten}{one}" for one in range(10)] for ten in range(10)}
            begun = [ten for ten in tens if taken.intersection(tens[ten])]
            left = [
                code for ten in begun for code in tens[ten] if code not in taken and not code.endswith("0")
            ]
            unused = [f"{prefix}{ten}" for ten in tens if ten not in begun]
            rows.append((f"`{name}`", _ranges(left), _ranges(unused)))
    rows += [(f"({what})", "", f"`{prefix}`") for prefix, what in RESERVED.items()]
    return _table(("Family", "Free beside related rules", "Free tens"), rows)


def api_table() -> str:
    """What `torchmigrate.api` has."""
    return _table(
        ("`torchmigrate.api`", ""), [(f"`{name}`", _first(getattr(api, name))) for name in api.__all__]
    )


def context_table() -> str:
    """What a rule may ask of its context: methods with their parameters, and properties."""
    rows = []
    for name, member in vars(Context).items():
        if name.startswith("_") or not (
            inspect.isfunction(member) or isinstance(member, (property, cached_property))
        ):
            continue
        shown = f"ctx.{name}"
        if inspect.isfunction(member):
            shown += f"({', '.join(list(inspect.signature(member).parameters)[1:])})"
        rows.append((f"`{shown}`", _first(member)))
    return _table(("`Context`", ""), rows)


def changes_table() -> str:
    """The vocabulary of `torchmigrate.rewrite.changes`, each with an example that was run."""
    rows = []
    for name in vocabulary():
        example = EXAMPLES[name]
        done = f"{_inline(example.before)} → {_inline(example.after)}"
        rows.append((f"`{name}`", _first(getattr(changes, name)), f"{done}: `{example.code}`"))
    return _table(("Change", "", "Example"), rows)


def vocabulary() -> list[str]:
    """The changes that a fix can say, as they are defined."""
    return [
        name
        for name, value in vars(changes).items()
        if inspect.isclass(value) and issubclass(value, FixChange) and value is not FixChange
    ]


def rules_index() -> str:
    """Every rule below its family, with a link to its page."""
    return "\n".join(_section(name, family) for name, family in families().items())


def _section(name: str, family: list[Rule]) -> str:
    rows = [
        (f"[{rule.code}](rules/{rule.code}.md)", rule.name, _summary(rule), rule.safety.value)
        for rule in family
    ]
    return f"## {name}\n\n{_said_of(name)}.\n\n{_table(('Code', 'Name', 'What it finds', 'Fix'), rows)}"


def _summary(rule: Rule) -> str:
    off = "Off unless selected by its code." if rule.by_code else "Off unless selected."
    return rule.summary if rule.default else f"{rule.summary} {off}"


def page_of(rule: Rule) -> str:
    """What `torchmigrate explain` says of a rule, and how severe its findings are."""
    explained = _LIST.sub(r"\1\n\n", render_page(rule).rstrip())
    return f"{explained}\n- Severity: {severities(rule)}\n\n[All rules](../rules.md)\n"


def rewrites_table() -> str:
    """What fixing makes of some examples, and how far that can be trusted."""
    return _table(("Before", "After", "Safe?"), [_rewritten(rewrite) for rewrite in REWRITES])


def _rewritten(rewrite: Rewrite) -> tuple[str, ...]:
    before, after = ("<br>".join(f"`{line}`" for line in lines) for lines in rewrite.lines)
    safe = "yes" if rewrite.safe else f"no: {rewrite.unsafe}"
    return before, after, f"{safe} ({', '.join(f'[{code}](docs/rules/{code}.md)' for code in rewrite.codes)})"


def plugin_example() -> str:
    """The rule of the package that shows how others bring rules."""
    file = ROOT / "tests" / "data" / "plugin" / "acme_torch_rules" / "acme" / "global_seed.py"
    return f"```python\n{file.read_text('utf-8')}```\n"


def systems_table() -> str:
    """The systems of the release blogs, with what serves their users."""
    rows = []
    for system in SYSTEMS:
        blog = f"[{system.blog}]({BLOGS[system.blog]})"
        example = _inline(system.example)
        if not system.is_command and system.file != "example.py":
            example = f"`{system.file}`: {example}"
        rows.append(
            (system.name, blog, system.fact, ", ".join(map(_linked, system.served_by)) or "no rule", example)
        )
    return _table(("System", "Blog", "What", "Served by", "Example"), rows)


def _linked(served_by: str) -> str:
    """A code with a link to its page; a family and a command as they are."""
    rule = own_rules().get(served_by)
    if rule is None:
        return f"`{served_by}`" if served_by[0].isupper() else f"`torchmigrate {served_by}`"
    return f"[`{rule.code}`](rules/{rule.code}.md)"


def _doc(member: object) -> str:
    return inspect.getdoc(getattr(member, "func", member)) or ""


def _first(member: object) -> str:
    """The first sentence or paragraph of a docstring, on one line."""
    paragraph = " ".join(_doc(member).split("\n\n")[0].split())
    return re.split(r"(?<=[.])\s(?=[A-Z])", paragraph)[0]


def _inline(code: str) -> str:
    r"""Code in a cell of a table; ``\n`` shows where a line ends."""
    return f"`{code.rstrip().replace(chr(10), '⏎')}`"


def _codes(values: list[str]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def _ranges(codes: list[str]) -> str:
    """``TS108 to TS110`` for neighbours."""

    def groups() -> Iterator[list[str]]:
        group: list[str] = []
        for code in codes:
            if group and int(code[2:]) != int(group[-1][2:]) + 1:
                yield group
                group = []
            group.append(code)
        if group:
            yield group

    return ", ".join(f"`{g[0]}`" if len(g) == 1 else f"`{g[0]}` to `{g[-1]}`" for g in groups())


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)
