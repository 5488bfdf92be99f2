"""What is written from the code is up to date; ``--accept`` writes it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.documentation.declared import own_rules
from tests.documentation.examples import EXAMPLES
from tests.documentation.pages import (
    OTHERS,
    RESERVED,
    RULES,
    Part,
    families,
    page_of,
    parts,
    prefixes,
    vocabulary,
)
from tests.documentation.rewrites import REWRITES, Rewrite
from torchmigrate.engine import registry
from torchmigrate.gates.triggers import PATH, Trigger, load, render


@pytest.mark.parametrize("part", parts(), ids=lambda part: f"{part.path.name}-{part.name}")
def test_a_part_is_what_the_code_says(part: Part, accept: bool) -> None:
    if accept:
        part.write()
    assert part.present == part.made(), "pytest tests/documentation --accept"


@pytest.mark.parametrize("code", own_rules())
def test_the_page_of_a_rule_is_what_the_code_says(code: str, accept: bool) -> None:
    page, made = RULES / f"{code}.md", page_of(own_rules()[code])
    if accept:
        page.parent.mkdir(exist_ok=True)
        page.write_text(made, "utf-8")
    assert page.read_text("utf-8") == made, "pytest tests/documentation --accept"


def test_the_triggers_are_what_the_rules_say(accept: bool) -> None:
    registry.source_files.cache_clear()
    own = [Trigger.from_rule(rule) for rule in own_rules().values()]
    made = render(own, registry.state())
    if accept:
        Path(PATH).write_text(made, "utf-8")
    assert Path(PATH).read_text("utf-8") == made, "pytest tests/documentation --accept"
    assert load(registry.state()) == own


def test_no_page_is_left_of_a_rule_that_is_gone() -> None:
    assert {page.stem for page in RULES.iterdir()} == set(own_rules())


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.text.splitlines()[-1].strip())
def test_a_rewrite_that_is_not_safe_says_why(rewrite: Rewrite) -> None:
    assert rewrite.lines.before
    assert rewrite.safe != bool(rewrite.unsafe)


def test_every_change_has_an_example() -> None:
    assert vocabulary() == list(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_of_its_change_and_does_something(name: str) -> None:
    example = EXAMPLES[name]
    assert f"{name}(".lower() in example.code.lower()
    assert example.after != example.before


def test_no_two_families_share_codes() -> None:
    begun = Counter(prefix for family in families().values() for prefix in prefixes(family))
    assert [prefix for prefix, count in begun.items() if count > 1 or prefix in RESERVED] == []


def test_codes_of_other_packages_are_left_to_them() -> None:
    assert [code for code in own_rules() if code.startswith(OTHERS)] == []
