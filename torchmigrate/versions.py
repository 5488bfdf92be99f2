"""Torch's minor versions, and how severity follows from them.

Versions are ``(major, minor)`` pairs: patch releases of torch neither deprecate nor remove.
"""

from __future__ import annotations

Version = tuple[int, int]

OLDEST: Version = (2, 0)
NEWEST: Version = (2, 15)
