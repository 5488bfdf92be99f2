"""Mutants that no fixture can tell from the rule, and why.

By module and a part of the line, which may be empty; a part, so that an entry stays right while lines move. An entry that
fits no survivor any more is to go.
"""

from __future__ import annotations

_GRAMMARS = "a fixture has every grammar; `tests/test_foreign.py` takes them away"

KNOWN: dict[tuple[str, str], str] = {
    ("embedded_runtime/unread.py", ""): _GRAMMARS,
}

EQUIVALENT: tuple[tuple[str, str, str], ...] = (
    # No directive is called so, as none has an empty name.
    ("torchmigrate/foreign/preprocessor.py", 'directive else b""', "b'x'"),
    # Steps of other stages have one bound, whichever it is.
    ("torchmigrate/plan/build.py", "stage is Stage.BOUND and item.minimum else (0, 0)", "1"),
    # What comments would make of JSON is refused as well.
    ("torchmigrate/adoption/foreign_comments.py", 'self._style == "none"', "'nonex'"),
    # No setting is called so.
    ("torchmigrate/settings/config.py", 'if stated else ""', "'x'"),
    # Only the width of a terminal is used.
    ("torchmigrate/console/terminal.py", "get_terminal_size", "25"),
    # Only a path of Windows is absolute and begins without a slash.
    ("torchmigrate/reporters/sarif.py", 'startswith("/") else "/" + uri', "'/x'"),
    # A label in a digest, which has to differ from the others.
    ("torchmigrate/run/engines.py", 'b"whole"', "b'wholex'"),
)
"""Faults of packages that change nothing that a user could see: the module, a part of the line, the new expression."""
