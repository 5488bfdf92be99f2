"""The rules of this repository, and how severe their findings are at which target."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

from torchmigrate.api import Severity
from torchmigrate.engine.registry import load_rules
from torchmigrate.model.rule import Rule
from torchmigrate.model.torch_versions import (
    NEWEST,
    OLDEST,
    Version,
    parse_version,
    render_version,
    severity_at,
)

ROOT = Path(__file__).parents[2]


@cache
def own_rules() -> Mapping[str, Rule]:
    """The rules in this repository, by code: other packages may offer more where the tests run."""
    return {code: rule for code, rule in load_rules().items() if file_of(rule).exists()}


def file_of(rule: Rule) -> Path:
    """Where a rule of this repository lies."""
    return ROOT / "rules" / rule.family.replace("-", "_") / f"{rule.name.replace('-', '_')}.py"


def severities(rule: Rule) -> str:
    """How bad findings of a rule are: by its versions, and otherwise as its fixtures have them."""
    if rule.deprecated is None and rule.breaks is None:
        return " or ".join(sorted(recorded().get(rule.code, {"info"}), key=_rank))

    def at(version: Version) -> Severity:
        return severity_at(version, rule.deprecated, rule.breaks)

    versions = [(OLDEST[0], minor) for minor in range(OLDEST[1], NEWEST[1] + 1)]
    said, first = at(OLDEST).value, _first_said(rule)
    if first is not None:
        versions = [version for version in versions if version >= first]
        said = f"{at(first).value} from torch {render_version(first)}"
    for older, newer in pairwise(versions):
        if at(older) is not at(newer):
            said += f", {at(newer).value} from torch {render_version(newer)}"
    others = recorded().get(rule.code, set()) - {at(version).value for version in versions}
    return said + (f"; {' or '.join(sorted(others, key=_rank))} for some findings" if others else "")


def _first_said(rule: Rule) -> Version | None:
    """Before which target a rule has nothing to say, if all of its findings in the fixtures have one."""
    folder = ROOT / "fixtures" / file_of(rule).relative_to(ROOT / "rules").with_suffix("")
    texts = [file.read_text("utf-8") for file in folder.glob("*.findings")]
    lines = [line for text in texts for line in text.splitlines() if f" {rule.code} " in line]
    silent = [re.search(r"silent before (\d+\.\d+)\)", line) for line in lines]
    return parse_version(min(found[1] for found in silent if found)) if lines and all(silent) else None


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
