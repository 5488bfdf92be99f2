"""The public interface for the authors of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchmigrate.model.findings import Finding, Fix, NeedsTorch, NoFix, NotYet, Place
from torchmigrate.model.rule import Calls, Rule
from torchmigrate.model.vocabulary import Kind, Safety, Severity, Sort

if TYPE_CHECKING:
    from torchmigrate.engine.rule_context import Context
    from torchmigrate.semantics.use import Use

__all__ = [
    "Calls",
    "Context",
    "Finding",
    "Fix",
    "Kind",
    "NeedsTorch",
    "NoFix",
    "NotYet",
    "Place",
    "Rule",
    "Safety",
    "Severity",
    "Sort",
    "Use",
]


def __getattr__(name: str) -> Any:
    """Import `Context` or `Use` when it is first used: rules need them only in annotations, and importing them takes time."""
    if name == "Context":
        from torchmigrate.engine.rule_context import Context

        return Context
    if name == "Use":
        from torchmigrate.semantics.use import Use

        return Use
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
