"""The list of all messages is current, and none has a phrase that readers have stumbled over."""

from __future__ import annotations

import re

import pytest

from tests.documentation.declared import ROOT
from tests.documentation.messages import LISTED, collect_messages, find_sentences

FORBIDDEN = (
    r"\bnot known here\b",
    r"\bhand(?:s|ed)?\b[^.;]{0,40}\bover\b",
    r"\b(?:its|their) place\b",
    r"\bby (?:its|their) (?:name|place)\b",
    r"\bgo(?:es)? with\b",
    r"\bwhat is said\b",
    r"\bmay say (?:it|so)\b",
    r"\bwarns since\b",
    r"\bgone since\b",
    r"\bmends?\b",
    r"\bheeds?\b",
    r"\bwithh[eo]ld\b",
    r"\bcannot be told\b",
    r"\bstands? in line\b",
    r"\bin lines? \{\}",
    r"\bspelled out\b",
    r"\bcannot be followed\b",
    r"\bis deprecated since\b",
)
"""Phrases that a native speaker would not use, as regular expressions."""


def test_the_list_is_current(accept: bool) -> None:
    listed = collect_messages()
    if accept:
        LISTED.write_text(listed, "utf-8")
    assert LISTED.read_text("utf-8") == listed, "pytest tests/documentation --accept"


@pytest.mark.parametrize("phrase", FORBIDDEN)
def test_no_message_has_a_forbidden_phrase(phrase: str) -> None:
    lines = [re.sub(r"\{[^}]*\}", "{}", line) for line in LISTED.read_text("utf-8").splitlines()]
    assert [line for line in lines if line.startswith(" ") and re.search(phrase, line, re.IGNORECASE)] == []


@pytest.mark.parametrize("phrase", FORBIDDEN)
def test_no_page_has_a_forbidden_phrase(phrase: str) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = {
        page: re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.DOTALL) for page in pages
    }
    assert [page.name for page, text in texts.items() if re.search(phrase, text, re.IGNORECASE)] == []


def test_sentences_are_found_wherever_they_stand() -> None:
    source = '''
"""A module about nothing."""
import re
TABLE = {"key": "a sentence in a table"}
CODE = "x = f(1)"
PATTERN = re.compile("not a sentence")
def f(x):
    """Return a sentence."""
    return f"the value {x.y} is wrong" if x else ("two " "parts of one")
'''
    found = list(find_sentences(source))
    assert found == ["a sentence in a table", "the value {x.y} is wrong", "two parts of one"]
