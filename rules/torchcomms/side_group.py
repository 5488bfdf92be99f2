"""A group of another world, created by `_new_process_group_helper`: torch 2.15 splits it from the default group.

Why: programs that train and serve in one job connect one trainer rank to the servers with a group of its own world:
they copy `init_process_group` and call the private helper that it uses, without ranks (`[]`). Since torch 2.15, the
default group of the backend `nccl` is bound to a device, with or without `device_id`, and the helper splits a group of
the same backend from it. A split needs every rank of the default group, but the ranks of the new group are other
processes: the trainer waits forever. Before 2.15 this happened only with `device_id`.

    group, _ = _new_process_group_helper(size, rank, [], Backend("nccl"), store, group_name=name, timeout=timeout)
    →
    group, _ = _new_process_group_helper(size, rank, [], Backend("nccl-legacy"), store, group_name=name, timeout=timeout)

What to do, one of:
  - use a backend whose name differs from the default group's, which is not split: `nccl-legacy` (torch 2.14 and newer;
    it uses the device of the first tensor, as before), in all processes of the group, so that they use one engine;
  - unbind the default group while the helper runs, which works in every version:

        default = torch.distributed.distributed_c10d._get_default_group()
        bound, default.bound_device_id = default.bound_device_id, None
        try:
            ...  # the helper
        finally:
            default.bound_device_id = bound

  - in torch 2.15 and newer: `options = dist.ProcessGroupNCCL.Options()`, `options.lazy_init = True`, and
    `backend_options=options`.

The finding is an error where the project creates its default group with `nccl` and passes `nccl` to this one too, and
a warning where one of the two is unknown.

How to see it: the trainer hangs in the helper; `py-spy dump` shows it there.

How to go back: `TORCH_DIST_USE_NCCL2=0` in the environment before the first group is created, or
`init_process_group("nccl-legacy")` (torch 2.14 and newer), both without `device_id`.

Source: https://github.com/NVIDIA-NeMo/RL/pull/3189, https://github.com/pytorch/pytorch/pull/192281; torch 2.15.0
wheel: torch/distributed/distributed_c10d.py (`_new_process_group_helper`, `_get_split_source`, `_nccl2_device`,
`_create_nccl2_process_group`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.model.torch_versions import Version
from torchmigrate.semantics.call_arguments import find_argument

from ._groups.backends import find_backends, uses_nccl
from ._groups.group_functions import (
    EAGER_WORLD,
    HELPER_FUNCTIONS,
    INIT_FUNCTIONS,
    NCCL_WORLD,
    is_of_another_world,
    may_be_nccl,
    note_groups,
)
from ._groups.rank_evidence import limit_severity

rule = Rule(
    code="TC410",
    symbols=HELPER_FUNCTIONS,
    since=(2, 0),
    breaks=(2, 15),
    kinds=frozenset({Kind.CALL}),
    asks=INIT_FUNCTIONS,
)
rule.note(note_groups)

_NCCL2: Version = (2, 15)
_SPLIT_GUARDS = re.compile(
    rb"\.[\s\\]*bound_device_id[\s\\]*(?:,[^=\n]*)?=[^=]|setattr\([^)]*bound_device_id|lazy_init"
)
"""Code that keeps the helper from splitting."""


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call, target = use.call, ctx.options.target
    # A guard anywhere in the file is taken to cover this call.
    if call is None or not is_of_another_world(call) or _SPLIT_GUARDS.search(ctx.source.text):
        return
    found = find_backends(find_argument(call, 3, "backend"), use, ctx)
    if (found is not None and not any(map(uses_nccl, found))) or not may_be_nccl(ctx):
        return
    if target < _NCCL2 and not ctx.project.find_uses(EAGER_WORLD):
        return
    is_certain = bool(ctx.project.find_uses(NCCL_WORLD)) and (found is not None or _receives_nccl(use, ctx))
    condition = "" if found is not None else "with `nccl`, "
    message = (
        f"{condition}torch {{breaks}} splits this group from an `nccl` default group and waits for all ranks of that group; "
        'create it with `Backend("nccl-legacy")` in all of its processes'
    )
    if target < _NCCL2:
        message = (
            f"{condition}this group is split from a default group bound by `device_id` and waits for all ranks of that "
            "group; unbind the default group for the call"
        )
    yield ctx.finding(use, message, severity=limit_severity(is_certain, ctx))


def _receives_nccl(use: Use, ctx: Context) -> bool:
    """Return whether the project calls the enclosing function with nccl as its backend, or nccl is the default."""
    function = use.place.scope.node
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    defaults = (*function.args.defaults, *function.args.kw_defaults)
    if any(isinstance(default, ast.Constant) and default.value == "nccl" for default in defaults):
        return True
    # `dist.init_process_group("nccl")` calls torch's, not the function of that name in a module of the project.
    passing = rf"(?<!dist\.)(?<!distributed\.)(?<!\w){function.name}[\s\\]*\((?:[^()]|\([^()]*\))*[\"'](?:cuda:)?nccl[\"']"
    own = re.search(passing.encode(), ctx.source.text)
    return own is not None or bool(
        ctx.project.find_spellings(((function.name, "nccl"), (passing,)), beside=ctx.source.path)
    )
