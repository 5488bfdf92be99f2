"""How the ledger is made, on releases of a few lines each."""

from __future__ import annotations

import textwrap
import zipfile
from pathlib import Path

import pytest
from packaging.version import Version

from tools import read_api
from tools.api import reading, source, table
from tools.api.source import Source

FIRST, SECOND, THIRD = 1, 2, 4
DOCUMENTED, EXPORTED, ACCIDENTAL, PRIVATE = range(4)


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    return Rows(tmp_path)


class Rows:
    """Makes the table of some releases."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, *releases: str | dict[str, str]) -> dict[str, table.Row]:
        """The rows of releases, each the text of ``torch/__init__.py``, or texts by path; unchanged names left out."""
        made = []
        for number, files in enumerate(releases):
            folder = self._folder / str(number)
            unpack(folder, files if isinstance(files, dict) else {"torch/__init__.py": files})
            made.append(reading.read(Source(Version(f"2.{number}.0"), str(folder))))
        return {name: row for name, row in table.rows(made).items() if len(row) > 3}


def unpack(folder: Path, files: dict[str, str]) -> None:
    for path, text in {"torch/__init__.py": "", **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(textwrap.dedent(text))


WARNS = """
    import warnings
    def f(x):
        warnings.warn("f is old, use g", FutureWarning, stacklevel=2)
        return x
"""


def test_a_marker_that_is_taken_back_holds_for_its_releases_only(rows: Rows) -> None:
    plain = "import warnings\ndef f(x):\n    return x"
    assert rows(plain, WARNS, plain) == {
        "torch.f": ["f", EXPORTED, 7, 0, [[SECOND, "call", "FutureWarning", "f is old, use g"]], []]
    }


def test_a_name_and_a_parameter_may_come_back(rows: Rows) -> None:
    both = "def f(x, *, alone=False): ...\ndef g(): ..."
    found = rows(both, "def f(x): ...", both)
    assert found["torch.g"][:4] == ["f", EXPORTED, FIRST | THIRD, 0]
    assert found["torch.f"][5] == [["alone", FIRST | THIRD, 0, "", []]]


@pytest.mark.parametrize(
    ("body", "marks"),
    [
        ('warnings.warn("no good", UserWarning)', []),
        ('warnings.warn("deprecated")', [["call", "UserWarning", "deprecated"]]),
        ('warnings.warn(FutureWarning("soon"))', [["call", "FutureWarning", "soon"]]),
        ('warnings.warn(f"{x} is deprecated, " + TEXT, FutureWarning)', [["call", "FutureWarning", "… is deprecated, use g"]]),
        ('text = "will be removed"\n    warnings.warn(text, stacklevel=2)', [["call", "UserWarning", "will be removed"]]),
        ('_warn_old("f", "g")', [["call", "DeprecationWarning", "f is old, use g"]]),
        ('if y is not None:\n        warnings.warn("y is deprecated")', [["parameter", "UserWarning", "y is deprecated", "y"]]),
        ('if y is None:\n        warnings.warn("pass y", FutureWarning)', [["omitted", "FutureWarning", "pass y", "y"]]),
        ('if x > 3:\n        warnings.warn("deprecated")', [["sometimes", "UserWarning", "deprecated"]]),
        ('if x > 3:\n        return 1\n    warnings.warn("deprecated")', [["sometimes", "UserWarning", "deprecated"]]),
        ('if not is_scripting():\n        warnings.warn("deprecated")', [["call", "UserWarning", "deprecated"]]),
        ('"""This function is deprecated, use g. It is slow."""', [["documentation", "", "This function is deprecated, use g"]]),
        ('"""About.\n\n    y: ``y`` is deprecated.\n    """', []),
    ],
)  # fmt: skip
def test_what_marks_a_function(rows: Rows, body: str, marks: list[list[str]]) -> None:
    text = f"""import warnings
TEXT = "use g"
def _warn_old(name, new):
    warnings.warn(f"{{name}} is old, use {{new}}", DeprecationWarning)
def f(x, y=None):
    {body}
    return x
"""
    found = rows(text)
    assert [mark[1:] for mark in found["torch.f"][4]] == marks if marks else "torch.f" not in found


def test_decorators_and_constructors(rows: Rows) -> None:
    found = rows("""
        import warnings
        from typing_extensions import deprecated
        @deprecated("use g", category=FutureWarning)
        def f(): ...
        @deprecated("use g", category=None)
        def silent(): ...
        @deprecated("use D")
        class C: ...
        class Function:
            def __init__(self):
                warnings.warn("make no instances, this is deprecated")
        class Deriving(Function): ...
        """)
    assert {name: row[4] for name, row in found.items()} == {
        "torch.f": [[1, "call", "FutureWarning", "use g"]],
        "torch.silent": [[1, "documentation", "", "use g"]],
        "torch.C": [[1, "class", "DeprecationWarning", "use D"]],
        "torch.Function": [[1, "init", "UserWarning", "make no instances, this is deprecated"]],
    }


def test_functions_that_only_raise(rows: Rows) -> None:
    before = (
        "def qr(x): return x\ndef abstract(x): return x\ndef may(x): return x\nclass C:\n    def m(self): ..."
    )
    after = """
        def qr(x):
            text = "gone"
            raise RuntimeError(text)
        def abstract(x):
            raise NotImplementedError
        def may(x):
            if x:
                return x
            raise ValueError("x")
        class C:
            def m(self):
                "Gone."
                raise RuntimeError("gone")
        """
    found = rows(before, after)
    assert {name: row[3] for name, row in found.items()} == {"torch.qr": SECOND, "torch.C.m": SECOND}


def test_a_stand_in_for_what_could_not_be_imported_is_not_what_counts(rows: Rows) -> None:
    assert not rows("""
        try:
            from torch._C import f
        except ImportError:
            def f(): raise RuntimeError("no f")
        if has_distributed():
            def g(): return 1
        else:
            def g(): raise RuntimeError("no g")
        """)


def test_parameters(rows: Rows) -> None:
    found = rows(
        "def f(a, b, c, d=1, e=2, /, old=0): ...\ndef g(x, y): ...\ndef h(x, gone=1): ...",
        "def f(a, b, c, d=2, /, new=0): ...\ndef g(x, *, y): ...\ndef h(x, **others): ...",
    )
    assert found["torch.f"][5] == [
        ["d", 0, 3, "", [[FIRST, "1"], [SECOND, "2"]]],
        ["e", 0, FIRST, "", []],
        ["old", FIRST, FIRST, "", []],
    ]
    assert found["torch.g"][5] == [["y", 3, FIRST, "", []]]
    assert found["torch.h"][5] == [["gone", 3, FIRST, "", []]], "by keyword it may still be taken"


def test_a_parameter_with_another_name(rows: Rows) -> None:
    found = rows("def f(x, old=0): ...", "def f(x, new=0): ...")
    assert found["torch.f"][5] == [["old", FIRST, FIRST, "new", []]]


def test_a_parameter_that_no_release_took_is_no_concern(rows: Rows) -> None:
    """Stubs do not have the spellings of NumPy that C functions accept: `axis=`, `keepdims=`."""
    stub = {"torch/_C/__init__.pyi": "", "torch/_C/_VariableFunctions.pyi": "def sum(input, dim=None): ..."}
    text = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch._C._VariableFunctions import *"
    )
    assert not rows({"torch/__init__.py": text, **stub}, {"torch/__init__.py": text, **stub})


def test_overloads_are_taken_together(rows: Rows) -> None:
    found = rows(
        {"torch/_C.pyi": "@overload\ndef f(x, dim): ...\n@overload\ndef f(x, *, names): ...", "torch/__init__.py": "from torch._C import *"},
        {"torch/_C.pyi": "def f(x, dim): ...", "torch/__init__.py": "from torch._C import *"},
    )  # fmt: skip
    assert found["torch.f"][5] == [["names", FIRST, 0, "", []]]


def test_methods_are_inherited(rows: Rows) -> None:
    found = rows(
        {"torch/optim.py": "class Base:\n    def a(self): ...\nclass Derived(Base):\n    def b(self): ...\n    def c(self): ..."},
        {"torch/optim.py": "class Base:\n    def b(self): ...\nclass Derived(Base):\n    def __init__(self):\n        self.c = 1"},
    )  # fmt: skip
    assert {name: row[2] for name, row in found.items()} == {"torch.optim.Base.a": FIRST}, "it is said once"


def test_a_class_that_gives_any_attribute_loses_none(rows: Rows) -> None:
    assert not rows(
        "class C:\n    def a(self): ...\nclass D:\n    def a(self): ...",
        "class C:\n    def __getattr__(self, name): ...\nclass D(dict): ...",
    )


def test_what_getattr_of_a_module_serves(rows: Rows) -> None:
    found = rows(
        "has_cuda = True\nlazy = 1\nother = 2",
        """
        import warnings
        _old = {"has_cuda": None}
        _lazy = ["lazy"]
        def __getattr__(name):
            if name in _old:
                warnings.warn(f"{name} is deprecated", stacklevel=2)
                return _old[name]
            if name in _lazy:
                return importlib.import_module(name)
            raise AttributeError(name)
        """,
    )
    assert found == {
        "torch.has_cuda": [
            "v",
            EXPORTED,
            3,
            0,
            [[SECOND, "use", "UserWarning", "has_cuda is deprecated"]],
            [],
        ],
        "torch.other": ["v", EXPORTED, FIRST, 0, [], []],
    }


def test_a_function_and_a_submodule_of_one_name(rows: Rows) -> None:
    """`torch.utils.norm` is the function, and things in the module of that name can still be imported."""
    files = {
        "torch/utils/__init__.py": "from .norm import norm",
        "torch/utils/norm.py": WARNS.replace("def f", "class Hook: ...\n    def norm"),
    }
    found = rows(files)
    assert found["torch.utils.norm"][0] == "f"
    assert found["torch.utils.norm.norm"][4] == found["torch.utils.norm"][4] != []
    gone = rows(files, {**files, "torch/utils/norm.py": "def norm(x): ..."})
    assert gone["torch.utils.norm.Hook"][2] == FIRST


def test_levels(rows: Rows) -> None:
    found = rows(
        {
            "torch/nn/__init__.py": "from typing import Union\nfrom ._impl import a, b",
            "torch/nn/_impl.py": "__all__ = ['a']\n__all__ += ['b']\nimport os\ndef a():\n    'Doc.'\ndef b(): ...\ndef c(): ...",
            "torch/nn/offers.py": "__all__ = ['A']\nfrom torch.nn._impl import a\nfrom enum import Enum\nA = 1\nB = 2",
        },
        {"torch/nn/__init__.py": "", "torch/nn/_impl.py": "", "torch/nn/offers.py": ""},
    )
    assert {name: row[1] for name, row in found.items()} == {
        "torch.nn.a": DOCUMENTED,
        "torch.nn.b": EXPORTED,
        "torch.nn.Union": ACCIDENTAL,
        "torch.nn.offers.A": EXPORTED,
        "torch.nn.offers.B": ACCIDENTAL,
        "torch.nn.offers.a": ACCIDENTAL,
        "torch.nn.offers.Enum": ACCIDENTAL,
        "torch.nn._impl.a": PRIVATE,
        "torch.nn._impl.b": PRIVATE,
        "torch.nn._impl.c": PRIVATE,
    }, "what a private module had from elsewhere is not kept"


def test_modules_that_are_made_at_run_time_are_not_lost(rows: Rows) -> None:
    """`torch.moved.device_mesh` lives on under its name, and what came with a star from elsewhere may be anywhere."""
    alias = "import sys\nfor name in ['device_mesh']:\n    sys.modules[f'torch.moved.{name}'] = object()"
    found = rows(
        {"torch/moved/__init__.py": "", "torch/moved/device_mesh.py": "def f(): ...", "torch/ck.py": "from typing import Any\na = 1"},
        {"torch/moved/__init__.py": alias, "torch/ck.py": "from typing import *"},
    )  # fmt: skip
    assert found == {}


def test_modules_that_are_made_elsewhere_do_not_keep_a_name(rows: Rows) -> None:
    """What torch puts into `torch._C` is not where another module's function may have gone."""
    made = "import sys\nfor name in dir(object):\n    sys.modules[f'torch._C.{name}'] = object()"
    found = rows(
        {"torch/__init__.py": made, "torch/a.py": "def f(): ...\ng = 1", "torch/_C/__init__.pyi": "x: int"},
        {"torch/__init__.py": made, "torch/a.py": "g = 1", "torch/_C/__init__.pyi": ""},
    )
    assert list(found) == ["torch.a.f"]


def test_a_star_for_type_checkers_keeps_no_name(rows: Rows) -> None:
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch.typed import *"
    found = rows({"torch/config.py": "level = 1\nlines = 2"}, {"torch/config.py": f"{typed}\nlines = 2"})
    assert list(found) == ["torch.config.level"]


def test_what_goes_with_its_module_is_not_said_again(rows: Rows) -> None:
    found = rows({"torch/_six.py": "inf = 1\ndef f(): ..."}, {})
    assert found == {"torch._six": ["p", PRIVATE, FIRST, 0, [], []]}


def wheel(folder: Path, version: str, text: str) -> str:
    path = folder / f"torch-{version}-cp312-cp312-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("torch/version.py", f"__version__ = '{version}+cu132'\n")
        made.writestr("torch/__init__.py", textwrap.dedent(text))
        made.writestr("torch/lib/libtorch.so", b"\0")
    return str(path)


def test_a_new_release_is_taken_in_by_one_command(tmp_path: Path) -> None:
    """The table of three releases is the same, whether they are read at once or the last one is added."""
    wheels = [
        wheel(tmp_path, "2.0.1", WARNS),
        wheel(tmp_path, "2.1.2", "def f(): ..."),
        wheel(tmp_path, "2.2.0", ""),
    ]

    def make(name: str, kept: str, wheels: list[str]) -> dict[str, bytes]:
        data = tmp_path / name
        data.mkdir(exist_ok=True)
        options = ["--offline", "--jobs=1", f"--data={data}", f"--keep={tmp_path / kept}"]
        read_api.main([*wheels, *options])
        return {path.name: path.read_bytes() for path in data.iterdir()}

    at_once = make("at once", "kept", wheels)
    before = make("step by step", "other", wheels[:2])
    assert make("step by step", "other", wheels) == at_once != before
    assert len(at_once) == 3


def test_what_is_no_release_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    for wheels, message in (
        ([str(tmp_path / "empty")], "no torch/version.py"),
        ([str(tmp_path / "absent.whl")], "no torch/version.py"),
        ([wheel(tmp_path, "2.1.0", "")], "every minor release from 2.0 on"),
    ):
        with pytest.raises(SystemExit):
            read_api.main([*wheels, "--offline", f"--data={tmp_path}"])
        assert message in capsys.readouterr().err


def test_the_newest_patch_and_the_newest_python_count(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        "torch-1.13.1-cp310-cp310-manylinux1_x86_64.whl",
        "torch-2.0.0-cp311-cp311-manylinux1_x86_64.whl",
        "torch-2.0.1-cp39-cp39-manylinux1_x86_64.whl",
        "torch-2.0.1-cp310-cp310-manylinux1_x86_64.whl",
        "torch-2.0.1-cp311-cp311-win_amd64.whl",
        "torch-2.1.0-cp313-cp313t-manylinux_2_28_x86_64.whl",
        "torch-2.1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        "torch-2.2.0rc1-cp312-cp312-manylinux_2_28_x86_64.whl",
    ]
    monkeypatch.setattr("tools.read_wheels.links", lambda project: {name: f"url/{name}" for name in names})
    assert source.on_index((2, 0)) == {
        (2, 0): Source(Version("2.0.1"), f"url/{names[3]}"),
        (2, 1): Source(Version("2.1.0"), f"url/{names[6]}"),
    }
