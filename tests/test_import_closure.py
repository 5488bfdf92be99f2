"""Which files import a module, as far as their bytes show."""

from __future__ import annotations

import pytest

from torchmigrate.project import text_search
from torchmigrate.project.import_closure import find_importing_files
from torchmigrate.project.project_facts import Project

IMPORTS = {
    "import layers": True,
    "import package.layers as l": True,
    "import other as o, layers": True,
    "from layers import Block": True,
    "from .layers import *": True,
    "    from package.layers import Block": True,
    "from package import layers": True,
    "from package import norms, layers": True,
    "from package import (norms); import layers": True,
    "from package import (\n    norms,\n    layers,\n)": True,
    "from . import layers": True,
    "from package import (\n    norms,\n)\nlayers = 3": False,
    "from torch import layers": False,
    "layers = 3  # import": False,
    "import": False,
    "from package import (": False,
}


@pytest.mark.parametrize(("text", "imports"), IMPORTS.items())
def test_each_form_of_an_import_is_found(text: str, imports: bool) -> None:
    files = {
        "/p/package/layers.py": b"",
        "/p/package/user.py": f"x = 1\n{text}\n".encode(),
        "/p/end.py": text.encode(),
    }
    found = find_importing_files(Project(files, files.__getitem__), "/p/package/layers.py")
    assert found == (["/p/package/user.py", "/p/end.py"] if imports else [])


def test_files_are_read_once_for_the_importers_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_search, "_MAX_KEPT_BYTES", 0)
    files = {f"/p/m{number}.py": f"import m{number + 1}\n".encode() for number in range(50)}
    reads: list[str] = []

    def read(path: str) -> bytes:
        reads.append(path)
        return files[path]

    project = Project(files, read)
    for number in range(1, 50):
        assert find_importing_files(project, f"/p/m{number}.py") == [f"/p/m{number - 1}.py"]
    assert len(reads) <= 2 * len(files)
