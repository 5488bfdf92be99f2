"""The parts of the documentation that are written from the code."""

from __future__ import annotations

import inspect
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.documentation.examples import EXAMPLES
from torchmigrate import api
from torchmigrate.api import Context, Severity
from torchmigrate.cli.pages import as_page
from torchmigrate.engine.registry import rules
from torchmigrate.model.findings import Change
from torchmigrate.model.rule import Rule
from torchmigrate.model.versions import NEWEST, OLDEST, Version, parse, render, severity
from torchmigrate.rewrite import changes

ROOT = Path(__file__).parents[2]
OTHERS = "Z"
"""How the codes of rules begin that other packages bring; no rule here does."""
RESERVED = {"ER6": "embedded runtime", "AD9": "advice"}
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
    contributing = ROOT / "CONTRIBUTING.md"
    return [
        Part(ROOT / "README.md", "families", families_table),
        Part(contributing, "codes", codes_table),
        Part(contributing, "api", api_table),
        Part(contributing, "context", context_table),
        Part(contributing, "changes", changes_table),
        Part(ROOT / "docs" / "rules.md", "rules", rules_page),
        Part(ROOT / "docs" / "plugins.md", "example", plugin_example),
    ]


@cache
def own_rules() -> Mapping[str, Rule]:
    """The rules in this repository, by code: other packages may offer more where the tests run."""
    return {code: rule for code, rule in rules().items() if file_of(rule).exists()}


def file_of(rule: Rule) -> Path:
    """Where a rule of this repository lies."""
    return ROOT / "rules" / rule.family.replace("-", "_") / f"{rule.name.replace('-', '_')}.py"


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
        doc = inspect.getdoc(import_module(f"torchmigrate.rules.{name.replace('-', '_')}")) or ""
        said = " ".join(doc.split("\n\n")[0].split()).removesuffix(".")
        rows.append((_codes(prefixes(family)), f"`{name}`", said))
    return _table(("Codes", "Family", "What"), rows)


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
        if inspect.isclass(value) and issubclass(value, Change) and value is not Change
    ]


def rules_page() -> str:
    """Every rule in the order of codes: what `torchmigrate explain` says of it, and its severities."""
    return "\n".join(_section(rule) for rule in own_rules().values())


def plugin_example() -> str:
    """The rule of the package that shows how others bring rules."""
    file = ROOT / "tests" / "data" / "plugin" / "acme_torch_rules" / "acme" / "global_seed.py"
    return f"```python\n{file.read_text('utf-8')}```\n"


def _section(rule: Rule) -> str:
    heading, rest = as_page(rule).split("\n", 1)
    return f"#{heading}\n{rest.rstrip()}\n- Severity: {severities(rule)}\n"


def severities(rule: Rule) -> str:
    """How bad findings of a rule are: by its versions, and otherwise as its fixtures have them."""
    if rule.deprecated is None and rule.breaks is None:
        return " or ".join(sorted(recorded().get(rule.code, {"info"}), key=_rank))

    def at(version: Version) -> Severity:
        return severity(version, rule.deprecated, rule.breaks)

    versions = [(OLDEST[0], minor) for minor in range(OLDEST[1], NEWEST[1] + 1)]
    said, first = at(OLDEST).value, _first_said(rule)
    if first is not None:
        versions = [version for version in versions if version >= first]
        said = f"{at(first).value} from torch {render(first)}"
    for older, newer in pairwise(versions):
        if at(older) is not at(newer):
            said += f", {at(newer).value} from torch {render(newer)}"
    others = recorded().get(rule.code, set()) - {at(version).value for version in versions}
    return said + (f"; {' or '.join(sorted(others, key=_rank))} for some findings" if others else "")


def _first_said(rule: Rule) -> Version | None:
    """Before which target a rule has nothing to say, if all of its findings in the fixtures have one."""
    folder = ROOT / "fixtures" / file_of(rule).relative_to(ROOT / "rules").with_suffix("")
    texts = [file.read_text("utf-8") for file in folder.glob("*.findings")]
    lines = [line for text in texts for line in text.splitlines() if f" {rule.code} " in line]
    silent = [re.search(r"silent before (\d+\.\d+)\)", line) for line in lines]
    return parse(min(found[1] for found in silent if found)) if lines and all(silent) else None


@cache
def recorded() -> Mapping[str, set[str]]:
    """The severities that the fixtures have, by code."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in (ROOT / "fixtures").glob("*/*/*.findings"):
        for code, value in re.findall(
            r"^\S.*?\d ([A-Z]{2}\d{3}) (error|warning|info)\b", file.read_text("utf-8"), re.MULTILINE
        ):
            found[code].add(value)
    for file in (ROOT / "fixtures").rglob("*.expected.json"):
        for finding in json.loads(file.read_text("utf-8"))["findings"]:
            found[finding["code"]].add(finding["severity"])
    return found


def _rank(value: str) -> int:
    return -Severity(value).rank


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
