"""The private names of dependencies that are overridden or used are still there, and still mean the same."""

from __future__ import annotations

import inspect

import pytest
from hypothesis.internal.conjecture import providers


def test_the_protocol_of_pygls() -> None:
    LanguageServerProtocol = pytest.importorskip("pygls.protocol").LanguageServerProtocol  # noqa: N806
    source = inspect.getsource(LanguageServerProtocol.__mro__[1]) + inspect.getsource(LanguageServerProtocol)
    assert "self._register_builtin_features()" in source
    for name in ("structure_message", "handle_message", "_send_response", "_shutdown", "_workspace"):
        assert name in source, "`torchmigrate.server.protocol` overrides or asks it"


def test_the_constants_that_hypothesis_collects() -> None:
    assert hasattr(providers, "_local_constants")
    assert "_get_local_constants()" in inspect.getsource(providers), "`tests/conftest.py` replaces it"
