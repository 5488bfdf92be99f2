"""`init_process_group` without `device_id`: torch 2.15 picks the GPU itself.

Why: in torch 2.15 the backend `nccl` binds the default group to a device when the group is created. Without `device_id`
that is GPU `LOCAL_RANK` modulo the number of GPUs, or the global rank modulo that number where `LOCAL_RANK` is not set.
Under torchrun this is the right GPU, and nothing changes; with another launcher or another numbering, it may be the GPU
of another rank. torch plans to require the device for every group.

    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    →
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))

What to do: nothing where LOCAL_RANK numbers the GPUs; otherwise pass the device.

Fix safety: unsafe, and offered where the project requires torch 2.8 or newer (2.3 has no `device_id`, and 2.6 and 2.7.0
may hang with it). Before 2.15, `device_id` also puts single sends and receives on the group's one communicator, and
makes `new_group` wait for every rank; so there is no fix where the project sends and receives outside of batches,
creates a group on some ranks only, or creates one of another world (TC410). Without a backend, `device_id` would leave
the group without one for the CPU: name the backends first.

How to see it: `torch.cuda.current_device()` beside `dist.distributed_c10d._get_default_group().bound_device_id`.

How to go back: `TORCH_DIST_USE_NCCL2=0` in the environment before the first group is created, or
`init_process_group("nccl-legacy")` (torch 2.14 and newer): the old backend uses the device of the first tensor.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/, https://github.com/pytorch/pytorch/pull/192281,
https://github.com/pytorch/pytorch/issues/153960; torch 2.2.2 to 2.15.0 wheels: torch/distributed/distributed_c10d.py
(`_nccl2_device`, `init_process_group`, `_new_process_group_helper`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.rewrite.changes import AddArgument
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name, string_value

from ._groups import group_functions
from ._groups.backends import UNDEFINED, find_backends, uses_nccl
from ._groups.group_functions import (
    GLOO_GROUP,
    HELPER_FUNCTIONS,
    INIT_FUNCTIONS,
    NEW_GROUP_FUNCTIONS,
    is_of_another_world,
)
from ._groups.set_device import find_device
from ._groups.splits import find_partial_reach, may_split
from ._simulator.traps import ASYNC_FUNCTIONS, FileTraps

CONDITIONAL_GROUP_FACT = "new_group: by some ranks"
SIDE_GROUP_FACT = "_new_process_group_helper: another world"
SINGLE_OPERATIONS_FACT = "isend, irecv: in flight together"

rule = Rule(
    code="TC401",
    symbols=INIT_FUNCTIONS,
    since=(2, 3),
    safety=Safety.UNSAFE,
    kinds=frozenset({Kind.CALL}),
    asks=(*INIT_FUNCTIONS, *NEW_GROUP_FUNCTIONS, *HELPER_FUNCTIONS, *ASYNC_FUNCTIONS),
)


@rule.note
def note_eager_facts(use: Use, ctx: Context) -> Iterator[str]:
    """Yield the facts about the project that forbid eager initialization."""
    yield from group_functions.note_groups(use, ctx)
    if use.symbol in NEW_GROUP_FUNCTIONS and may_split(use, ctx) and find_partial_reach(use, ctx):
        yield CONDITIONAL_GROUP_FACT
    if use.symbol in HELPER_FUNCTIONS and use.call is not None and is_of_another_world(use.call):
        yield SIDE_GROUP_FACT
    if use.symbol in ASYNC_FUNCTIONS and use.call in FileTraps.from_uses(ctx.uses).by_first:
        yield SINGLE_OPERATIONS_FACT


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call
    if call is None or ctx.options.target < (2, 15) or _passes_device(call) or _is_retry(use):
        return
    options = _read_hidden(use, call)
    if options is None and _may_hold_device(use):
        return
    unless = ", unless the unpacked arguments include it," if options is None else ""
    given = find_argument(call, 0, "backend") or (options or {}).get("backend")
    found = find_backends(given, use, ctx) if given is not None or options is not None else None
    options = options or {}
    if (found is not None and not any(map(uses_nccl, found))) or _is_for_xla(call, options):
        return
    condition = "" if found is not None and all(map(uses_nccl, found)) else "with `nccl` and "
    message = f"{condition}without `device_id`{unless or ','} torch 2.15 picks the GPU by `LOCAL_RANK` (or the rank) modulo the number of GPUs; pass the device"
    yield ctx.finding(use, message, fix=lambda: _build_fix(use, call, found, ctx))


def _passes_device(call: ast.Call) -> bool:
    given = find_argument(call, 8, "device_id")
    return given is not None and not (isinstance(given, ast.Constant) and given.value is None)


def _is_for_xla(call: ast.Call, options: dict[str, ast.expr]) -> bool:
    """Return whether the init method is one that only torch_xla registers, for its own backend."""
    method = find_argument(call, 1, "init_method") or options.get("init_method")
    return method is not None and (string_value(method) or "").startswith("xla:")


def _is_retry(use: Use) -> bool:
    """Return whether another call in the same ``try`` passes the device, so this one is for older versions."""
    tries = [enclosing for enclosing in use.place.enclosing_statements() if isinstance(enclosing, ast.Try)]
    calls = [node for enclosing in tries for node in ast.walk(enclosing) if isinstance(node, ast.keyword)]
    return any(keyword.arg == "device_id" for keyword in calls)


def _build_fix(use: Use, call: ast.Call, found: frozenset[str] | None, ctx: Context) -> Fix:
    if found is None or not all(map(uses_nccl, found)):
        raise NoFix("the backend may not accept a device")
    if UNDEFINED in found:
        raise NoFix(
            "with a device and no backend, the group would have no backend for the CPU; name the backends"
        )
    is_starred = any(isinstance(given, ast.Starred) for given in call.args)
    if is_starred or any(given.arg in (None, "device_id") for given in call.keywords):
        raise NoFix("the arguments of the call are not written out")
    if ctx.options.minimum < (2, 8):
        raise NoFix(
            "torch 2.6 and 2.7.0 may hang with `device_id`; the fix needs a project that requires torch 2.8"
        )
    if ctx.project.find_uses(CONDITIONAL_GROUP_FACT):
        raise NoFix(
            "the project creates a group on some ranks only, but once the default group is bound to a device, every rank has to create it (TC402)"
        )
    if ctx.project.find_uses(SIDE_GROUP_FACT):
        raise NoFix(
            "the project creates a group of another world, which would be split from a default group bound to a device (TC410)"
        )
    if ctx.options.minimum < (2, 15) and ctx.project.find_uses(SINGLE_OPERATIONS_FACT):
        raise NoFix(
            "before torch 2.15, `device_id` puts the project's single sends and receives on one communicator, "
            "where they wait for each other (TC404, TC405); batch them first"
        )
    if ctx.options.minimum < (2, 15) and ctx.project.find_uses(GLOO_GROUP):
        raise NoFix(
            "before torch 2.15, no gloo group can be created once the default group is bound to a device"
        )
    device = find_device(use, ctx)
    if device is None:
        raise NoFix(
            "this function sets no device that the fix could pass; where `LOCAL_RANK` is set, "
            '`device_id=torch.device("cuda", dist.get_node_local_rank())` matches the default of torch 2.15'
        )
    title = f"Pass `device_id={ctx.render_template(device)}`"
    return Fix((AddArgument(call, device, "device_id"),), Safety.UNSAFE, title)


def _read_hidden(use: Use, call: ast.Call) -> dict[str, ast.expr] | None:
    """Return the contents of ``**options`` if it is a dictionary of this function without a device; None if unknown."""
    hidden = [given.value for given in call.keywords if given.arg is None]
    if not hidden:
        return {}
    if len(hidden) > 1 or not isinstance(hidden[0], ast.Name):
        return None
    owner = use.place.scope.find_scope(hidden[0].id)
    bindings = owner.bindings[hidden[0].id] if owner else []
    value = bindings[0].value if len(bindings) == 1 else None
    if owner is None or value is None or _may_hold_device(use):
        return None
    if isinstance(value, ast.Dict) and all(key is not None and string_value(key) for key in value.keys):
        return {
            string_value(k) or "": v for k, v in zip(value.keys, value.values, strict=True) if k is not None
        }
    if isinstance(value, ast.Call) and last_name(value.func) == "dict" and not value.args:
        return {given.arg or "": given.value for given in value.keywords}
    return None


def _may_hold_device(use: Use) -> bool:
    """Return whether the function mentions a device that its hidden options may hold."""
    parts = ast.walk(use.place.scope.node)
    names = (part.arg if isinstance(part, ast.keyword) else string_value(part) for part in parts)
    return "device_id" in names
