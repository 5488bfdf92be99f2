"""Process groups as source code makes them: names of the functions, and what the project notes of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .backends import backends, is_nccl

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


def c10d(*names: str) -> tuple[str, ...]:
    """The qualified names of functions of torch.distributed, in the package and where they are defined."""
    return tuple(
        f"torch.distributed.{module}{name}" for name in names for module in ("", "distributed_c10d.")
    )


INIT = c10d("init_process_group")
NEW_GROUP = c10d("new_group", "split_group")
HELPER = c10d("_new_process_group_helper")

NCCL_WORLD = "init_process_group: nccl"
OTHER_WORLD = "init_process_group: not nccl"
UNKNOWN_WORLD = "init_process_group: some backend"
EAGER_WORLD = "init_process_group: device_id"
GLOO_GROUP = "new_group: gloo"


def argument(call: ast.Call, position: int, keyword: str) -> ast.expr | None:
    """An argument given by position or by name; None where it is absent (or hidden in ``*`` or ``**``)."""
    for given in call.keywords:
        if given.arg == keyword:
            return given.value
    positional = call.args[: position + 1]
    if len(positional) <= position or any(isinstance(given, ast.Starred) for given in positional):
        return None
    return positional[position]


def is_of_another_world(call: ast.Call) -> bool:
    """Whether the `HELPER` is called, at least at times, as for a default group, which lists no ranks."""
    ranks = argument(call, 2, "global_ranks_in_group")
    parts = [ranks.body, ranks.orelse] if isinstance(ranks, ast.IfExp) else [ranks]
    return any(isinstance(part, (ast.List, ast.Tuple)) and not part.elts for part in parts)


def note(use: Use, ctx: Context) -> Iterator[str]:
    """What a call that makes a process group tells about the project."""
    if use.call is None:
        return
    position = 0 if use.symbol in INIT else 2
    found = backends(argument(use.call, position, "backend"), use, ctx)
    hidden = any(given.arg is None for given in use.call.keywords)
    if use.symbol in INIT:
        if found is None or hidden:
            yield UNKNOWN_WORLD
        else:
            yield NCCL_WORLD if any(map(is_nccl, found)) else OTHER_WORLD
        if argument(use.call, 8, "device_id") is not None:
            yield EAGER_WORLD
    elif found is not None and "gloo" in found:
        yield GLOO_GROUP


def may_be_nccl(ctx: Context) -> bool:
    """Whether the default group can be nccl's: unless the project makes it, and each time of another backend."""
    other = ctx.project.uses(OTHER_WORLD)
    return not other or bool(ctx.project.uses(NCCL_WORLD, UNKNOWN_WORLD))
