"""Saves and loads of a chain, rewritten as `torch.export.save` and `torch.export.load`.

``m.save(p)`` → ``torch.export.save(program, p2)``, and ``torch.jit.load(p)`` → ``torch.export.load(p2).module()``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from torchmigrate.api import Kind, NoFix, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import (
    AddArgument,
    DropArguments,
    NameArgument,
    Rename,
    replace,
    template,
)
from torchmigrate.semantics.call_arguments import argument_value, find_argument, list_arguments
from torchmigrate.semantics.model_files import SAVE_METHODS, SAVES

from .._authoring.torchscript_makers import LOADING
from .compile_fixes import drop_mode_calls
from .exclusive_branches import are_exclusive
from .file_paths import is_same_file, may_be_same_file
from .load_bridge import find_obstacle
from .loaded_uses import create_onnx_reason
from .open_loads import is_open, reads_both
from .path_literals import find_name
from .printed_views import rename_views
from .result_chain import ResultChain, SavedFile, is_method_save

if TYPE_CHECKING:
    from torchmigrate.api import Context

_NEW_KEYWORDS = {"m": "ep", "_extra_files": "extra_files"}


def convert_saves(chain: ResultChain) -> Iterator[FixChange]:
    """Yield the changes of all saves of a chain, and of the loads of the same files in this module.

    Raise NoFix where something else in this module may use the files.
    """
    for place, call in chain.saves:
        path = chain.find_path(place, call)
        if path is None or any(isinstance(argument, ast.Starred) for argument in call.args):
            raise NoFix(f"line {call.lineno} does not write out the path that it saves to")
        yield from _convert_save(chain, place, call)
        same = next(
            (file for file in chain.files if is_same_file(path, file.paths[0], chain.use, chain)), None
        )
        if same is None:
            chain.files.append(SavedFile([path]))
        else:
            same.paths.append(path)
    for file in chain.files:
        yield from _convert_loads(chain, file)


def _convert_save(chain: ResultChain, place: ast.expr, call: ast.Call) -> Iterator[FixChange]:
    for keyword in call.keywords:
        if keyword.arg not in ("f", *_NEW_KEYWORDS):
            raise NoFix(
                f"line {call.lineno} saves the result with `{keyword.arg or '**'}`, which `torch.export.save` does not accept"
            )
        if keyword.arg in _NEW_KEYWORDS:
            yield Rename(keyword, _NEW_KEYWORDS[keyword.arg])
    yield replace(call.func, "{save}", save=chain.ctx.write_symbol("torch.export.save", chain.use))
    position = 2
    if is_method_save(place, call):
        yield AddArgument(call, template("{program}", program=place), first=True)
        position = 1
    files = find_argument(call, position, "_extra_files")
    values = files.values if isinstance(files, ast.Dict) else []
    if any(isinstance(value, ast.Constant) and isinstance(value.value, bytes) for value in values):
        raise NoFix(
            f"line {call.lineno} saves extra files as bytes, but `torch.export.save` accepts only str"
        )
    if len(call.args) > position:
        yield NameArgument(call.args[position], "extra_files")


def _convert_loads(chain: ResultChain, file: SavedFile) -> Iterator[FixChange]:
    """Yield the changes of the loads of a file in this module, and add the paths that it is loaded from."""
    ctx, path = chain.ctx, file.paths[0]
    for use, other in _find_other_saves(path, chain):
        if is_same_file(other, path, use, chain):
            if not _is_in_other_branch(use, chain):
                raise NoFix(f"line {use.node.lineno} also saves this file")
            chain.alternatives.append(use)
            file.paths.append(other)
    reads = _find_reads(path, chain)
    mine = [
        (use, read)
        for use, read in reads
        if read is not None
        and is_same_file(read, path, use, chain)
        and (use.place.scope is chain.scope or not is_open(use, ctx))
    ]
    if mine and chain.alternatives:
        raise NoFix(f"line {chain.alternatives[0].node.lineno} also saves this file")
    chain.members += [use.node for use, _ in mine]
    for use, read in reads:
        if (use, read) not in mine and may_be_same_file(read, path, use, chain):
            reason = None if reads_both(use) else find_obstacle(use, ctx)
            if reason is not None or not is_open(use, ctx):
                raise NoFix(
                    f"line {use.node.lineno} may load this file, and cannot read an export{f': {reason}' if reason else ''}"
                )
            file.is_open = True
    for use, read in mine:
        if use.place.scope is chain.scope and use.node.lineno < chain.use.node.lineno:
            raise NoFix(f"line {use.node.lineno} loads this file before it is saved")
        file.paths.append(read)
        result = ResultChain(use, ctx)
        try:
            yield from convert_load(result)
        except NoFix as none:
            raise NoFix(
                f"line {use.node.lineno} also loads this file and has no fix: {none.reason}"
            ) from None
        # A load whose result nothing calls only checks that the file can be loaded.
        file.is_read |= bool(result.find_calls() or result.programs or result.kept or result.returned_by)


def _is_in_other_branch(use: Use, chain: ResultChain) -> bool:
    """Return whether a save stands in another branch of an ``if`` than all saves of a chain."""
    mine = [call for _, call in chain.saves]
    places = [one.place for one in chain.ctx.uses.all_uses if one.call in mine]
    return len(places) == len(mine) and all(are_exclusive(use.place, place) for place in places)


def _find_reads(path: ast.expr, chain: ResultChain) -> list[tuple[Use, ast.expr | None]]:
    """Return the loads of the module and their paths, but for those of files with another name than ``path``."""
    reads = chain.ctx.uses.compute_once(_group_reads, lambda: _group_reads(chain.ctx))
    name = find_name(path, chain.use, chain.ctx)
    named = (reads.get(name, []), reads.get(None, [])) if name is not None else reads.values()
    return [
        (use, read) for _, use, read in sorted((one for group in named for one in group), key=itemgetter(0))
    ]


def _group_reads(ctx: Context) -> dict[str | None, list[tuple[int, Use, ast.expr | None]]]:
    """Group the loads of a module, numbered and each with its path, by the name of the file."""
    reads: dict[str | None, list[tuple[int, Use, ast.expr | None]]] = {}
    for number, use in enumerate(ctx.uses.all_uses):
        if use.symbol in LOADING and use.call is not None:
            path = find_argument(use.call, 0, "f")
            reads.setdefault(find_name(path, use, ctx), []).append((number, use, path))
    return reads


def _find_other_saves(path: ast.expr, chain: ResultChain) -> Iterator[tuple[Use, ast.expr]]:
    """Yield the other saves of the module and their paths, but for literals that differ from a literal ``path``."""
    mine = [call for _, call in chain.saves]
    saves = chain.ctx.uses.compute_once(_group_saves, lambda: _group_saves(chain.ctx.uses.all_uses))
    literals = [_literal_code(path), None] if isinstance(path, ast.Constant) else list(saves)
    for literal in literals:
        yield from ((use, other) for use, other in saves.get(literal, ()) if use.call not in mine)


def _group_saves(found: Sequence[Use]) -> dict[str | None, list[tuple[Use, ast.expr]]]:
    """Group the saves among uses, each with its path, by the code of a literal path; None for other paths."""
    saves: dict[str | None, list[tuple[Use, ast.expr]]] = {}
    for use in found:
        if use.kind is Kind.CALL and use.call is not None and use.symbol in (*SAVES, *SAVE_METHODS):
            path = find_argument(use.call, 1 if use.symbol in SAVES else 0, "f")
            if path is not None:
                saves.setdefault(_literal_code(path), []).append((use, path))
    return saves


def _literal_code(path: ast.expr) -> str | None:
    return repr(path.value) if isinstance(path, ast.Constant) else None


def convert_load(result: ResultChain) -> Iterator[FixChange]:
    """Yield the changes of one load, and of all uses of its result.

    Raise NoFix where the exported program could not be used as the loaded module is.
    """
    result.follow_value(result.call)
    call, ctx = result.call, result.ctx
    for _, again in (*result.saves, *result.wrappers, *result.lowered):
        raise NoFix(f"line {again.lineno} saves, freezes or lowers the loaded module again")
    if find_argument(call, 2, "_extra_files") is not None:
        raise NoFix("`torch.export.load` returns extra files as str, not as bytes")
    if any(keyword.arg not in ("f", "map_location") for keyword in call.keywords):
        raise NoFix("the arguments of the load are not written out")
    device = find_argument(call, 1, "map_location")
    if isinstance(device, (ast.Lambda, ast.Dict)):
        raise NoFix("`map_location` is not a device")
    if not result.use.certain:
        raise NoFix("the name may refer to something else")
    yield ctx.rename_use(result.use, "torch.export.load")
    yield DropArguments(call, tuple(node for node in list_arguments(call) if argument_value(node) is device))
    moved = None if isinstance(device, ast.Constant) and device.value is None else device
    if result.programs and len(result.modules) > 1:
        raise create_onnx_reason(result.programs[0].lineno, result.modules[0].lineno)
    if result.programs and moved is not None:
        raise NoFix("an exported program stays on its device, and the ONNX exporter takes no other module")
    if moved is not None:
        yield replace(call, "{program}.module().to({device})", program=call, device=moved)
    elif not result.programs:
        yield replace(call, "{program}.module()", program=call)
    else:
        for place in result.modules:
            yield replace(place, "{program}.module()", program=place)
    yield from drop_mode_calls(result)
    yield from rename_views(result.views)
