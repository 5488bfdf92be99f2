"""The part of one module in a multi-file fix of a saved file and all its loads, and the notes for the other modules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix, Safety
from torchmigrate.model.findings import Edit, FixChange, MultiFileFix
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.model_files import (
    SAVE_METHODS,
    SAVES,
    find_file_name,
    find_path_argument,
    identify_file,
    is_buffer,
)

from .._authoring.torchscript_makers import LOADING, TRACES
from .chain_outcomes import get_outcomes
from .file_paths import create_renames, is_temporary
from .file_readers import LOADED, SAVED, FileGroup, FileLink, find_group
from .input_sizes import render_call_sizes, render_example_sizes
from .module_origins import explain_origin
from .result_chain import ResultChain
from .saves_and_loads import convert_load

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


def add_file_changes(chain: ResultChain, fix: Fix) -> Fix:
    """Return the fix of a chain with the changes that its files need. Raise NoFix where they have to stay as they are."""
    changes: list[FixChange] = []
    groups: list[FileGroup] = []
    for file in chain.files:
        path = file.paths[0]
        name = identify_file(path, chain.use, chain.ctx.uses)
        # Nothing else can load a file that does not outlive the program.
        if file.is_read and is_temporary(path, chain.use, chain.ctx):
            continue
        group = find_group(name, chain.ctx, is_saved=True, is_read=file.is_read and name is not None)
        if group.is_renamed:
            changes += create_renames(file.paths, chain.ctx, chain.use)
        groups.append(group)
    several = [group for group in groups if len(group.paths) > 1]
    if len(several) > 1:
        raise NoFix("the result is saved to several files that other modules load")
    whole = (*fix.changes, *changes)
    return _create_part(whole, several[0], chain.ctx) if several else replace(fix, changes=whole)


def create_load_fix(use: Use, ctx: Context) -> Fix:
    """Return the fix of a load whose file another module saves. Raise NoFix where there is none."""
    name = find_file_name(use, ctx.uses)
    group = find_group(name, ctx, is_saved=False, is_read=True)
    changes: list[FixChange] = []
    paths = []
    for other in ctx.uses.all_uses:
        if other.symbol in LOADING and other.kind is Kind.CALL and find_file_name(other, ctx.uses) == name:
            changes += convert_load(ResultChain(other, ctx))
            paths.append(find_path_argument(other))
    if group.is_renamed:
        changes += create_renames([path for path in paths if path is not None], ctx, use)
    return _create_part(tuple(changes), group, ctx)


def _create_part(changes: tuple[FixChange | Edit, ...], group: FileGroup, ctx: Context) -> Fix:
    """Return the part of this module in the fix of a file that other modules also save or load."""
    others = ", ".join(path for path in group.paths if path != ctx.source.path)
    title = f"Use `torch.export` here and in {others}"
    joint = MultiFileFix(f"{group.name} of {group.paths[0]}", group.paths)
    return Fix(changes, Safety.UNSAFE, title, joint=joint)


def note_file_uses(use: Use, ctx: Context) -> Iterator[tuple[str, tuple[tuple[str, object], ...]]]:
    """Yield the notes for other modules about a file that is saved or loaded here."""
    if use.kind is not Kind.CALL or use.call is None:
        return
    if use.symbol in LOADING:
        if not is_buffer(find_path_argument(use), use, ctx.uses):
            yield LOADED, _create_link(use, ctx).details
    elif use.symbol in (*SAVES, *SAVE_METHODS):
        yield SAVED, _create_link(use, ctx).details


def _create_link(use: Use, ctx: Context) -> FileLink:
    path, kept, shown = find_path_argument(use), "", ""
    found = get_outcomes(ctx).get(id(use.node))
    reason = found.reason if found is not None else explain_origin(use, ctx)
    if use.symbol in LOADING:
        result = ResultChain(use, ctx)
        try:
            [*_] = convert_load(result)
            reason = found.reason if found is not None else None
        except NoFix as none:
            reason = none.reason
        kept, shown = " ".join(result.kept), render_call_sizes(result)
    elif found is not None and found.chain.use.symbol in TRACES:
        shown = render_example_sizes(find_argument(found.chain.call, 1, "example_inputs"), found.chain)
    paths = [path] if path is not None else []
    if found is not None:
        paths = next((file.paths for file in found.chain.files if path in file.paths), paths)
    renames = bool(paths and create_renames(paths, ctx, use))
    saves = use.symbol not in LOADING
    name = identify_file(path, use, ctx.uses)
    return FileLink(ctx.source.path, use.node.lineno, saves, name, reason, renames, kept, shown)
