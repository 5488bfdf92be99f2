"""Saves and loads of a chain: `torch.export.save`, `torch.export.load`, and the name of the file."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from torchmigrate.api import Kind, NoFix, NotYet, Use
from torchmigrate.model.findings import Change
from torchmigrate.rewrite.changes import AddArgument, DropArguments, NameArgument, Rename, replace, template
from torchmigrate.semantics.calls import argument, arguments, value
from torchmigrate.semantics.resolve import string

from .._authoring.authoring import LOADING, SAVE_METHODS, SAVES
from .chain import Chain, is_method
from .compiling import without_modes
from .paths import is_same, may_be_same, renamed

_NEW_KEYWORDS = {"m": "ep", "_extra_files": "extra_files"}


def saved(chain: Chain) -> Iterator[Change]:
    """``m.save(p)``, ``torch.jit.save(m, p)`` → ``torch.export.save(m, p2)``, and so what loads the same files.

    Raises NoFix where something else may use the files.
    """
    files: list[list[ast.expr]] = []
    for place, call in chain.saves:
        path = chain.path_of(place, call)
        if path is None or any(isinstance(argument, ast.Starred) for argument in call.args):
            raise NoFix("the path that it is saved to is not written out")
        yield from _save(chain, place, call)
        same = next((paths for paths in files if is_same(path, paths[0], chain.use, chain)), None)
        if same is None:
            files.append([path])
        else:
            same.append(path)
    for paths in files:
        yield from _followed(chain, paths)


def _save(chain: Chain, place: ast.expr, call: ast.Call) -> Iterator[Change]:
    for keyword in call.keywords:
        if keyword.arg not in ("f", *_NEW_KEYWORDS):
            raise NoFix(f"`{keyword.arg or '**'}` of save has no counterpart")
        if keyword.arg in _NEW_KEYWORDS:
            yield Rename(keyword, _NEW_KEYWORDS[keyword.arg])
    yield replace(call.func, "{save}", save=chain.ctx.symbol("torch.export.save", chain.use))
    if is_method(place, call):
        yield AddArgument(call, template("{program}", program=place), first=True)
    position = 1 if is_method(place, call) else 2
    files = argument(call, position, "_extra_files")
    values = files.values if isinstance(files, ast.Dict) else []
    if any(isinstance(value, ast.Constant) and isinstance(value.value, bytes) for value in values):
        raise NoFix("`torch.export` takes extra files as str only")
    if len(call.args) > position:
        yield NameArgument(call.args[position], "extra_files")


def _followed(chain: Chain, paths: list[ast.expr]) -> Iterator[Change]:
    """Renames the file that is saved to ``paths``, and lets what loads it follow."""
    ctx, path = chain.ctx, paths[0]
    if any(is_same(other, path, use, chain) for use, other in _other_saves(chain)):
        raise NoFix("the same file is saved elsewhere as well")
    for use in ctx.uses.found:
        if use.symbol not in LOADING or use.call is None:
            continue
        read = argument(use.call, 0, "f")
        if read is not None and is_same(read, path, use, chain):
            paths.append(read)
            yield from _loaded(chain, use, use.call)
        elif may_be_same(read, path, use, chain):
            raise NotYet(
                f"line {use.node.lineno} no longer loads a TorchScript file, which may be the one that is saved"
            )
    for mention in ctx.project.uses(*LOADING, kinds=(Kind.CALL,)):
        if mention.path != ctx.source.path and _may_be(dict(mention.constants), path):
            raise NotYet(
                f"{mention.path}:{mention.line} no longer loads a TorchScript file, which may be the one that is saved"
            )
    yield from renamed(paths, ctx, chain.use)


def _may_be(given: dict[str, object], path: ast.expr) -> bool:
    """Whether a load with these literal arguments, in another file, may read what is saved to ``path``."""
    read, saved = given.get("0", given.get("f")), string(path)
    if not isinstance(read, str) or saved is None:
        return True
    return os.path.basename(read) == os.path.basename(saved)


def _other_saves(chain: Chain) -> Iterator[tuple[Use, ast.expr]]:
    mine = [call for _, call in chain.saves]
    for use in chain.ctx.uses.found:
        if use.kind is Kind.CALL and use.call is not None and use.call not in mine:
            position = 1 if use.symbol in SAVES else 0 if use.symbol in SAVE_METHODS else None
            path = argument(use.call, position, "f") if position is not None else None
            if path is not None:
                yield use, path


def _loaded(chain: Chain, use: Use, call: ast.Call) -> Iterator[Change]:
    """``torch.jit.load(p)`` → ``torch.export.load(p2).module()``, and what is done with the result."""
    chain.members.append(use.node)
    if use.place.scope is chain.scope and use.node.lineno < chain.use.node.lineno:
        raise NoFix("the file is loaded before it is saved here")
    result = Chain(use, chain.ctx)
    try:
        result.follow()
    except NoFix as none:
        raise NoFix(f"what loads the file has no fix: {none.reason}") from None
    if result.saves or result.wrappers:
        raise NoFix("the loaded file is saved or frozen again")
    if argument(call, 2, "_extra_files") is not None:
        raise NoFix("`torch.export.load` gives extra files as str, where `torch.jit.load` gives bytes")
    if any(keyword.arg not in ("f", "map_location") for keyword in call.keywords):
        raise NoFix("the arguments of the load are not written out")
    device = argument(call, 1, "map_location")
    if isinstance(device, (ast.Lambda, ast.Dict)):
        raise NoFix("`map_location` is no device")
    yield chain.ctx.renamed(use, "torch.export.load")
    yield DropArguments(call, tuple(node for node in arguments(call) if value(node) is device))
    if device is None or (isinstance(device, ast.Constant) and device.value is None):
        yield replace(call, "{program}.module()", program=call)
    else:
        yield replace(call, "{program}.module().to({device})", program=call, device=device)
    yield from without_modes(result)
