"""What loads a file: ``torch.jit.load(p)`` → ``torch.export.load(p).module()``, and what is done with the result."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.model.findings import Change
from torchmigrate.rewrite.changes import DropArguments, replace
from torchmigrate.semantics.calls import argument, arguments, value

from .chain import Chain
from .compiling import without_modes

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


def loaded(use: Use, ctx: Context, result: Chain | None = None) -> Iterator[Change]:
    """The changes of one load. Raises NoFix where the exported program could not serve as the loaded module does.

    ``result`` is followed, where it is given.
    """
    call = use.call
    assert call is not None
    result = result or Chain(use, ctx)
    result.follow()
    if result.saves or result.wrappers:
        raise NoFix("the loaded file is saved or frozen again")
    if argument(call, 2, "_extra_files") is not None:
        raise NoFix("`torch.export.load` gives extra files as str, where `torch.jit.load` gives bytes")
    if any(keyword.arg not in ("f", "map_location") for keyword in call.keywords):
        raise NoFix("the arguments of the load are not written out")
    device = argument(call, 1, "map_location")
    if isinstance(device, (ast.Lambda, ast.Dict)):
        raise NoFix("`map_location` is no device")
    if varying := _varying(result):
        raise NoFix(f"line {varying.lineno} may give it other sizes than the example's")
    if not use.certain:
        raise NoFix("the name may stand for something else")
    yield ctx.renamed(use, "torch.export.load")
    yield DropArguments(call, tuple(node for node in arguments(call) if value(node) is device))
    if device is None or (isinstance(device, ast.Constant) and device.value is None):
        yield replace(call, "{program}.module()", program=call)
    else:
        yield replace(call, "{program}.module().to({device})", program=call, device=device)
    yield from without_modes(result)


def _varying(chain: Chain) -> ast.Call | None:
    """A call of the result with what a data loader gives, whose last batch is a smaller one."""
    for call in chain.called_with():
        around = chain.flow.parents.get(call)
        while around is not None and not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)):
            loops = [around] if isinstance(around, ast.For) else getattr(around, "generators", [])
            sources = [ast.unparse(loop.iter).lower() for loop in loops]
            if any(word in source for source in sources for word in ("loader", "dataset", "batch")):
                return call
            around = chain.flow.parents.get(around)
    return None
