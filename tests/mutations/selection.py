"""A plugin of pytest for trials: runs the tests that the file ``MUTANT_TESTS`` lists, in its order.

While it is recorded which tests reach a place, no test finds what an earlier one has left in a cache of the packages.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

FIXTURES = "tests/rules/test_fixtures.py"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the fixtures of the list, and all other tests but those after a ``!`` there; those of the list come first.

    A process that serves several tests knows only the first of them.
    """
    if (path := os.environ.get("MUTANT_TESTS")) is not None:
        order = {name: n for n, name in enumerate(Path(path).read_text("utf-8").splitlines())}
        kept = [
            item
            for item in items
            if item.nodeid in order or not (item.nodeid.startswith(FIXTURES) or f"!{item.nodeid}" in order)
        ]
        items[:] = sorted(kept, key=lambda item: order.get(item.nodeid, len(order)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note which tests fail with all mutants off."""
    if report.failed and "MUTANT_LOG" in os.environ:
        with open(os.environ["MUTANT_LOG"], "a", encoding="utf-8") as log:
            log.write(f"\tfailed\t{report.nodeid}\n")


def pytest_runtest_setup() -> None:
    """Empty the caches of all modules."""
    if "MUTANT_LOG" in os.environ:
        for name, module in list(sys.modules.items()):
            if name.startswith("torchmigrate."):
                for value in list(vars(module).values()):
                    if hasattr(value, "cache_clear"):
                        value.cache_clear()
