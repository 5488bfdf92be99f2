"""Every finding about TorchScript without a fix says what to do next."""

from __future__ import annotations

import pytest

from tests.rules.cases import Case, cases
from torchmigrate.model.findings import Finding


@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_finding_without_a_fix_has_a_next_step(case: Case) -> None:
    assert [finding for finding in case.checked.findings if not _has_next_step(finding)] == []


def _has_next_step(finding: Finding) -> bool:
    """Return whether a finding has a fix, waits for another one, or tells what to do in its hint or behind its reason."""
    if not finding.code.startswith("TS"):
        return True
    is_told = finding.hint is not None or "; " in (finding.withheld or "")
    return finding.fix is not None or finding.waits_for is not None or is_told
