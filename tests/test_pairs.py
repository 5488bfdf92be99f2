"""The prefilter for symbols whose names are common words."""

from __future__ import annotations

import pytest

from torchmigrate.model.rule import Calls
from torchmigrate.prefilter.text_prefilter import TextPrefilter
from torchmigrate.prefilter.triggers import list_symbols

SYMBOLS: dict[str, tuple[str, ...]] = {
    "torch.load": (),
    "torch.cuda.amp.autocast": (),
    "torch.nn.functional.upsample": (),
    "torch._six.*": (),
    "functorch.vmap": (),
    "torch.nn.MSELoss": ("size_average",),
    ".storage": (".data_ptr",),
}
PAIRS = TextPrefilter((), [(list_symbols(SYMBOLS), {})])


@pytest.mark.parametrize(
    "text",
    [
        "torch.load(f)",
        "import torch as th\nth.load(f)",
        "import torch\nth = torch\nth.load(f)",
        "torch \\\n  .load(f)",
        "(torch\n  .load(f))",
        "(torch  # why\n  .load(f))",
        "(torch\n  # why\n  .\n  load(f))",
        "(torch.\n  # why\n  # not\n  load(f))",
        "from torch import load",
        "from torch import (\n    save,  # both\n    load as read,\n)",
        "from torch import save, \\\n    load",
        "from torch import *\nload(f)",
        "from torch import save\rfrom torch.cuda.amp import autocast\r",
        'getattr(torch, "load")',
        'mock.patch("torch.load")',
        "import torch.cuda.amp\ntorch.cuda.amp.autocast()",
        "from torch.cuda import amp as mixed\nmixed.autocast()",
        "from torch.cuda.amp import autocast",
        "import torch.nn.functional as fn\nfn.upsample(x)",
        "import torch.nn.functional as é\né.upsample(x)",
        "from .torch_common import *\nF.upsample(x)",
        "from torch._six import inf",
        "from torch import _six",
        "from functorch import vmap",
        "torch.nn.MSELoss(size_average=True)",
        "torch and x.storage().data_ptr()",
        'f"""{torch.load(f)} and more"""',
        "def f(x: 'torch.load | None'): ...",
        '# it\'s "odd"\ntorch.load(f)',
        '"""A word."""\nx = \'"""\'\ntorch.load(f)\ny = """a word"""',
        '{"source": ["import torch\\n", "torch.load(f) if f else None"]}',
        "compat.torch.load(f)",
    ],
)
def test_what_spells_a_pair_passes(text: str) -> None:
    assert PAIRS.passes_text(text.encode())
    assert list(PAIRS.find_offsets(text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "import torch\njson.load(f)",
        "import torch\nimport json as j\nj.load(f)",
        "from torch.serialization import save",
        "from torch import save\nload(f)",
        "torch.loader.x",
        "mytorch.load(f)",
        "torch.nn.MSELoss(reduction='sum')",
        "torch and x.storage().get()",
        "# torch\nclass Vmap: ...",
        "torch.amp.autocast()",
        "from torch.amp import autocast",
        "from torch.amp import *\nautocast()",
    ],
)
def test_what_does_not_is_turned_away(text: str) -> None:
    assert not PAIRS.passes_text(text.encode())


CALLS = TextPrefilter(
    (),
    [
        (
            list_symbols(
                {"torch.load": (), "torch.add": (), "torch.cross": (), "torch.flatten": ("dims", "out_dim")}
            ),
            {
                "torch.load": Calls(without=frozenset(["weights_only"])),
                "torch.add": Calls(more_than=2),
                "torch.cross": Calls(without=frozenset(["dim"]), fewer_than=3),
                "torch.flatten": Calls(giving=frozenset(["dims", "out_dim"])),
            },
        )
    ],
)


@pytest.mark.parametrize(
    "text",
    [
        "torch.load(f)",
        "torch.load",
        "torch.load(f, **options)",
        "torch.load(f, weights_only == True)",
        "torch.load(f, g(weights_only=True))",
        "torch.load(f, 'weights_only=True')",
        "torch.load(f,\n    # weights_only=True\n)",
        "torch.load(f, weights_only=True)\ntorch.load(g)",
        "torch.load(f, map_location={')': weights_only(1)})",
        "torch.load(" + "[" * 2000 + "weights_only=True" * 200,
        "from torch import load\nload(f, weights_only=True)",
        "getattr(torch, 'load')(f, weights_only=True)",
        "torch.add(x, 2, y)",
        "torch.add(x, 2, y, out=z)",
        "torch.add(*args)",
        "torch.cross(a, b)",
        "torch.cross(a, b, out=c)",
        "torch.flatten(x, dims=d)",
        "torch.flatten(x, 1, out_dim\\\n = 'a')",
        "partial(torch.flatten, dims=d)",
    ],
)
def test_calls_that_matter_pass(text: str) -> None:
    assert CALLS.passes_text(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "torch.load(f, weights_only=True)",
        "torch \\\n .load (f, map_location=')',  # (\n    weights_only = False)",
        "import torch as th\nth.load(g(1, 2), weights_only=w)",
        "torch.load(\n    f'''(''' \"(\" '\\'(',\n    weights_only=True,\n)",
        "torch.add(x, y)",
        "torch.add(x, (1, 2, 3), alpha=4, out=[y, z])",
        "torch.add(f(1, 2, 3) * 2)",
        "torch.cross(a, b, 1)",
        "torch.cross(a, b, dim=1)",
        "torch.flatten(x, start_dim=1)  # dims=",
    ],
)
def test_calls_that_are_settled_do_not(text: str) -> None:
    assert not CALLS.passes_text(text.encode())


def test_a_call_matters_that_matters_to_one_rule() -> None:
    one, other = Calls(frozenset("a"), frozenset("b")), Calls(frozenset("c"), frozenset("bd"))
    assert one.union_with(other) == Calls(frozenset("ac"), frozenset("b"))
    assert one.union_with(Calls()) == Calls()
