"""Names that the checked project hands on between its own files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support import fix_text, settings_of
from torchmigrate.cli.commands import cli
from torchmigrate.project import text_search
from torchmigrate.project.file_search import InputFile
from torchmigrate.project.project_facts import Project
from torchmigrate.run import runner
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree


def found(root: Path, files: dict[str, str]) -> dict[str, list[int]]:
    """Lines with findings of TS101, by file, in a project of these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    settings, minimum = settings_of(["--select", "TS101"])
    inputs = [InputFile(str(root / name)) for name in files]
    results = runner.check_tree(Tree(inputs, create_uniform_profile(settings, minimum)))
    return {
        str(Path(result.path).relative_to(root)): [f.location.line for f in result.findings if f.location]
        for result in results
        if result.findings
    }


COMPAT = "import torch\nscript = torch.jit.script\n"


@pytest.mark.parametrize(
    ("name", "user"),
    [
        ("pkg/b.py", "from .compat import script\nscript(f)"),
        ("pkg/b.py", "from . import compat\ncompat.script(f)"),
        ("pkg/b.py", "from pkg.compat import script as s\n\ns(f)".replace("\n\n", "\n")),
        ("pkg/b.py", "from .compat import *\nscript(f)"),
        ("pkg/sub/c.py", "from ..compat import script\nscript(f)"),
        ("pkg/sub/c.py", "from pkg import compat as c\nc.script(f)"),
        ("pkg/sub/c.py", "from ..compat import (\n script,); script(f)"),
        ("tests/test_b.py", "import pkg.compat\npkg.compat.script(f)"),
        ("run.py", "from pkg.compat import script\nscript(f)"),
    ],
)
def test_re_exported_names_are_followed(tmp_path: Path, name: str, user: str) -> None:
    project = {"pkg/__init__.py": "", "pkg/sub/__init__.py": "", "pkg/compat.py": COMPAT, name: user}
    assert found(tmp_path, project) == {"pkg/compat.py": [2], name: [2]}


def test_a_chain_of_re_exports_is_followed(tmp_path: Path) -> None:
    project = {
        "pkg/compat.py": COMPAT,
        "pkg/__init__.py": "from .compat import script",
        "pkg/d.py": "from . import script\nscript(f)",
        "use.py": "from pkg import script\nscript(f)",
    }
    assert found(tmp_path, project) == {"pkg/compat.py": [2], "pkg/d.py": [2], "use.py": [2]}


def test_torch_itself_may_come_from_another_module(tmp_path: Path) -> None:
    project = {
        "pkg/__init__.py": "",
        "pkg/base.py": "import torch",
        "pkg/star.py": "from .base import *",
        "pkg/a.py": "from .base import torch\ntorch.jit.script(f)",
        "pkg/b.py": "from .star import *\ntorch.jit.script(f)",
        "pkg/c.py": "from . import base\nbase.torch.jit.script(f)",
    }
    assert found(tmp_path, project) == {"pkg/a.py": [2], "pkg/b.py": [2], "pkg/c.py": [2]}


def test_a_name_rebound_in_its_module_is_not_followed(tmp_path: Path) -> None:
    project = {
        "core/__init__.py": "",
        "core/jit.py": "import torch\nfuse = torch.jit.script\nif new:\n    fuse = torch.compile\n",
        "core/use.py": "from core.jit import fuse\n@fuse\ndef f(): ...\n",
    }
    assert found(tmp_path, project) == {"core/jit.py": [2]}


def test_a_module_of_the_same_name_elsewhere_is_another(tmp_path: Path) -> None:
    project = {
        "a/compat.py": COMPAT,
        "b/use.py": "from compat import script\nscript(f)",
        "a/use.py": "from compat import script\nscript(f)",
    }
    assert found(tmp_path, project) == {"a/compat.py": [2], "a/use.py": [2]}


def test_an_import_that_another_file_relies_on_stays(tmp_path: Path) -> None:
    code = (
        "import torch\nfrom torch.jit import annotate\nfrom typing import List\nx = annotate(List[int], [])\n"
    )
    settings, minimum = settings_of([])
    (tmp_path / "a.py").write_text(code)
    alone = runner.fix_tree(
        Tree([InputFile(str(tmp_path / "a.py"))], create_uniform_profile(settings, minimum))
    )
    assert b"import annotate" not in next(iter(alone)).after

    (tmp_path / "b.py").write_text("from .a import (\n    annotate,\n)\n")
    inputs = [InputFile(str(tmp_path / name)) for name in ("a.py", "b.py")]
    together = runner.fix_tree(Tree(inputs, create_uniform_profile(settings, minimum)))
    assert b"import annotate" in next(iter(together)).after


def test_an_import_that_a_type_comment_names_stays() -> None:
    code = "from torch.jit import Final\nfrom typing import List\n\ndef f(x):\n    # type: (List[int]) -> None\n    y: Final[List[int]] = x\n"
    fixed = fix_text(code)
    assert fixed.startswith("from typing import Final, List\n")


def test_other_files_are_searched_for_what_they_spell() -> None:
    files = {
        "/p/here.py": b"ops.mine.reduce",
        "/p/call.py": b"import torch\ntorch.ops.mine.reduce(x)",
        "/p/other.py": b"torch.ops.mine.reducer(x)",
        "/p/string.py": b"\n\nname = 'mine::reduce'",
    }
    sought = (
        (("mine::reduce",), (r"mine::reduce(?!\w)",)),
        (("reduce", "mine"), (r"reduce(?!\w)", r"ops\.mine")),
    )
    found = Project(files, files.__getitem__).find_spellings(*sought, beside="/p/here.py")
    assert found == [("/p/call.py", 2), ("/p/string.py", 3)]


def test_of_a_word_several_things_are_asked_of_the_files_that_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_search, "_MAX_KEPT_BYTES", 0)
    files = {"/p/a.py": b"Model(1)", "/p/b.py": b"pass", "/p/c.py": b"class Big(Model): ..."}
    read: list[str] = []

    def text(path: str) -> bytes:
        read.append(path)
        return files[path]

    project = Project(files, text)
    assert project.find_spellings((("Model",), (r"Model\(",)), beside="") == [("/p/a.py", 1)]
    read.clear()
    assert project.find_spellings((("Model", "class"), (r"class \w+\(Model",)), beside="") == [("/p/c.py", 1)]
    assert read == ["/p/a.py", "/p/c.py"]
    assert project.find_spellings(((), (r"pass|Big",)), beside="/p/c.py") == [("/p/b.py", 1)]


def test_another_file_is_named_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "pyproject.toml": "[project]\nname = 'p'\n",
        "src/a.py": "import torch\n\n\n@torch.jit.script\ndef f(x):\n    return x + 1\n",
        "tests/t.py": "from src.a import f\n\nprint(f.graph)\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    reasons = {
        finding["withheld"]
        for named in ("src/a.py", "src", ".")
        for finding in json.loads(
            CliRunner().invoke(cli, ["check", "--output-format", "json", named]).stdout
        )["findings"]
    }
    assert reasons == {"tests/t.py:3 does more with `f` than call it"}
