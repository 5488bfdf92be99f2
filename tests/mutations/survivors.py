"""Mutants that no fixture can tell from the rule, and why.

By module and a part of the line; a part, so that an entry stays right while lines move.
"""

from __future__ import annotations

EQUIVALENT: dict[tuple[str, str], str] = {}
