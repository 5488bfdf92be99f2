"""Options of the test run."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="take the present results for the expected ones")


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> bool:
    """Whether to rewrite the expected results."""
    return bool(request.config.getoption("--accept"))
