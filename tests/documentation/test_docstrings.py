"""A rule's docstring has its parts: a summary, why, what changes, when the fix is not safe, and where that is written."""

from __future__ import annotations

import re

import pytest

from tests.documentation.declared import ROOT, own_rules
from torchmigrate.model.rule import Rule
from torchmigrate.model.vocabulary import Safety

URL = re.compile(r"https://[\w.-]+/\S*")
IN_A_WHEEL = re.compile(r"(?=.*\bwheels?\b)(?=.*\btorch\w*/[\w/]+)", re.DOTALL)
ADVICE = ("Needs", "Brings", "When not")
"""What a piece of advice has to say besides."""
HERE = re.compile(r"`(torchmigrate/[\w./]+)`")


def part(rule: Rule, name: str) -> str:
    """What stands behind ``name:``, up to the next paragraph."""
    found = re.search(rf"^{name}: ?(.+?)(?:\n\n|\Z)", rule.doc.strip(), re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def missing(rule: Rule) -> list[str]:
    """The parts that a docstring lacks."""
    lines = rule.doc.strip().split("\n")
    source = part(rule, "Source")
    shown = "\n    →\n" in rule.doc or part(rule, "What to do")
    has = {
        "a summary of one line": lines[0].endswith((".", "…")) and lines[1:2] == [""],
        "Why": part(rule, "Why"),
        "before and after, or What to do": shown,
        "Fix safety": rule.safety is Safety.MANUAL or part(rule, "Fix safety"),
        "Source": URL.search(source) or IN_A_WHEEL.match(source) or HERE.search(source),
        **{name: not rule.code.startswith("AD") or part(rule, name) for name in ADVICE},
    }
    return [name for name, there in has.items() if not there]


@pytest.mark.parametrize("rule", own_rules().values(), ids=lambda rule: rule.code)
def test_nothing_is_missing(rule: Rule) -> None:
    assert missing(rule) == []


@pytest.mark.parametrize("rule", own_rules().values(), ids=lambda rule: rule.code)
def test_files_that_are_named_are_there(rule: Rule) -> None:
    assert [path for path in HERE.findall(rule.doc) if not (ROOT / path).exists()] == []


WHOLE = """\
An old thing.

Why: it is old.

    old()
    →
    new()

Fix safety: safe.

Source: torch 2.12 wheel: torch/old.py.
"""


@pytest.mark.parametrize(
    ("part_of_it", "name"),
    [
        ("thing.\n", "a summary of one line"),
        ("Why: it is old.\n\n", "Why"),
        ("    →\n", "before and after, or What to do"),
        ("Fix safety: safe.\n\n", "Fix safety"),
        (" wheel: torch/old.py", "Source"),
    ],
)
def test_a_part_that_is_left_out_is_missed(part_of_it: str, name: str) -> None:
    assert missing(Rule("TS199", safety=Safety.SAFE, doc=WHOLE)) == []
    assert name in missing(Rule("TS199", safety=Safety.SAFE, doc=WHOLE.replace(part_of_it, "", 1)))


@pytest.mark.parametrize("name", ADVICE)
def test_advice_says_what_it_needs_and_brings_and_when_not(name: str) -> None:
    whole = WHOLE + "\nNeeds: torch 2.12.\n\nBrings: speed.\n\nWhen not: on a CPU.\n"
    assert missing(Rule("AD999", safety=Safety.SAFE, doc=whole)) == []
    assert missing(Rule("AD999", safety=Safety.SAFE, doc=whole.replace(f"{name}: ", ""))) == [name]
