"""Links within the documentation lead somewhere: to a file that is there, and to a heading that it has."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.documentation.declared import ROOT
from tests.documentation.sessions import BLOCK, name_of, pages

_LINK = re.compile(r"(?<!\\)\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CODE = re.compile(r"(`+).+?\1")


def anchors(text: str) -> set[str]:
    """What a page's headings are called in links to them."""
    words = (re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in _HEADING.findall(_prose(text)))
    return {re.sub(r"\s", "-", word) for word in words}


def dead(page: Path) -> list[str]:
    """The links of a page to files and headings that are not there."""
    found = []
    for link in _LINK.findall(_CODE.sub("", _prose(page.read_text("utf-8")))):
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        if re.match(r"https?://", link):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            found.append(link)
    return found


def _prose(text: str) -> str:
    return BLOCK.sub("", text)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert dead(page) == []


def test_links_of_the_rules_lead_somewhere() -> None:
    found = {name_of(page): dead(page) for page in (ROOT / "docs" / "rules").glob("*.md")}
    assert {name: links for name, links in found.items() if links} == {}


@pytest.mark.parametrize("link", ["gone.md", "#gone", "there.md#gone"])
def test_a_dead_link_is_noticed(link: str, tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# Here, and `there`\n")
    page = tmp_path / "page.md"
    page.write_text(
        f"# A page\n[a](there.md) [b](#a-page) [c](there.md#here-and-there) [d]({link}) `[e](gone)`\n"
    )
    assert dead(page) == [link]


def test_the_navigation_leads_to_every_page() -> None:
    listed = set(
        re.findall(r"^ +- .*: (\S+\.md)$", (ROOT / "docs/site/mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    )
    made = {"index.md", "changelog.md"}
    assert listed - made == {page.name for page in (ROOT / "docs").glob("*.md")}
