"""Where a finding says that a setting gives its fix, it does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.rules.cases import Case, cases
from tests.support import Checked

_ADVICE = "with `--export-unread-files`, the fix exports it"


@pytest.mark.parametrize("case", [case for case in cases() if _ADVICE in case.recorded], ids=str)
def test_the_setting_gives_the_fix(case: Case) -> None:
    told = {(one.path, one.span) for one in case.checked.findings if _ADVICE in (one.withheld or "")}
    settings, minimum = case.options
    found = Checked.of(case.files, replace(settings, export_unread_files=True), minimum).findings
    left = [one for one in found if (one.path, one.span) in told and one.fix is None]
    assert told
    assert {one.location: one.withheld for one in left} == {}
