"""The part of one module in a multi-file fix of a saved file and all its loads, and the notes for the other modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix, Safety
from torchmigrate.model.findings import Edit, FixChange, MultiFileFix
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.model_files import (
    LITE_SAVES,
    SAVE_METHODS,
    SAVES,
    find_path_argument,
    is_buffer,
)

from .._authoring import call_purpose
from .._authoring.torchscript_makers import LOADING, TRACES
from .added_suffix import add_suffix
from .chain_outcomes import get_outcomes
from .converted_files import find_converted_file
from .file_links import LOADED, SAVED, FileLink
from .file_paths import create_renames, is_temporary
from .file_readers import FileGroup, create_suffix_reason, find_group
from .input_sizes import render_call_sizes, render_example_sizes
from .load_bridge import find_obstacle
from .module_origins import explain_origin
from .open_loads import is_made_for_itself, is_open, reads_both
from .path_literals import find_default_name, find_name, find_pattern, find_used_name
from .result_chain import FIXED_MODE, ResultChain, is_method_save
from .saves_and_loads import convert_load

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


_FORMATS = {".pt2": "exports (`.pt2`)", ".pte": "programs of ExecuTorch (`.pte`)"}


def add_file_changes(chain: ResultChain, fix: Fix) -> Fix:
    """Return the fix of a chain with the changes that its files need. Raise NoFix where they have to stay as they are."""
    changes: list[FixChange] = []
    groups: list[FileGroup] = []
    for file in chain.files:
        path = file.paths[0]
        name = find_name(path, chain.use, chain.ctx)
        if chain.needs_eval and file.is_read:
            raise NoFix(f"this module loads the file again, and {FIXED_MODE}")
        # Nothing else can load a file that does not outlive the program.
        if file.is_read and is_temporary(path, chain.use, chain.ctx):
            continue
        is_read = file.is_read and name is not None
        pattern = find_pattern(path, chain.ctx) if name is None else None
        group = find_group(
            name, chain.ctx, is_saved=True, is_read=is_read, is_open=file.is_open, pattern=pattern
        )
        if group.is_renamed or (group.is_unread and name is None):
            paths = [
                *file.paths,
                *(path for _, path in _find_loads(name, chain.ctx) if path not in file.paths),
            ]
            changes += create_renames(paths, chain.ctx, chain.use, file.suffix)
        if group.reader is not None:
            if file.suffix != ".pt2" or chain.alternatives or not (added := add_suffix(file, chain)):
                raise create_suffix_reason(group.reader)
            changes += added
            fix = replace(
                fix,
                title=f"{fix.title}; the file's name ends in `.pt2`, which {group.reader} tells exports by",
            )
        if file.suffix != ".pt2" and not group.is_unread:
            raise NoFix("code in this project may load the file, and only ExecuTorch reads its programs")
        if chain.needs_eval and not group.is_unread:
            raise NoFix(f"code in this project loads the file, and {FIXED_MODE}")
        if group.is_unread:
            loader = f"what loads {f'`{name}`' if name else 'the file'} has to read {_FORMATS[file.suffix]} instead"
            fix = replace(fix, title=f"{fix.title}; {loader}")
        groups.append(group)
    several = [group for group in groups if len(group.paths) > 1]
    if len(several) > 1:
        raise NoFix("the result is saved to several files that other modules load")
    whole = (*fix.changes, *changes)
    limits = "".join(fix.title.partition(";")[1:])
    return _create_part(whole, several[0], chain.ctx, limits) if several else replace(fix, changes=whole)


def create_load_fix(use: Use, ctx: Context) -> Fix:
    """Return the fix of a load whose file another module saves, or was converted. Raise NoFix where there is none."""
    name, path = find_used_name(use, ctx), find_path_argument(use)
    if is_buffer(path, use, ctx.uses):
        raise NoFix("what it reads is saved as TorchScript, and changes together with that save")
    converted = find_converted_file(path, name, use.place.scope, ctx)
    group = find_group(name, ctx, is_saved=False, is_read=True) if converted is None else None
    changes: list[FixChange] = []
    links = group.links if group is not None else ()
    names = {name, *(link.name for link in links if link.path == ctx.source.path)}
    loads = [load for one in sorted(filter(None, names)) for load in _find_loads(one, ctx)]
    for load, _ in loads:
        if not is_open(load, ctx):
            changes += convert_load(ResultChain(load, ctx))
    renames = (
        create_renames([path for _, path in loads], ctx, use) if group is None or group.is_renamed else []
    )
    if group is not None:
        return _create_part((*changes, *renames), group, ctx)
    if not renames:
        raise NoFix(f"`{converted}` holds the exported program, but other code uses the name of the old file")
    return Fix((*changes, *renames), Safety.UNSAFE, f"Load the exported program `{converted}`")


def _find_loads(name: str | None, ctx: Context) -> list[tuple[Use, ast.expr]]:
    """Return the loads of a file in this module, each with the path."""
    return [found for found in _find_uses(name, ctx) if found[0].symbol in LOADING]


def _find_uses(name: str | None, ctx: Context) -> Sequence[tuple[Use, ast.expr]]:
    """Return the saves and loads of a file in this module, each with the path."""
    by_name = ctx.uses.compute_once(_find_uses, lambda: _group_uses(ctx))
    return by_name.get(name, ()) if name is not None else ()


def _group_uses(ctx: Context) -> Mapping[str | None, list[tuple[Use, ast.expr]]]:
    """Return the saves and loads of this module by the name of the file."""
    found: dict[str | None, list[tuple[Use, ast.expr]]] = {}
    for use in ctx.uses.all_uses:
        if use.symbol in (*LOADING, *SAVES, *SAVE_METHODS, *LITE_SAVES) and use.kind is Kind.CALL:
            path = find_path_argument(use)
            if path is not None:
                found.setdefault(find_name(path, use, ctx), []).append((use, path))
    return found


def _create_part(
    changes: tuple[FixChange | Edit, ...], group: FileGroup, ctx: Context, limits: str = ""
) -> Fix:
    """Return the part of this module in the fix of a file that other modules also save or load.

    ``limits`` is the end of its title: what the new file cannot do.
    """
    others = ", ".join(path for path in group.paths if path != ctx.source.path)
    title = f"Use `torch.export` here and in {others}{limits}"
    joint = MultiFileFix(f"{group.name} of {group.paths[0]}", group.paths)
    return Fix(changes, Safety.UNSAFE, title, joint=joint)


def note_file_uses(use: Use, ctx: Context) -> Iterator[tuple[str, tuple[tuple[str, object], ...]]]:
    """Yield the notes for other modules about a file that is saved or loaded here."""
    if use.kind is not Kind.CALL or use.call is None:
        return
    if use.symbol in LOADING:
        if not _is_own_file(use, ctx):
            yield LOADED, _create_link(use, ctx).details
    elif use.symbol in (*SAVES, *SAVE_METHODS, *LITE_SAVES):
        yield SAVED, _create_link(use, ctx).details
    elif (found := get_outcomes(ctx).get(id(use.node))) is not None and found.chain.use is use:
        for save in _list_followed_saves(found.chain):
            yield SAVED, _create_link(save, ctx).details


def _list_followed_saves(chain: ResultChain) -> Iterator[Use]:
    """Yield the saves, as uses, of what a function of this file makes and returns: no name there leads to torch."""
    known = {use.node for use in chain.ctx.uses.all_uses}
    for place, call in chain.saves:
        if is_method_save(place, call) and call.func not in known:
            where = replace(chain.use.place, scope=chain.ctx.uses.scope_of(call))
            yield replace(chain.use, symbol=SAVE_METHODS[0], node=call.func, call=call, place=where)


def _is_own_file(use: Use, ctx: Context) -> bool:
    """Return whether a load reads what no other module can save: a buffer, or a file that has no name and goes with the program."""
    path = find_path_argument(use)
    if path is None or is_buffer(path, use, ctx.uses):
        return path is not None
    return find_name(path, use, ctx) is None and is_made_for_itself(path, use, ctx)


def _create_link(use: Use, ctx: Context) -> FileLink:
    path, kept, shown = find_path_argument(use), "", ""
    found = get_outcomes(ctx).get(id(use.node))
    reason = found.reason if found is not None else explain_origin(use, ctx)
    bridge = ""
    if use.symbol in LOADING and found is None and is_open(use, ctx):
        bridge = "made" if reads_both(use) else "possible"
        reason = find_obstacle(use, ctx) if bridge == "possible" else None
    elif use.symbol in LOADING:
        result = ResultChain(use, ctx)
        try:
            [*_] = convert_load(result)
            reason = found.reason if found is not None else None
        except NoFix as none:
            reason = none.reason
        kept, shown = " ".join(result.kept), render_call_sizes(result)
    elif found is not None and found.chain.use.symbol in TRACES:
        shown = render_example_sizes(find_argument(found.chain.call, 1, "example_inputs"), found.chain)
    paths, made_at = [path] if path is not None else [], 0
    if found is not None:
        made_at = found.chain.use.node.lineno if _only_saves(found.chain) else 0
        paths = next((file.paths for file in found.chain.files if path in file.paths), paths)
    name = find_name(path, use, ctx)
    paths = [*paths, *(other for _, other in _find_uses(name, ctx) if other not in paths)]
    renames = bool(paths and create_renames(paths, ctx, use))
    saves = use.symbol not in LOADING
    is_branch = found is not None and bool(found.chain.alternatives)
    is_test = not saves and call_purpose.is_test_file(ctx)
    return FileLink(
        ctx.source.path,
        use.node.lineno,
        saves,
        name=name,
        reason=reason,
        renames=renames,
        kept=kept,
        sizes=shown,
        bridge=bridge,
        made_at=made_at,
        is_test=is_test,
        is_branch=is_branch,
        pattern=None if name is not None else find_pattern(path, ctx),
        default=find_default_name(path, ctx) if name is None else None,
    )


def _only_saves(chain: ResultChain) -> bool:
    """Return whether a chain only saves what it makes."""
    used = (*chain.modules, *chain.views, *chain.passed, *chain.kept, *chain.returned_by)
    return bool(chain.all_saves) and not used
