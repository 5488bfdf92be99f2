"""The files for which the editor is asked to report changes."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lsprotocol import types

from torchmigrate.prefilter.project_file_kinds import KINDS, kind_of
from torchmigrate.project.folders import SETTLING

_LANGUAGE_GLOBS = (
    "*.{cc,cpp,cxx,c++,cu,cuh,h,hh,hpp,hxx,inl,ipp,mm,java,kt,kts,gradle,swift,rs,cs,go,pbtxt}",
    "*.{csproj,fsproj,vbproj,props,podspec,bzl,bazel}",
    "{package,vcpkg}.json",
    "{pom.xml,packages.config,Podfile,go.mod,meson.build,xmake.lua,WORKSPACE,BUILD}",
)
GLOBS = tuple(
    f"**/{glob}"
    for glob in dict.fromkeys(
        ("*.{py,pyi}", *(glob for kind in KINDS for glob in kind.globs), *_LANGUAGE_GLOBS, ".gitignore")
    )
)
"""The patterns of all files that a rule reads (see `torchmigrate.run.tree.is_of_interest`), and of .gitignore."""


def create_registration() -> types.RegistrationParams:
    """Return the request to watch these files."""
    watchers = [types.FileSystemWatcher(glob_pattern=glob) for glob in GLOBS]
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
    method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
    return types.RegistrationParams([types.Registration(id=method, method=method, register_options=options)])


def changes_project(events: Iterable[tuple[str, bool]]) -> bool:
    """Return whether file events may change which files belong to a project, or their settings.

    Each event is a path, and whether the file existed before and still does.
    """
    return any(not stays or affects_others(path) for path, stays in events)


def affects_others(path: str) -> bool:
    """Return whether a file's content can matter for other files: settings, the minimum torch, or ignore patterns."""
    name = os.path.basename(path)
    return name in SETTLING or name == ".gitignore" or kind_of(path) is not None
