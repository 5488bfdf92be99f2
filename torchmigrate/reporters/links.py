"""Where a reader finds more: the project's home, and the page of a rule."""

from __future__ import annotations

from torchmigrate.model.rule import Rule

HOME = "https://github.com/torchmigrate/torchmigrate"

_OTHERS = "Z"
"""What the codes of rules of other packages begin with, whose pages are elsewhere."""


def page(rule: Rule | None) -> str:
    """The address of a rule's page; "" of a rule that is not known, or of another package."""
    if rule is None or rule.code.startswith(_OTHERS):
        return ""
    return f"{HOME}/blob/main/docs/rules/{rule.code}.md"
