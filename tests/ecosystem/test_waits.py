"""No finding in a large package waits for one that waits for it; `test_ecosystem` looks at the others.

Only what is said of TorchScript waits, in these packages and all fixtures, for anything but an import of its own file.
"""

from __future__ import annotations

import pytest

from tests.support import Checked
from tests.waits import find_circle, list_waits
from torchmigrate.settings.settings import Settings

from .packages import SUFFIXES, Package, fetch, pinned, recorded

pytestmark = pytest.mark.ecosystem

MOST_FILES = 1500
"""Files of a package that is looked at with ``--large`` only."""
LARGE = [package for package in pinned().values() if package.is_large]


@pytest.mark.parametrize("package", LARGE, ids=lambda package: package.name)
def test_no_finding_waits_for_one_that_waits_for_it(package: Package, request: pytest.FixtureRequest) -> None:
    if recorded()[package.name]["files"] > MOST_FILES and not request.config.getoption("--large"):
        pytest.skip("the largest packages are looked at with --large")
    fetch([package])
    files = [path for path in sorted(package.folder.rglob("*")) if path.suffix in SUFFIXES]
    assert find_circle(list_waits(Checked.of(files, Settings(select=("TS",)), (2, 12)).findings)) == []
