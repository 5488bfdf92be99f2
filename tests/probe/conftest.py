"""Fake torch packages, interpreters, programs and libraries, so that no test needs a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

WHOLE = """
__version__ = "2.12.1+cu130"
class version: cuda = "13.0"; hip = None; xpu = None
class cuda:
    is_available = staticmethod(lambda: False); device_count = staticmethod(lambda: 0)
class _C:
    _cuda_getArchFlags = staticmethod(lambda: "sm_80 sm_90")
"""
"""A torch that says all that it is asked."""

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "probe"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing of the real machine's GPUs and torch is found."""
    (tmp_path / "bin").mkdir()
    kept = {name: os.environ[name] for name in ("HOME", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    return {**kept, "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}


@pytest.fixture
def fake_torch(tmp_path: Path, environ: dict[str, str]) -> Callable[..., str]:
    """Makes a package ``torch`` with the given ``__init__.py``; returns an interpreter that imports it."""

    def make(code: str, version: str = "2.12.1+cu130", cuda: str | None = "13.0") -> str:
        package = tmp_path / "site" / "torch"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(code)
        (package / "version.py").write_text(f"__version__ = {version!r}\ncuda: str = {cuda!r}\nhip = None\n")
        environ["PYTHONPATH"] = str(tmp_path / "site")
        return sys.executable

    return make


@pytest.fixture
def python(fake_torch: Callable[..., str]) -> str:
    """An interpreter for tests that are not about torch: its torch is imported at once."""
    return fake_torch(WHOLE)


@pytest.fixture
def fake_program(tmp_path: Path) -> Callable[..., Path]:
    """Puts a shell script on the environment's PATH."""

    def make(name: str, script: str, mode: int = 0o755) -> Path:
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(mode)
        return program

    return make


@pytest.fixture
def fake_library(tmp_path: Path, environ: dict[str, str]) -> Callable[[str, str], None]:
    """Compiles a C source into a library on the environment's library path."""

    def make(name: str, source: str) -> None:
        folder = tmp_path / "lib"
        folder.mkdir(exist_ok=True)
        file = tmp_path / f"{name}.c"
        file.write_text(source)
        try:
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(folder / name), str(file)], check=True)
        except FileNotFoundError:
            pytest.skip("no C compiler")
        environ["LD_LIBRARY_PATH"] = str(folder)

    return make
