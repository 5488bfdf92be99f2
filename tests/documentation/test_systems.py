"""The page of systems: what it names is there, and its examples show it."""

from __future__ import annotations

import pytest

from tests.documentation.declared import own_rules
from tests.documentation.pages import RESERVED
from tests.documentation.systems import SYSTEMS, System
from tests.support import check_text
from torchmigrate.cli.commands import cli


def commands() -> set[str]:
    """The names of the commands."""
    return set(cli.list_commands(cli.make_context("torchmigrate", [], resilient_parsing=True)))


def is_known(served_by: str) -> bool:
    """Whether a code, the beginning of codes, or a command is there, or its family is set aside for later."""
    if not served_by[0].isupper():
        return served_by in commands()
    return served_by in RESERVED or any(code.startswith(served_by) for code in own_rules())


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_all_that_is_named_is_there(system: System) -> None:
    assert [name for name in system.served_by if not is_known(name)] == []


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_an_example_shows_it(system: System) -> None:
    if system.is_command:
        assert system.example.split()[1] in commands() & set(system.served_by)
        return
    found = check_text(f"{system.example}\n", "--select", "ALL", path=system.file)
    if not system.served_by:
        assert not found
        return
    assert any(finding.code.startswith(system.served_by) for finding in found), [one.code for one in found]


OTHER_ADVICE = {"AD904", "AD905", "AD907", "AD915"}
"""Advice on what no blog presents: code that does by hand what a function of torch does, and older ways."""


def test_all_advice_serves_a_system() -> None:
    named = OTHER_ADVICE.union(*(system.served_by for system in SYSTEMS))
    assert [code for code in own_rules() if code.startswith("AD") and code not in named] == []


def test_no_line_of_the_blogs_is_there_twice() -> None:
    lines = [(system.name, system.blog) for system in SYSTEMS]
    assert len(set(lines)) == len(lines)
