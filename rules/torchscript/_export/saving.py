"""Saves and loads of a chain, as edits: `torch.export.save`, `torch.export.load`, and the name of the file."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from torchmigrate.api import Kind, Use
from torchmigrate.rewrite import calls
from torchmigrate.semantics.dataflow import Escape
from torchmigrate.semantics.resolve import string

from .._authoring.authoring import LOADING
from .chain import SAVE_METHODS, SAVES, Chain, Withheld, is_method
from .paths import is_same, may_be_same, renamed
from .rewriting import Rewriting


def saved(rewriting: Rewriting, place: ast.expr, call: ast.Call) -> None:
    """``m.save(p)``, ``torch.jit.save(m, p)`` → ``torch.export.save(m, p2)``, and so what loads the same file."""
    chain, source = rewriting.chain, rewriting.source
    path = chain.path_of(place, call)
    if path is None or any(isinstance(argument, ast.Starred) for argument in call.args):
        raise Withheld("the path that it is saved to is not written out")
    for keyword in call.keywords:
        if keyword.arg not in ("f", "m", "_extra_files"):
            raise Withheld(f"`{keyword.arg or '**'}` of save has no counterpart")
    spelling = rewriting.spell("torch.export.save")
    if is_method(place, call):
        span = source.span(place)
        if calls.outer(source, place) != span:
            raise Withheld("what is saved stands in parentheses of its own")
        opening = calls.opening(source, call)
        breaks = source.text[opening : opening + 1].isspace()
        rewriting.insert(span.start, f"{spelling}(")
        rewriting.delete(span.end, opening, "," if breaks else ", ")
    else:
        rewriting.edits.append(rewriting.ctx.replace(call.func, spelling))
    _extra_files(rewriting, call, 1 if is_method(place, call) else 2)
    for keyword in call.keywords:
        if keyword.arg == "m":
            rewriting.rename_keyword(keyword, "ep")
    _followed(rewriting, path)


def _extra_files(rewriting: Rewriting, call: ast.Call, position: int) -> None:
    files = calls.argument(call, position, "_extra_files")
    values = files.values if isinstance(files, ast.Dict) else []
    if any(isinstance(value, ast.Constant) and isinstance(value.value, bytes) for value in values):
        raise Withheld("`torch.export` takes extra files as str only")
    for keyword in call.keywords:
        if keyword.arg == "_extra_files":
            rewriting.rename_keyword(keyword, "extra_files")
    if len(call.args) > position:
        at = calls.span_of(rewriting.source, call, call.args[position]).start
        rewriting.insert(at, "extra_files=")


def _followed(rewriting: Rewriting, path: ast.expr) -> None:
    """Renames the file, and lets what loads it follow. Raises Withheld where something else uses it."""
    chain, ctx = rewriting.chain, rewriting.ctx
    if any(is_same(other, path, use, chain) for use, other in _other_saves(chain)):
        raise Withheld("the same file is saved elsewhere as well")
    paths = [path]
    for use in ctx.uses.found:
        if use.symbol not in LOADING or use.call is None:
            continue
        read = calls.argument(use.call, 0, "f")
        if read is not None and is_same(read, path, use, chain):
            paths.append(read)
            loaded(rewriting, use)
        elif may_be_same(read, path, use, chain):
            where = "this scope also" if use.place.scope is chain.scope else f"line {use.node.lineno}"
            raise Withheld(f"{where} loads a TorchScript file, which may be the one that is saved")
    for mention in ctx.project.uses(*LOADING, kinds=(Kind.CALL,)):
        if mention.path != ctx.source.path and _may_be(dict(mention.constants), path):
            raise Withheld(
                f"{mention.path}:{mention.line} loads a TorchScript file, which may be the one that is saved"
            )
    for place, call in chain.saves:
        other = chain.path_of(place, call)
        if other is not None and other is not path and is_same(other, path, chain.use, chain):
            paths.append(other)
    rewriting.edits += [edit for edit in renamed(paths, ctx, chain.use) if edit not in rewriting.edits]


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
            path = calls.argument(use.call, position, "f") if position is not None else None
            if path is not None:
                yield use, path


def loaded(rewriting: Rewriting, use: Use) -> None:
    """``torch.jit.load(p)`` → ``torch.export.load(p2).module()``, and what is done with the result."""
    assert use.call is not None
    call, source = use.call, rewriting.source
    if any(edit.start == source.span(use.node).start for edit in rewriting.edits):
        return
    rewriting.chain.members.append(use.node)
    if use.place.scope is rewriting.chain.scope and use.node.lineno < rewriting.chain.use.node.lineno:
        raise Withheld("the file is loaded before it is saved here")
    chain = Chain(use, rewriting.ctx)
    try:
        chain.follow()
    except (Escape, Withheld) as reason:
        raise Withheld(
            f"what loads the file has no fix: its result {reason}".replace("its result `", "`")
        ) from None
    if chain.saves or chain.wrappers:
        raise Withheld("the loaded file is saved or frozen again")
    if calls.argument(call, 2, "_extra_files") is not None:
        raise Withheld("`torch.export.load` gives extra files as str, where `torch.jit.load` gives bytes")
    if any(keyword.arg not in ("f", "map_location") for keyword in call.keywords):
        raise Withheld("the arguments of the load are not written out")
    device = calls.argument(call, 1, "map_location")
    gone = [node for node in calls.arguments(call) if device is not None and calls.value(node) is device]
    inner = Rewriting(chain)
    inner.rename(use, "torch.export.load")
    for edit in calls.without(source, call, gone):
        inner.delete(edit.start, edit.end)
    inner.insert(source.span(call).end, f".module(){_move(rewriting, device)}")
    inner.modes_removed()
    rewriting.edits += [edit for edit in inner.edits if edit not in rewriting.edits]


def _move(rewriting: Rewriting, device: ast.expr | None) -> str:
    if device is None or (isinstance(device, ast.Constant) and device.value is None):
        return ""
    if isinstance(device, (ast.Lambda, ast.Dict)):
        raise Withheld("`map_location` is no device")
    return f".to({rewriting.ctx.text(device)})"
