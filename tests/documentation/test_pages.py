"""What pages name is there: the codes of rules, settings with their values, and versions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documentation.declared import own_rules
from tests.documentation.sessions import BLOCK, name_of, pages
from torchmigrate import __version__
from torchmigrate.model.torch_versions import NEWEST, OLDEST, render_version
from torchmigrate.settings import config
from torchmigrate.text.toml_reader import parse_toml

FOR_USERS = [page for page in pages() if page.name not in ("CONTRIBUTING.md", "CHANGELOG.md")]
OTHERS = {"ZA"}
"""How the codes of other packages begin, of which one is an example."""


@pytest.mark.parametrize("page", FOR_USERS, ids=name_of)
def test_codes_are_those_of_rules(page: Path) -> None:
    named = set(re.findall(r"\b([A-Z]{2}\d{3})\b", page.read_text("utf-8")))
    assert [code for code in sorted(named - own_rules().keys()) if code[:2] not in OTHERS] == []


@pytest.mark.parametrize("page", FOR_USERS, ids=name_of)
def test_settings_are_understood(page: Path) -> None:
    for block in BLOCK.finditer(page.read_text("utf-8")):
        if block["language"] == "toml":
            table = parse_toml(block["text"]).get("tool", {}).get("torchmigrate", {})
            config.parse_table(table, name_of(page))


@pytest.mark.parametrize("page", FOR_USERS, ids=name_of)
def test_versions_are_those_of_today(page: Path) -> None:
    text = page.read_text("utf-8")
    assert set(re.findall(r"(?:\brev: v|\btorchmigrate==)([\d.]+\d)", text)) <= {__version__}
    known = rf"\btorch {re.escape(render_version(OLDEST))} to (\d+\.\d+)"
    assert set(re.findall(known, BLOCK.sub("", text))) <= {render_version(NEWEST)}
