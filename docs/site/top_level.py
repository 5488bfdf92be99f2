"""The pages at the top of the repository, as pages of the site: the README is its first page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
_NAMES = "|".join(map(re.escape, PAGES))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages, whose links into docs/ are links to pages beside them."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text("utf-8")
        content = re.sub(rf"\]\(({_NAMES})", lambda found: f"]({PAGES[found[1]]}", text)
        files.append(File.generated(config, page, content=content.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads links from a page in docs/ to one at the top to where that is in the site."""
    return re.sub(rf"\]\(\.\./({_NAMES})", lambda found: f"]({PAGES[found[1]]}", markdown)
