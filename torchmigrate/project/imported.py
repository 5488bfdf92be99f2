"""Which names the files of a project take from each other, without looking into any."""

from __future__ import annotations

import os
import re

from torchmigrate.project.modules import module_path


class Imported:
    """Which names the files of a project import from modules of which (last) name; read from their bytes.

    Torch's modules are not the project's, whatever their last name.
    """

    _IMPORT = re.compile(
        rb"^[ \t]*from[ \t]+(?!torch\.)[.\w]*?(\w*)[ \t]+import[ \t]*(\([^)]*\)|[^\r\n;]*)", re.MULTILINE
    )

    def __init__(self) -> None:
        self._names: set[tuple[bytes, bytes]] = set()

    def read(self, text: bytes) -> None:
        """Takes in the ``from`` imports of one file."""
        for module, names in self._IMPORT.findall(text):
            self._names.update((module, name) for name in re.findall(rb"\w+|\*", names))

    def has(self, path: str, name: str) -> bool:
        """Whether some file may import ``name`` from the module at ``path``."""
        module = os.fsencode(os.path.basename(module_path(path)))
        return (module, name.encode()) in self._names or (module, b"*") in self._names
