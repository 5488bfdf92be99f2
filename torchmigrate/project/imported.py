"""The names that files of a project import from each other, collected from their bytes without parsing."""

from __future__ import annotations

import os
import re

from torchmigrate.project.modules import module_path


class Imported:
    """The pairs of a module's last name and a name imported from it, except from modules of torch."""

    _IMPORT = re.compile(
        rb"^[ \t]*from[ \t]+(?!torch\.)[.\w]*?(\w*)[ \t]+import[ \t]*(\([^)]*\)|[^\r\n;]*)", re.MULTILINE
    )

    def __init__(self) -> None:
        self._names: set[tuple[bytes, bytes]] = set()

    def read(self, text: bytes) -> None:
        """Add the ``from`` imports of one file."""
        for module, names in self._IMPORT.findall(text):
            self._names.update((module, name) for name in re.findall(rb"\w+|\*", names))

    def has(self, path: str, name: str) -> bool:
        """Return whether some file may import ``name`` from the module at ``path``."""
        module = os.fsencode(os.path.basename(module_path(path)))
        return (module, name.encode()) in self._names or (module, b"*") in self._names
