"""The names that methods of `Context` had before still work for rules of other packages, with a warning."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import check_text
from torchmigrate.engine.rule_context import _DEPRECATED, Context


def test_every_present_name_is_there() -> None:
    assert [new for new in _DEPRECATED.values() if not hasattr(Context, new)] == []


def test_a_deprecated_name_is_the_method_and_warns() -> None:
    context: Any = object.__new__(Context)
    with pytest.warns(DeprecationWarning, match=r"use `Context\.get_text`"):
        assert context.text == context.get_text
    with pytest.raises(AttributeError, match="nothing"):
        _ = context.nothing


def test_no_rule_of_this_package_uses_one(recwarn: pytest.WarningsRecorder) -> None:
    assert check_text("import torch\n\ntorch.qr(torch.ones(2, 2))\n", "--min-version", "2.12")
    assert [one for one in recwarn if "`Context." in str(one.message)] == []
