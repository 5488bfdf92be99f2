"""The question that names ask of the other modules of a project; `torchmigrate.project.project` answers it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Links:
    """What names from other modules of the project stand for. This one knows of no other modules."""

    def resolve(self, name: str) -> str | None:
        """Torch's name for a qualified name of the project (``mypkg.compat.script``), or None."""
        return None

    def leads(self, name: str) -> bool:
        """Whether a qualified name is a module of the project that exports something of torch's, or above one."""
        return False

    def exported(self, module: str) -> Iterable[str]:
        """The names that ``from module import *`` brings and that stand for something of torch's."""
        return ()

    def included(self, header: str) -> Mapping[str, str]:
        """The names of torch's that a source in C++ has from ``header``, as its ``#include`` spells it."""
        return {}
