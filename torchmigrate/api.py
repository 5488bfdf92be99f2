"""The public interface for the authors of rules."""

from __future__ import annotations

from torchmigrate.engine.rule_context import Context
from torchmigrate.model.findings import Finding, Fix, NeedsTorch, NoFix, NotYet, Place
from torchmigrate.model.rule import Calls, Rule
from torchmigrate.model.vocabulary import Kind, Safety, Severity, Sort
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
