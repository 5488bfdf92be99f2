"""The functions that create process groups, and the facts about a project's groups that rules share."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Use
from torchmigrate.semantics.call_arguments import find_argument

from .backends import find_backends, uses_nccl


def qualify_c10d(*names: str) -> tuple[str, ...]:
    """Return the qualified names of torch.distributed's functions, in the package and where they are defined."""
    return tuple(
        f"torch.distributed.{module}{name}" for name in names for module in ("", "distributed_c10d.")
    )


INIT_FUNCTIONS = qualify_c10d("init_process_group")
NEW_GROUP_FUNCTIONS = qualify_c10d("new_group", "split_group")
HELPER_FUNCTIONS = qualify_c10d("_new_process_group_helper")

NCCL_WORLD = "init_process_group: nccl"
OTHER_WORLD = "init_process_group: not nccl"
UNKNOWN_WORLD = "init_process_group: some backend"
EAGER_WORLD = "init_process_group: device_id"
GLOO_GROUP = "new_group: gloo"


def is_of_another_world(call: ast.Call) -> bool:
    """Return whether a call of `_new_process_group_helper` may pass no ranks, as for a default group."""
    ranks = find_argument(call, 2, "global_ranks_in_group")
    parts = [ranks.body, ranks.orelse] if isinstance(ranks, ast.IfExp) else [ranks]
    return any(isinstance(part, (ast.List, ast.Tuple)) and not part.elts for part in parts)


def note_groups(use: Use, ctx: Context) -> Iterator[str]:
    """Yield the facts about the project that a call creating a process group shows."""
    if use.call is None:
        return
    position = 0 if use.symbol in INIT_FUNCTIONS else 2
    found = find_backends(find_argument(use.call, position, "backend"), use, ctx)
    hidden = any(given.arg is None for given in use.call.keywords)
    if use.symbol in INIT_FUNCTIONS:
        # What `**` hides may name another backend.
        if found is None or hidden:
            yield UNKNOWN_WORLD
        else:
            yield NCCL_WORLD if any(map(uses_nccl, found)) else OTHER_WORLD
        if find_argument(use.call, 8, "device_id") is not None:
            yield EAGER_WORLD
    elif found is not None and "gloo" in found:
        yield GLOO_GROUP


def may_be_nccl(ctx: Context) -> bool:
    """Return whether the default group may use nccl: not if the project always creates it with another backend."""
    other = ctx.project.find_uses(OTHER_WORLD)
    return not other or bool(ctx.project.find_uses(NCCL_WORLD, UNKNOWN_WORLD))
