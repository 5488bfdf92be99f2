"""Files that try things out, as tests and benchmarks do: what they do by hand, they do on purpose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchmigrate.api import Context

_NAMED = re.compile(r"^(?:(?:manual|run)_)?test_|^conftest|(?:^|[_-])bench|(?:_test|_tests)\.py$")
_CALLS = re.compile(
    rb"\b(?:import|from)[ \t]+(?:pytest|unittest|triton\.testing|torch\.testing|torch\.utils\.benchmark)\b|\bdo_bench"
    rb"|\bbenchmark_\w+\(|@pytest\."
)


def is_trial(ctx: Context) -> bool:
    """Whether the file is a test or a benchmark, by its name (its folder may be anyone's) and by what it imports."""
    name = ctx.source.path.replace("\\", "/").rpartition("/")[2]
    return bool(_NAMED.search(name) or _CALLS.search(ctx.source.text))
