"""What marks code for TorchScript, run before and after its fix: in eager mode, and scripted where the fix keeps that."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import fix_text

torch: Any = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

NOTHING_SCRIPTS = ("--unsafe", "--no-keep-torchscript-support")


def load(text: str, folder: Path, name: str) -> ModuleType:
    """The text as a module that lies in a file, which TorchScript reads."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def before_and_after(text: str, folder: Path, *flags: str) -> tuple[ModuleType, ModuleType]:
    """The program, and what fixing makes of it."""
    fixed = fix_text(text, *flags)
    assert fixed != text
    return load(text, folder, "program_before"), load(fixed, folder, "program_after")


ANNOTATED = """
from typing import Dict, List, Optional

import torch
from torch import Tensor


def collected(x: Tensor, n: int) -> List[int]:
    sizes = torch.jit.annotate(List[int], [])
    n = torch.jit.annotate(int, n + 1)
    for i in range(n):
        row = torch.jit.annotate(List[int], [i])
        sizes.extend(row)
    return torch.jit.annotate(List[int], sizes)


def maximum(x: Tensor, limit: Optional[float]):
    found = torch.jit.annotate(Dict[str, Tensor], {})
    limit = torch.jit.annotate(Optional[float], limit)
    if limit is not None:
        x = x.clamp(max=limit)
    found["max"] = x.max()
    return found


class Scale(torch.nn.Module):
    factor: torch.jit.Final[float]

    def __init__(self):
        super().__init__()
        self.factor = 2.0
        self.seen = torch.jit.annotate(Dict[str, int], {"a": 1})

    def forward(self, x: Tensor):
        self.seen["times"] = len(self.seen) + 1
        return x * self.factor


def scripted():
    return torch.jit.script(collected), torch.jit.script(maximum), torch.jit.script(Scale())
"""


def test_annotations_and_final_are_equal_in_eager_mode_and_scripted(tmp_path: Path) -> None:
    before, after = before_and_after(ANNOTATED, tmp_path, "--select", "TS154,TS155")
    assert "annotate" not in Path(str(after.__file__)).read_text()
    x = torch.randn(3, 4)
    for one, other in (
        ((before.collected, before.maximum, before.Scale()), (after.collected, after.maximum, after.Scale())),
        (before.scripted(), after.scripted()),
    ):
        assert one[0](x, 3) == other[0](x, 3) == [0, 1, 2, 3]
        assert torch.equal(one[1](x, 0.5)["max"], other[1](x, 0.5)["max"])
        assert torch.equal(one[1](x, None)["max"], other[1](x, None)["max"])
        assert torch.equal(one[2](x), other[2](x))
    assert after.Scale.__annotations__ == before.Scale.__annotations__


GUARDED = """
import torch
from torch.jit import is_scripting


def branches(x, flag: bool):
    if torch.jit.is_scripting():
        return x
    elif flag:
        x = x + 1
    if not is_scripting() and not torch.jit.is_tracing():
        x = x * 3
    return x - 1 if not is_scripting() else x


class Net(torch.nn.Module):
    @torch.jit.unused
    def debug(self, x):
        return x.sum()

    @torch.jit.ignore(drop=True)
    def log(self, x):
        return x.mean()

    @torch.jit.export
    def encode(self, x):
        return x + self.debug(x) + self.log(x)

    @property
    @torch.jit.unused
    def size(self):
        return 3

    def forward(self, x):
        return self.encode(x) * self.size


@torch.jit.script_if_tracing
def rounds(x, n: int):
    for _ in range(n):
        x = x / 2
    return x


@torch.jit._overload
def either(x: int) -> int: ...


@torch.jit._overload
def either(x: str) -> str: ...


def either(x):
    return x * 2
"""


def test_inert_markers_change_nothing_when_they_go(tmp_path: Path) -> None:
    before, after = before_and_after(GUARDED, tmp_path, *NOTHING_SCRIPTS)
    text = Path(str(after.__file__)).read_text()
    assert "torch.jit" not in text.replace("torch.jit.is_tracing", "")
    x = torch.randn(2, 3)
    for flag in (True, False):
        assert torch.equal(before.branches(x, flag), after.branches(x, flag))
    assert torch.equal(before.Net()(x), after.Net()(x))
    assert torch.equal(before.rounds(x, 3), after.rounds(x, 3))
    assert before.either("a") == after.either("a") == "aa"


DROPPED = """
import torch


class Net(torch.nn.Module):
    @torch.jit.ignore(drop=True)
    def log(self, x: torch.Tensor):
        print(sorted({**{}}))

    def forward(self, x: torch.Tensor):
        if x.dim() > 5:
            self.log(x)
        return x + 1
"""


def test_unused_drops_what_ignore_dropped(tmp_path: Path) -> None:
    with pytest.warns(FutureWarning, match="torch.jit.unused"):
        before = load(DROPPED, tmp_path, "dropped_before")
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        after = load(fix_text(DROPPED), tmp_path, "dropped_after")
    x = torch.randn(2)
    scripted = [torch.jit.script(module.Net()) for module in (before, after)]
    assert torch.equal(scripted[0](x), scripted[1](x))
    assert scripted[0].code == scripted[1].code


REFINED = """
from typing import Dict, List, Optional

import torch


def ints(x):
    return torch.jit.isinstance(x, List[int])


def table(x):
    return torch.jit.isinstance(x, Dict[str, torch.Tensor])


def maybe(x):
    return torch.jit.isinstance(x, Optional[int])


def plain(x):
    return not torch.jit.isinstance(x, (int, str))
"""

VALUES: tuple[object, ...] = (
    *(
        [],
        [1],
        [1.0],
        [1, "a"],
        (1,),
        {},
        {"a": torch.ones(1)},
        {"a": 1},
        {1: torch.ones(1)},
        None,
        1,
        True,
        1.0,
        "a",
    ),
    *(torch.ones(1), [torch.ones(1)], [[1]]),
)


@pytest.mark.parametrize("function", ["ints", "table", "maybe", "plain"])
def test_refined_types_are_asked_for_alike(function: str, tmp_path: Path) -> None:
    before, after = before_and_after(REFINED, tmp_path, *NOTHING_SCRIPTS)
    for value in VALUES:
        assert getattr(before, function)(value) == getattr(after, function)(value), value


CLASSES = """
from typing import Optional, Union

import torch


def kind(x: Union[str, bool, torch.Tensor]) -> int:
    if torch.jit.isinstance(x, str):
        return len(x)
    elif torch.jit.isinstance(x, (bool, int)):
        return 1
    return x.size(0)


def size(x: Optional[torch.Tensor]) -> int:
    if x is not None and torch.jit.isinstance(x, torch.Tensor):
        return x.size(0)
    return 0


scripted = torch.jit.script(kind), torch.jit.script(size)
"""


def test_classes_are_asked_for_alike_scripted_too(tmp_path: Path) -> None:
    before, after = before_and_after(CLASSES, tmp_path, "--select", "TS142")
    assert "jit.isinstance" not in Path(str(after.__file__)).read_text()
    x = torch.randn(4, 2)
    for value in ("ab", True, x):
        results = [f(value) for f in (before.kind, after.kind, before.scripted[0], after.scripted[0])]
        assert results == results[:1] * 4
    for value in (None, x):
        results = [f(value) for f in (before.size, after.size, before.scripted[1], after.scripted[1])]
        assert results == results[:1] * 4


ATTRIBUTE = """
from typing import Dict

import torch


class Count(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = torch.jit.Attribute({}, Dict[str, int])

    def forward(self, x: torch.Tensor):
        self.sizes["x"] = x.size(0)
        return x + len(self.sizes)
"""


def test_an_annotated_attribute_is_one_for_torchscript_and_works_in_eager_mode(tmp_path: Path) -> None:
    before, after = before_and_after(ATTRIBUTE, tmp_path, "--unsafe")
    x = torch.randn(2, 3)
    assert torch.equal(torch.jit.script(before.Count())(x), torch.jit.script(after.Count())(x))
    with pytest.raises(TypeError):
        before.Count()(x)
    assert torch.equal(after.Count()(x), x + 1)
