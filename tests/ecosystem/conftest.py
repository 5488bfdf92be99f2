"""Registers the mark of the tests that download packages: `pytest -m "not ecosystem"` leaves them out."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Makes the mark known."""
    config.addinivalue_line("markers", "ecosystem: runs on real packages, which are downloaded once")
