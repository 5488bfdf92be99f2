"""Gate 1 for symbols whose names are words of every program."""

from __future__ import annotations

import pytest

from torchmigrate.gates.gate import Gate

PAIRS = Gate(
    (),
    {
        "torch.load": (),
        "torch.cuda.amp.autocast": (),
        "torch.nn.functional.upsample": (),
        "torch._six.*": (),
        "functorch.vmap": (),
        "torch.nn.MSELoss": ("size_average",),
        ".storage": (".data_ptr",),
    },
)


@pytest.mark.parametrize(
    "text",
    [
        "torch.load(f)",
        "import torch as th\nth.load(f)",
        "import torch\nth = torch\nth.load(f)",
        "torch \\\n  .load(f)",
        "(torch\n  .load(f))",
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
    assert PAIRS.passes(text.encode())
    assert list(PAIRS.positions(text.encode()))


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
    assert not PAIRS.passes(text.encode())
