"""Saves and loads of a chain: `torch.export.save`, `torch.export.load`, and the name of the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchmigrate.api import Kind, NoFix, NotYet, Use
from torchmigrate.model.findings import Change
from torchmigrate.rewrite.changes import AddArgument, NameArgument, Rename, replace, template
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.model_files import SAVE_METHODS, SAVES

from .._authoring.authoring import LOADING
from .chain import Chain, File, is_method
from .loading import loaded
from .paths import is_same, may_be_same

_NEW_KEYWORDS = {"m": "ep", "_extra_files": "extra_files"}


def saved(chain: Chain) -> Iterator[Change]:
    """``m.save(p)``, ``torch.jit.save(m, p)`` → ``torch.export.save(m, p2)``, and so what loads the same files.

    Raises NoFix where something else in this file may use the files.
    """
    for place, call in chain.saves:
        path = chain.path_of(place, call)
        if path is None or any(isinstance(argument, ast.Starred) for argument in call.args):
            raise NoFix("the path that it is saved to is not written out")
        yield from _save(chain, place, call)
        same = next((file for file in chain.files if is_same(path, file.paths[0], chain.use, chain)), None)
        if same is None:
            chain.files.append(File([path]))
        else:
            same.paths.append(path)
    for file in chain.files:
        yield from _followed(chain, file)


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


def _followed(chain: Chain, file: File) -> Iterator[Change]:
    """Lets what loads the file in this module follow, and adds the paths that it is loaded from."""
    ctx, path = chain.ctx, file.paths[0]
    if any(is_same(other, path, use, chain) for use, other in _other_saves(path, chain)):
        raise NoFix("the same file is saved elsewhere as well")
    loads = [(use, use.call) for use in ctx.uses.found if use.symbol in LOADING and use.call is not None]
    reads = [(use, argument(call, 0, "f")) for use, call in loads]
    mine = [(use, read) for use, read in reads if read is not None and is_same(read, path, use, chain)]
    chain.members += [use.node for use, _ in mine]
    for use, read in reads:
        if (use, read) not in mine and may_be_same(read, path, use, chain):
            raise NotYet(
                f"line {use.node.lineno} no longer loads a TorchScript file, which may be the one that is saved"
            )
    for use, read in mine:
        if use.place.scope is chain.scope and use.node.lineno < chain.use.node.lineno:
            raise NoFix("the file is loaded before it is saved here")
        file.paths.append(read)
        result = Chain(use, ctx)
        try:
            yield from loaded(use, ctx, result)
            file.is_read |= bool(result.called_with() or result.kept)
        except NoFix as none:
            raise NoFix(f"what loads the file has no fix: {none.reason}") from None


def _other_saves(path: ast.expr, chain: Chain) -> Iterator[tuple[Use, ast.expr]]:
    """What else the module saves, and to where, but for literals that differ from a literal ``path``."""
    mine = [call for _, call in chain.saves]
    saves = chain.ctx.uses.once(_saves, lambda: _saves(chain.ctx.uses.found))
    literals = [_said(path), None] if isinstance(path, ast.Constant) else list(saves)
    for literal in literals:
        yield from ((use, other) for use, other in saves.get(literal, ()) if use.call not in mine)


def _saves(found: Sequence[Use]) -> dict[str | None, list[tuple[Use, ast.expr]]]:
    """The saves among uses, and to where, by the literal that says so; None: by no literal."""
    saves: dict[str | None, list[tuple[Use, ast.expr]]] = {}
    for use in found:
        if use.kind is Kind.CALL and use.call is not None:
            position = 1 if use.symbol in SAVES else 0 if use.symbol in SAVE_METHODS else None
            path = argument(use.call, position, "f") if position is not None else None
            if path is not None:
                saves.setdefault(_said(path), []).append((use, path))
    return saves


def _said(path: ast.expr) -> str | None:
    return repr(path.value) if isinstance(path, ast.Constant) else None
