"""Which files import a module, as far as their bytes show."""

from __future__ import annotations

import json

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
    "from .import layers": True,
    "x = 1; import layers": True,
    "from package import norms, \\\n    layers": True,
    "if x: import layers": True,
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


def test_the_nearest_of_several_modules_is_imported() -> None:
    files = {
        "/p/a/tools.py": b"",
        "/p/a/deep/use.py": b"import tools\nfrom lib.tools import f\n",
        "/p/a/src/lib/tools.py": b"",
        "/p/b/tools.py": b"",
        "/p/b/use.py": b"import tools\nfrom lib.tools import f\n",
        "/p/b/lib/tools.py": b"",
        "/p/c/use.py": b"from lib.tools import f\n",
    }
    project = Project(files, files.__getitem__)
    assert find_importing_files(project, "/p/a/tools.py") == ["/p/a/deep/use.py"]
    assert find_importing_files(project, "/p/a/src/lib/tools.py") == ["/p/a/deep/use.py", "/p/c/use.py"]
    assert find_importing_files(project, "/p/b/tools.py") == ["/p/b/use.py"]
    assert find_importing_files(project, "/p/b/lib/tools.py") == ["/p/b/use.py", "/p/c/use.py"]


def test_the_import_of_a_module_binds_the_packages_above_it() -> None:
    files = {"/p/one/__init__.py": b"", "/p/one/two.py": b"", "/p/use.py": b"import one.two\n"}
    project = Project(files, files.__getitem__)
    assert find_importing_files(project, "/p/one/__init__.py") == ["/p/use.py"]
    assert find_importing_files(project, "/p/one/two.py") == ["/p/use.py"]


def test_a_notebook_imports_what_its_cells_import() -> None:
    cell: dict[str, object] = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "id": "a",
    }
    form = {"metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps({"cells": [{**cell, "source": ["import torch\n", "import layers"]}], **form})
    files = {"/p/layers.py": b"", "/p/use.ipynb": text.encode()}
    assert find_importing_files(Project(files, files.__getitem__), "/p/layers.py") == ["/p/use.ipynb"]
