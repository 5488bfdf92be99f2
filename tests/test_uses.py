"""Which uses are found behind which spelling, and which look-alikes are not."""

from __future__ import annotations

import textwrap

import pytest

from torchmigrate.model.vocabulary import Kind
from torchmigrate.prefilter.watched_symbols import WatchedSymbols
from torchmigrate.semantics.symbol_uses import SymbolUses
from torchmigrate.semantics.use import Use
from torchmigrate.text.source_reader import read_source

WATCH = WatchedSymbols(
    [
        "torch.jit.script",
        "torch.jit.script().save",
        "torch.jit.ScriptModule",
        "torch.jit.is_scripting",
        "torch._C._jit_*",
        "torch.cuda.is_current_stream_capturing",
        "torch.get_device_module().is_current_stream_capturing",
        ".to_torchscript",
    ]
)


def uses(code: str) -> list[Use]:
    return SymbolUses(read_source("case.py", textwrap.dedent(code).encode()), WATCH).all_uses


def found(code: str) -> list[tuple[str, str]]:
    return [(use.symbol, use.kind.value) for use in uses(code)]


SCRIPT = ("torch.jit.script", "call")


@pytest.mark.parametrize(
    "code",
    [
        "import torch\ntorch.jit.script(f)",
        "import torch as t\nt.jit.script(f)",
        "import torch.jit\ntorch.jit.script(f)",
        "import torch.jit as J\nJ.script(f)",
        "from torch import jit\njit.script(f)",
        "from torch.jit import script\nscript(f)",
        "from torch.jit import script as s\ns(f)",
        "from torch.jit import *\nscript(f)",
        "import torch\njit = torch.jit\njit.script(f)",
        "import torch\ns = torch.jit\nt = s\nt.script(f)",
        "import torch, os\na, b = torch.jit, os\na.script(f)",
        "def g():\n    import torch\n    torch.jit.script(f)",
        "def g():\n    import torch as t\n    def h():\n        return t.jit.script(f)",
        "class A:\n    import torch\n    x = torch.jit.script(f)",
        "try:\n    import torch\nexcept ImportError:\n    torch = None\ntorch.jit.script(f)",
        "torch = None\ndef load():\n    global torch\n    import torch\n    torch.jit.script(f)",
        "try:\n    from torch.jit import script\nexcept ImportError:\n    def script(f): return f\nscript(f)",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\ntorch.jit.script(f)",
        'import torch\ngetattr(torch, "jit").script(f)',
        'import torch\ngetattr(torch.jit, "script", None)(f)',
        "import pytest\ntorch = pytest.importorskip('torch')\ntorch.jit.script(f)",
        "import importlib\nimportlib.import_module('torch.jit').script(f)",
        "import torch\n(torch\n  .jit\n  .script)(f)",
        "import torch\n[torch.jit.script(f) for f in fs]",
        "import torch\nx = lambda f: torch.jit.script(f)",
        "import torch\nif (jit := torch.jit): torch.jit.script(f)",
        "import torch\nx = {'a': [1, (torch.jit.script(f),)]}",
        "import torch; torch.jit.script(f)",
        "import torch\ndel torch.foo\nmatch torch.jit.script(f):\n    case _: pass",
        "import torch\nasync def g():\n    await torch.jit.script(f)",
    ],
)
def test_a_call_is_found_behind_every_spelling(code: str) -> None:
    assert [hit for hit in found(code) if hit[1] == "call"] == [SCRIPT]


@pytest.mark.parametrize(
    "code",
    [
        "def g(torch):\n    torch.jit.script(f)",
        "import torch\ndef g():\n    torch = 1\n    torch.jit.script(f)",
        "import torch\ndef g(*, torch): return lambda: torch.jit.script(f)",
        "import torch\n[torch.jit.script(f) for torch in x]",
        "import torch\nlambda torch: torch.jit.script(f)",
        "import torch\nfor torch in x: pass\ntorch.jit.script(f)",
        "import torch\nwith x as torch: pass\ntorch.jit.script(f)",
        "import torch\nif (torch := 3): torch.jit.script(f)",
        "import torch\nclass torch: pass\ntorch.jit.script(f)",
        "import torch\nmatch x:\n    case {'a': torch}: torch.jit.script(f)",
        "import torch\ntry:\n    pass\nexcept E as torch:\n    torch.jit.script(f)",
        "import jax as torch\ntorch.jit.script(f)",
        "from numba import jit\njit.script(f)",
        "import torch\nself.jit.script(f)",
        "script(f)  # torch.jit",
        "x = 'torch.jit.script'",
        "import mytorch as torch\ntorch.jit.script(f)",
        "import torch\nfuse = torch.jit.scripted\nfuse(f)",
        "if new:\n    from torch import compile as fuse\nelse:\n    from torch.jit import script as fuse\nfuse(f)",
    ],
)
def test_look_alikes_are_silent(code: str) -> None:
    assert found(code) == []


def test_a_name_bound_to_different_things_is_not_followed() -> None:
    code = """
        import torch
        jit_fuser = torch.jit.script
        if new:
            jit_fuser = torch.compile

        @jit_fuser
        def f(x): ...
    """
    assert [(use.kind, use.node.lineno) for use in uses(code)] == [(Kind.REFERENCE, 3)]


def test_alternatives_of_an_import_error_are_found_but_not_certain() -> None:
    code = (
        "try:\n    from torch.jit import script\nexcept ImportError:\n    from other import script\nscript(f)"
    )
    (use,) = uses(code)
    assert use.symbol == "torch.jit.script"
    assert not use.certain


def test_what_only_type_checkers_see_does_not_hide_what_runs() -> None:
    code = """
        if TYPE_CHECKING:
            from typing import overload as script
        else:
            from torch.jit import script

        @script
        def f(): ...
    """
    assert [(use.kind, use.certain) for use in uses(code)] == [(Kind.DECORATOR, False)]


def test_a_wildcard_does_not_stand_for_results() -> None:
    assert found("import torch\nx = torch._C._jit_get()\nx.y()") == [("torch._C._jit_*", "call")]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("fn = torch.jit.script", "reference"),
        ("@torch.jit.script\ndef f(): ...", "decorator"),
        ("@torch.jit.script(a=1)\ndef f(): ...", "call"),
        ("def f(x=torch.jit.script): ...", "reference"),
        ("functools.partial(torch.jit.script, x)", "reference"),
        ("def f(x: torch.jit.ScriptModule): ...", "annotation"),
        ("def f() -> 'list[torch.jit.ScriptModule]': ...", "annotation"),
        ("x: torch.jit.ScriptModule", "annotation"),
        ("isinstance(x, torch.jit.ScriptModule)", "isinstance"),
        ("issubclass(x, (int, torch.jit.ScriptModule))", "isinstance"),
        ("class A(torch.jit.ScriptModule): ...", "base"),
        ("torch.jit.script = mine", "assignment"),
        ("del torch.jit.script", "assignment"),
        ("setattr(torch.jit, 'script', mine)", "assignment"),
        ("monkeypatch.setattr(torch.jit, 'script', mine)", "assignment"),
        ("mock.patch.object(torch.jit, 'script')", "assignment"),
        ("monkeypatch.setattr('torch.jit.script', mine)", "string"),
        ("mock.patch('torch.jit.script')", "string"),
        ("mock.patch('mypkg.module.torch.jit.script')", "string"),
        ("hasattr(torch.jit, 'script')", "guard"),
        ("torch._C._jit_set_profiling_mode(False)", "call"),
        ("torch.get_device_module(d).is_current_stream_capturing()", "call"),
        ("model.to_torchscript()", "call"),
        ("from torch.jit import script", "import"),
    ],
)
def test_the_kind_of_a_use(code: str, kind: str) -> None:
    assert [use.kind.value for use in uses("import torch\n" + code)] == [kind]


def test_a_call_knows_its_call_and_what_it_decorates() -> None:
    (use,) = uses("import torch\n@torch.jit.script(x=1)\ndef f(): ...")
    assert use.call is not None
    assert use.decorated is not None
    assert use.decorated.name == "f"


def test_results_are_followed_through_variables() -> None:
    code = """
        import torch
        from torch.jit import script as s

        def export(m):
            scripted = s(m)
            scripted.save("m.pt")
            s(s(m)).save("n.pt")
            other.save("o.pt")
    """
    saves = [use.node.lineno for use in uses(code) if use.symbol.endswith(".save")]
    assert saves == [7, 8]


def test_positions_in_string_annotations_are_exact() -> None:
    source = read_source("case.py", "import torch\nx: 'ä | torch.jit.ScriptModule' = 1\n".encode())
    (use,) = SymbolUses(source, WATCH).all_uses
    assert source.get_segment(use.node) == "torch.jit.ScriptModule"


def test_uses_come_in_order_of_position() -> None:
    code = "import torch\nx = torch.jit.script(torch.jit.is_scripting()); y = torch.jit.script"
    assert [use.node.col_offset for use in uses(code)] == [4, 21, 52]


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        (b"import torch\ntorch.jit.script", True),
        (b"import numba\nnumba.jit", False),
        (b"import torch\njitter = 1", False),
        (b"import torch, triton\n@triton.jit\ndef f(): ...", False),
        (b"import torch as t\nt.jit.script", True),
        (b"from torch import jit\njit.script", True),
        (b"from torch import (nn,\n jit)\njit.script", True),
        (b"from .compat import *\ntorch\ntorch.jit.script", True),
        (b"from x import (a,\n torch as t)\nt.jit.script", True),
        (b"import torch\nt = torch\nt.jit.script", True),
        (b"import torch\ntorch \\\n  .jit.script", True),
        (b"import torch\ngetattr(torch, 'jit').script", True),
        (b"import torch\nmock.patch('torch.jit.script')", True),
        (b"t = pytest.importorskip('torch')\nt.jit.script", True),
        (b"import torch\nm.to_torchscript()", True),
        (b"import torch\ntorch._C._jit_set_x()", True),
        (b"import pytorch_lightning\nm.to_torchscript()", True),
        (b"import torch.jit\nscripted = 1", False),
        (b"# a\rimport torch\rtorch.jit.script", True),
        (b"import torch\nf'''\n# {torch.jit.script}'''", True),
        (b"import torch\n@torch.jit.script\ndef f(): ...", True),
        (b"import torch\n@torch.cuda.is_current_stream_capturing\ndef f(): ...", True),
    ],
)
def test_the_gate(text: bytes, passes: bool) -> None:
    assert WATCH.prefilter.passes_text(text) is passes


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        (b"import torch, triton\n@triton.jit\ndef f(): ...", False),
        (b"import torch.utils as u\nu.jit.log_extract.f()", True),
        (b"from torch.utils import jit\njit.log_extract.f()", True),
        (b"from torch import utils\nutils.jit.log_extract.f()", True),
        (b"import torch\ntorch.jit.script", True),
    ],
)
def test_a_token_that_stands_elsewhere_too_is_no_word_of_any_library(text: bytes, passes: bool) -> None:
    assert WatchedSymbols(["torch.jit.script", "torch.utils.jit.*"]).prefilter.passes_text(text) is passes


def test_the_beginning_of_a_name_is_enough_beside_a_token() -> None:
    prefilter = WatchedSymbols(["torch.onnx.symbolic_opset*"]).prefilter
    assert prefilter.passes_text(b"import torch\ntorch.onnx.symbolic_opset9")
    assert not prefilter.passes_text(b"import torch\ntorch.onnx.a_symbolic_opset9")


def test_an_environment_variable_is_a_string_that_is_its_name() -> None:
    code = """
        import os, torch
        os.environ["TORCH_SWITCH"] = "1"
        os.environ.get("TORCH_SWITCHES")
        print("set TORCH_SWITCH to 1")
        """
    source = read_source("case.py", textwrap.dedent(code).encode())
    (use,) = SymbolUses(source, WatchedSymbols(["$TORCH_SWITCH"])).all_uses
    assert (use.symbol, use.name, use.kind) == ("$TORCH_SWITCH", "TORCH_SWITCH", Kind.STRING)
    assert use.node.lineno == 3
