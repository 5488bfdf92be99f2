"""The interface through which name resolution asks about other modules of a project
(`torchmigrate.project.project_links`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Links:
    """What names from other modules of the project stand for; this base class knows no other modules."""

    def resolve(self, name: str) -> str | None:
        """Return torch's name for a qualified name of the project (``mypkg.compat.script``), or None."""
        return None

    def leads(self, name: str) -> bool:
        """Return whether a qualified name is a module of the project that exports something of torch's, or a package
        around one."""
        return False

    def exported(self, module: str) -> Iterable[str]:
        """Return the names that ``from module import *`` binds to something of torch's."""
        return ()

    def included(self, header: str) -> Mapping[str, str]:
        """Return the names of torch's that a C++ source gets from ``header``, as its ``#include`` spells it."""
        return {}
