"""Public addresses: the project's home, and the documentation page of a rule."""

from __future__ import annotations

from torchmigrate.model.rule import Rule

HOME = "https://github.com/torchmigrate/torchmigrate"

_FOREIGN_PREFIX = "Z"
"""The first letter of the codes of other packages' rules, whose documentation is elsewhere."""


def rule_url(rule: Rule | None) -> str:
    """Return the address of a rule's page, or "" for an unknown rule or one of another package."""
    if rule is None or rule.code.startswith(_FOREIGN_PREFIX):
        return ""
    return f"{HOME}/blob/main/docs/rules/{rule.code}.md"
