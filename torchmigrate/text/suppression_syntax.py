"""The syntax of comments that suppress findings; `torchmigrate.engine.suppressions` interprets them."""

from __future__ import annotations

import re

MARK = b"torchmigrate:"
"""The text that every suppression comment contains."""

DIRECTIVE = re.compile(r"(?:#|//|/\*|<!--)\s*torchmigrate:(?P<body>.*?)(?=\s+#|\s*(?:\*/|-->)?\s*$)")
BODY = re.compile(
    r"\s*ignore(?P<file>-file)?(?:\s+(?P<codes>[A-Z]{1,2}\d*(?:(?:\s*,\s*|\s+)[A-Z]{1,2}\d*)*))?"
    r"(?:\s+until\s+(?P<until>\d{1,4}\.\d{1,4}))?(?:\s+--(?:\s.*)?)?"
)


def strip_directives(comment: str) -> str:
    """Return ``comment`` without this tool's suppressions; empty if it contained nothing else."""
    return re.sub(r"\s*" + DIRECTIVE.pattern, "", comment).strip()
