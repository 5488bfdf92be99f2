"""What a rule is: its code, the symbols it watches, the versions it follows, and its check.

This module imports the standard library only, so that loading every rule stays cheap.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchmigrate.versions import Version

if TYPE_CHECKING:
    from torchmigrate.context import Context
    from torchmigrate.findings import Finding
    from torchmigrate.names import Use

Check = Callable[["Use", "Context"], "Iterator[Finding]"]


class Safety(enum.Enum):
    """How far a fix can be trusted.

    ``SAFE`` behaves the same wherever the code ran before; ``UNSAFE`` is right in the usual case, and the
    finding says when it is not; ``MANUAL`` has no rewrite, and the finding gives the recipe.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"
    MANUAL = "manual"


class Severity(enum.Enum):
    """What the target version does to the code: refuses it, deprecates it, or merely knows something better."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for info, 1 for warning, 2 for error."""
        return ("info", "warning", "error").index(self.value)
