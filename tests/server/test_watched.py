"""What an editor is asked to watch is what is looked at."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest

from torchmigrate.prefilter import foreign_languages
from torchmigrate.prefilter.project_file_kinds import KINDS, find_kind, kind_of
from torchmigrate.run.tree import is_of_interest
from torchmigrate.server.watched import GLOBS

EXAMPLES = """
a.py a.pyi a.ipynb setup.py conanfile.py
requirements.txt dev-requirements.in pyproject.toml pixi.toml Pipfile uv.lock pixi.lock Pipfile.lock pylock.toml
conda-lock.yml setup.cfg tox.ini environment.yaml ci.yml
a.sh a.bash a.zsh a.ksh a.fish a.bat a.cmd a.ps1 a.sbatch a.slurm a.pbs a.def Jenkinsfile Jenkinsfile.gpu .env
a.env prod.env.local .deepspeed_env CMakeLists.txt a.cmake Makefile GNUmakefile makefile.cuda a.mk Justfile justfile
a.md A.MD a.markdown a.rst a.RST a.nix docker-bake.hcl devcontainer.json .devcontainer.json
Dockerfile gpu.Dockerfile Dockerfile.gpu Containerfile a.dockerfile dockerfile
a.cc a.cpp a.cxx a.c++ a.cu a.cuh a.h a.hh a.hpp a.hxx a.inl a.ipp a.mm A.java a.gradle a.gradle.kts a.kt a.kts a.swift a.rs
a.cs a.go libs.versions.toml Cargo.toml pom.xml a.csproj a.fsproj a.vbproj Directory.Packages.props Directory.Build.props
packages.config Podfile a.podspec go.mod a.pbtxt pubspec.yaml package.json vcpkg.json conanfile.txt meson.build
xmake.lua WORKSPACE WORKSPACE.bazel MODULE.bazel BUILD BUILD.bazel a.bzl
"""
NAMES = EXAMPLES.split()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_looked_at_is_watched(name: str) -> None:
    assert is_of_interest(name)
    assert any(fnmatchcase(f"folder/{name}", glob) for pattern in GLOBS for glob in _expanded(pattern))
    if kind := find_kind(name):
        assert any(fnmatchcase(name, glob) for pattern in kind.globs for glob in _expanded(pattern))


def test_every_kind_has_an_example() -> None:
    found = {(kind_of(name), foreign_languages.language_of(name)) for name in NAMES}
    assert {kind for kind, _ in found} >= {kind.name for kind in KINDS}
    assert {language for _, language in found} >= {language for _, language in foreign_languages._NAMES}


def _expanded(pattern: str) -> list[str]:
    """The patterns without braces that one with a choice in braces stands for."""
    choice = re.search(r"\{([^{}]*)\}", pattern)
    if choice is None:
        return [pattern]
    return [pattern.replace(choice[0], one, 1) for one in choice[1].split(",")]
