"""No finding in a real package waits for one that waits for it."""

from __future__ import annotations

import pytest

from tests.support import Checked
from tests.waits import find_circle
from torchmigrate.settings.settings import Settings

from .packages import SUFFIXES, Package, fetch, pinned

pytestmark = pytest.mark.ecosystem


@pytest.mark.parametrize("package", pinned().values(), ids=lambda package: package.name)
def test_no_finding_waits_for_one_that_waits_for_it(package: Package) -> None:
    fetch([package])
    files = [path for path in sorted(package.folder.rglob("*")) if path.suffix in SUFFIXES]
    assert find_circle(Checked.of(files, Settings(), (2, 12)).findings) == []
