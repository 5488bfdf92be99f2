"""Files of every kind that torch itself writes, made once."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what `tests.artifacts.programs` writes."""
    from tests.artifacts import programs

    folder = tmp_path_factory.mktemp("models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        programs.write(folder)
    return folder
