"""What only TorchScript accepts, or does otherwise than Python: torch is asked about each kind.

A kind that torch runs alike in both languages may not be reported, so that it does not keep a function scripted; one
that differs has to be.
"""

from __future__ import annotations

import ast
import copy
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from rules.torchscript._script.inferred_types import InferredTypes
from rules.torchscript._script.python_differences import find_differences
from tests.executed.torchscript import torch

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

HEAD = """
import math
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch._jit_internal import BroadcastingList2


def f({parameters}:
    {body}
"""
X = "torch.ones(2, 3)"

DIFFERENT = {
    "a size and a list": ("x: Tensor)", "return x.new_zeros(x.shape[:-1] + [1])", X),
    "a list and a size": ("x: Tensor)", "return [1] + x.size()", X),
    "a size grows": ("x: Tensor)", "s = x.shape; s += [1]; return x.new_zeros(s)", X),
    "a part of a size and a list": ("x: Tensor)", "s = x.shape[:-1]; return x.view(s + [1, 3])", X),
    "a size is a list": ("x: Tensor)", "return x.shape == [2, 3]", X),
    "a size is no list": ("x: Tensor)", "return x.size() != [2, 3]", X),
    "a size is an argument": ("x: Tensor, s: List[int])", "return x.shape == s", f"{X}, [2, 3]"),
    "no size is empty": ("x: Tensor)", "return x.shape == []", "torch.tensor(1.0)"),
    "a stride is a list": ("x: Tensor)", "return x.stride() == [3, 1]", X),
    "a size gets an item": ("x: Tensor)", "s = x.shape; s.append(1); return x.new_zeros(s)", X),
    "a size loses an item": ("x: Tensor)", "s = x.shape; s[0] = 1; return x.new_zeros(s)", X),
    "a copied size": ("x: Tensor)", "return x.new_zeros(x.shape.copy())", X),
    "a size in a text that is returned and shown": (
        "x: Tensor)",
        "text = f'{x.shape}'\n    assert x.dim() == 2, text\n    return text",
        X,
    ),
    "a returned size": ("x: Tensor) -> List[int]", "return x.shape", X),
    "a tuple and a list": ("s: List[int])", "return s + [1]", "(1, 2)"),
    "a tuple is a list": ("s: List[int])", "return s == [1, 2]", "(1, 2)"),
    "parts and a list": ("x: Tensor)", "return torch.cat(x.chunk(2) + [x])", X),
    "parts get a part": ("x: Tensor)", "c = x.split(1); c.append(x); return torch.cat(c)", X),
    "one part is another": ("x: Tensor)", "c = x.unbind(0); c[0] = x[1]; return torch.stack(c)", X),
    "returned parts": ("x: Tensor)", "return x.chunk(2)", X),
    "an argument gets an item": ("s: List[int])", "s.append(1); return len(s)", "[1]"),
    "an item of an argument": ("s: List[int])", "s[0] = 9; return len(s)", "[1]"),
    "an argument grows": ("s: List[int])", "s += [9]; return len(s)", "[1]"),
    "a sorted argument": ("s: List[int])", "s.sort(); return s[0]", "[3, 1]"),
    "a key of an argument": ("d: Dict[str, int])", "d['b'] = 9; return len(d)", "{'a': 1}"),
    "an argument grows before it is copied": (
        "s: List[int])",
        "s.append(1); s = list(s); return len(s)",
        "[1]",
    ),
    "an argument is copied in a branch": (
        "s: List[int])",
        "if len(s) > 1:\n        s = list(s)\n    s.append(1); return len(s)",
        "[1]",
    ),
    "an argument is copied and given back": (
        "s: List[int], t: List[int])",
        "s = list(s)\n    s = t\n    s.append(1); return len(s)",
        "[1], [2]",
    ),
    "an updated argument": ("d: Dict[str, int])", "d.update({'b': 1}); return len(d)", "{'a': 1}"),
    "the first key": ("d: Dict[str, int])", "return d.keys()[0]", "{'a': 1}"),
    "the first value": ("d: Dict[str, int])", "return d.values()[0]", "{'a': 1}"),
    "values and a list": ("d: Dict[str, int])", "return d.values() + [1]", "{'a': 1}"),
    "the keys": ("d: Dict[str, int])", "return d.keys()", "{'a': 1}"),
    "a rounded number": ("k: float)", "return round(k)", "2.5"),
    "a power of integers": ("k: int)", "return k ** 2", "3"),
    "the text of a float": ("k: float)", "return str(k)", "0.1"),
    "a float in a text": ("k: float)", "return f'{k}'", "1.0"),
    "a formatted float": ("k: float)", "return '{}'.format(k)", "1.0"),
    "a numbered place": ("k: str)", "return '{0}'.format(k)", "'a'"),
    "a float behind %s": ("k: float)", "return '%s' % k", "3.0"),
    "the text of a size": ("x: Tensor)", "return str(x.shape)", X),
    "the text of a dtype": ("x: Tensor)", "return str(x.dtype)", X),
    "the text of a tensor": ("x: Tensor)", "return f'{x}'", X),
    "a dtype is a number": ("x: Tensor)", "return x.dtype == 6", X),
    "a device is a text": ("x: Tensor)", "return x.device == 'cpu'", X),
    "a remainder in place": ("x: Tensor)", "x %= 2; return x", "-torch.ones(2, 3)"),
    "a remainder of a number in place": ("k: int)", "k %= 2; return k", "-3"),
    "a remainder of an item in place": ("x: Tensor)", "x[0] %= 2; return x", "-torch.ones(2, 3)"),
    "a root of a number": ("x: Tensor)", "return torch.sqrt(x.size(0))", X),
    "an exponential of a number": ("k: float)", "return torch.exp(k)", "2.0"),
    "a sum of numbers": ("k: float)", "return torch.add(k, 1.0)", "2.0"),
    "math of a tensor": ("x: Tensor)", "return math.sqrt(x)", "torch.tensor(4.0)"),
    "a tensor for a number": ("x: Tensor) -> float", "return x.sum()", X),
    "one dimension to flip": ("x: Tensor)", "return torch.flip(x, 0)", X),
    "one number for two": ("k: BroadcastingList2[int])", "return k[0]", "2"),
    "an int for a float": ("k: float)", "return torch.full((2,), k)", "2"),
    "a tensor of an int for a float": ("k: float)", "return torch.tensor(k)", "2"),
}
ALIKE = {
    "a remainder of a number": ("k: int)", "k = k % 2; return k", "-3"),
    "a remainder": ("x: Tensor)", "x = x % 2; return x", "-torch.ones(2, 3)"),
    "a size and a size": ("x: Tensor)", "return x.view(x.shape[:-1] + x.shape[-1:])", X),
    "a list of a size": ("x: Tensor)", "s = list(x.shape); s[0] = -1; return x.view(s)", X),
    "two sizes": ("x: Tensor, y: Tensor)", "return x.shape[1:] == y.shape[1:]", f"{X}, {X}"),
    "an item of a size": ("x: Tensor)", "return x.shape[0] == 2 and x.size(1) == 3", X),
    "an unpacked size": ("x: Tensor)", "a, b = x.shape; return x.view(b, a)", X),
    "a list of its own grows": ("x: Tensor)", "s = [1]; s += x.shape; return s", X),
    "a list of its own grows by an argument": ("s: List[int])", "t = [1]; t += s; return t", "(1, 2)"),
    "a list of its own": ("n: int)", "s = [1]; s.append(n); return s + [2]", "3"),
    "a list in the place of an argument": (
        "s: List[int])",
        "s = list(s)\n    s.append(1); return s",
        "(1, 2)",
    ),
    "parts in the place of an argument": (
        "s: List[int])",
        "s = [i * 2 for i in s]\n    s[0] = 1; return s + [3]",
        "(1, 2)",
    ),
    "a dictionary in the place of an argument": (
        "d: Dict[str, int])",
        "d = dict(d)\n    d['b'] = 9; return d",
        "{'a': 1}",
    ),
    "a dictionary of its own": ("n: int)", "d = {'a': 1}; d['b'] = n; return d", "3"),
    "a shown size": ("x: Tensor)", "assert x.dim() == 2, f'{x.shape}'; return x", X),
    "a size shown by a variable": (
        "x: Tensor)",
        "text = f'{x.shape}'\n    if x.dim() > 9:\n        raise ValueError(text)\n    return x",
        X,
    ),
    "an int in a text": ("k: int)", "return f'{k}' + str(k)", "3"),
    "a rounded int": ("k: float)", "return int(round(k))", "2.6"),
    "a divided power": ("k: int)", "return 1 / k ** 2", "3"),
    "a root of a tensor": ("x: Tensor)", "return torch.sqrt(x * 2) + math.sqrt(2.0)", X),
    "a float of a tensor": ("x: Tensor) -> float", "return float(x.sum())", X),
    "broken up": ("x: Tensor)", "a, b = x.chunk(2); return a + b", X),
    "a floor": ("k: int)", "return k // 2 + k % 3 + abs(k)", "-7"),
    "a factor": ("x: Tensor, k: float)", "return x * k", f"{X}, 2"),
    "a mask": ("x: Tensor)", "return x[x > 0]", X),
    "a condition": ("x: Tensor)", "return x if bool(x.sum() > 0) else -x", X),
    "an optional": ("x: Tensor, y: Optional[Tensor] = None)", "return x if y is None else x + y", X),
    "pooling with one number": ("x: Tensor)", "return F.max_pool2d(x, 2)", "torch.ones(1, 4, 4)"),
    "a device": ("x: Tensor)", "return x.device.type == 'cpu'", X),
    "joined": ("x: Tensor)", "return torch.cat([x, x], dim=1).flip([0])", X),
    "a random tensor": ("n: int)", "return 2 * math.pi * torch.cos(torch.zeros(n))", "3"),
}


def _run(function: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """What a call gives and leaves its arguments as, in a form that tells lists from tuples."""
    given = copy.deepcopy(arguments)
    try:
        result = function(*given)
    except Exception as error:
        return [type(error)]
    return [_plain(result), _plain(given)]


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return ["tensor", str(value.dtype), value.tolist()]
    if isinstance(value, dict):
        return [type(value), *(_plain(item) for item in value.items())]
    if isinstance(value, (list, tuple)):
        return [type(value), *map(_plain, value)]
    return [type(value), value if isinstance(value, (bool, int, float, str)) else str(value)]


@pytest.mark.parametrize("name", [*DIFFERENT, *ALIKE])
def test_a_difference_is_reported_where_there_is_one(name: str, tmp_path: Path) -> None:
    parameters, body, arguments = {**DIFFERENT, **ALIKE}[name]
    text = HEAD.format(parameters=parameters, body=body)
    file = tmp_path / "program.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("program", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given = eval(f"({arguments},)", {"torch": torch})

    assert (_run(torch.jit.script(module.f), given) != _run(module.f, given)) == (name in DIFFERENT)

    tree = ast.parse(text)
    function = tree.body[-1]
    assert isinstance(function, ast.FunctionDef)
    found = [
        difference.reason
        for difference in find_differences(
            function, InferredTypes(function, ast.get_source_segment(text, function) or "")
        )
    ]
    assert bool(found) == (name in DIFFERENT), found
