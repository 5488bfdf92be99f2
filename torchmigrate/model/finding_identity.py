"""The identity of a finding, which stays the same when the lines around it move."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import NamedTuple

from torchmigrate.model.findings import Finding

_COMMENT = re.compile(r"\s+#.*")
_LONGEST = 160
"""The most characters of a text that are kept; a longer one, such as a generated line, is identified by its digest."""


class FindingIdentity(NamedTuple):
    """A rule and the code that it reports. Findings of one file that share an identity are distinguished by their order."""

    code: str
    text: str
    """The source lines without blanks at their edges and comments at their ends; the message, where there are none."""


def identify_finding(finding: Finding) -> FindingIdentity:
    """Return the identity of a finding: the same for the same code on another line, with other indentation or comments."""
    lines = (_COMMENT.sub("", line.strip()) for line in finding.source_lines)
    text = " ".join(" ".join(lines).split()) or finding.message
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}… {_hash_parts(text)[:16]}"
    return FindingIdentity(finding.code, text)


class Fingerprints:
    """Makes a fingerprint for each finding of a run from its identity and its number among equals."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def fingerprint_finding(self, finding: Finding, path: str) -> str:
        """Return the fingerprint of a finding in the file ``path``, for other services: 32 hexadecimal digits."""
        key = _hash_parts("\0".join((path, *identify_finding(finding))))
        self._seen[key] += 1
        return _hash_parts(f"{key}\0{self._seen[key]}")[:32]


def _hash_parts(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
