"""`FullyShardedDataParallel`, whose successor is `fully_shard`.

Why: `FullyShardedDataParallel` (FSDP1) joins the parameters of a module into a flat one. `fully_shard` (FSDP2) keeps each of them,
as a DTensor: optimizers, frozen parameters and checkpoints see the parameters that the model has, and tensor parallelism can be
added. FSDP1 is not deprecated up to torch 2.15.

    model = FSDP(model, auto_wrap_policy=ModuleWrapPolicy({Block}), mixed_precision=MixedPrecision(torch.bfloat16, torch.float32))
    →
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for module in model.modules():
        if isinstance(module, Block):
            fully_shard(module, mp_policy=policy)
    fully_shard(model, mp_policy=policy)

| `FullyShardedDataParallel` | `fully_shard` |
| --- | --- |
| `auto_wrap_policy` | one call for each block, and one for the model at the end |
| `sharding_strategy=FULL_SHARD`, `SHARD_GRAD_OP` | `reshard_after_forward=True`, `False` |
| `HYBRID_SHARD`, `_HYBRID_SHARD_ZERO2` | the same with a mesh of two dimensions, replicate and shard |
| `NO_SHARD` | `DistributedDataParallel` |
| `mixed_precision` | `mp_policy=MixedPrecisionPolicy(…)`, without `buffer_dtype`: buffers keep their dtype |
| `cpu_offload=CPUOffload(offload_params=True)` | `offload_policy=CPUOffloadPolicy()` |
| `process_group`, `device_mesh`, `device_id` | `mesh`, and the current device |
| `ignored_modules`, `ignored_states` | `ignored_params`, since torch 2.7 |
| `param_init_fn` | build the model on `meta`, shard it, then `model.to_empty(device=…)` and initialize it |
| `sync_module_states` | `set_model_state_dict` with `StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)` |
| `forward_prefetch` | `set_modules_to_forward_prefetch` |
| `backward_prefetch`, `limit_all_gathers`, `use_orig_params` | nothing; it always does what is best here |
| `with model.no_sync():` | `model.set_requires_gradient_sync(False)` |
| `model.clip_grad_norm_(…)` | `torch.nn.utils.clip_grad_norm_(model.parameters(), …)` |
| `FSDP.state_dict_type(…)`, `FSDP.optim_state_dict` | `get_model_state_dict`, `get_optimizer_state_dict` |
| `FSDP.summon_full_params` | `parameter.full_tensor()`, or `model.unshard()` and `model.reshard()` |

Needs: torch 2.6.

Brings: parameters with their own names, shapes and dtypes, and no rate limiter that waits on the CPU; nothing has to be changed soon.

When not: the project has both. Not reported are projects that mention `fully_shard`, and tests.

What to do: replace the call as in the table, create the optimizer after it, and load old checkpoints from full state dicts
(`StateDictType.FULL_STATE_DICT`), whose names and shapes are the model's own.

Source: torch 2.6, 2.7, 2.13 and 2.15 wheels: torch/distributed/fsdp/fully_sharded_data_parallel.py,
torch/distributed/fsdp/_fully_shard/_fully_shard.py, torch/distributed/fsdp/_fully_shard/_fsdp_api.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.name_resolution import last_name

from ._analyses.advice_findings import create_advice
from ._analyses.enclosing_nodes import find_partial

rule = Rule(
    code="AD915",
    symbols=(
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
    ),
    message="`fully_shard` keeps the parameters as they are, where `FullyShardedDataParallel` joins them into flat ones",
    since=(2, 6),
    default=False,
    kinds=frozenset({Kind.CALL, Kind.REFERENCE}),
)

_PARAMETERS = (
    "module",
    "process_group",
    "sharding_strategy",
    "cpu_offload",
    "auto_wrap_policy",
    "backward_prefetch",
    "mixed_precision",
    "ignored_modules",
    "param_init_fn",
    "device_id",
    "sync_module_states",
)
"""The parameters that calls give by their positions."""

_INSTEAD = {
    "process_group": "`process_group` becomes `mesh`",
    "device_mesh": "`device_mesh` becomes `mesh`",
    "cpu_offload": "`cpu_offload` becomes `offload_policy=CPUOffloadPolicy()`",
    "mixed_precision": "`mixed_precision` becomes `mp_policy=MixedPrecisionPolicy(…)`",
    "ignored_modules": "`ignored_modules` becomes `ignored_params`",
    "ignored_states": "`ignored_states` becomes `ignored_params`",
    "param_init_fn": "`to_empty` and an initialization after sharding replace `param_init_fn`",
    "sync_module_states": "`set_model_state_dict` with `broadcast_from_rank0` replaces `sync_module_states`",
    "forward_prefetch": "`set_modules_to_forward_prefetch` replaces `forward_prefetch`",
}
_STRATEGIES = {
    "FULL_SHARD": "`FULL_SHARD` becomes `reshard_after_forward=True`",
    "SHARD_GRAD_OP": "`SHARD_GRAD_OP` becomes `reshard_after_forward=False`",
    "HYBRID_SHARD": "`HYBRID_SHARD` becomes a mesh of two dimensions",
    "_HYBRID_SHARD_ZERO2": "`_HYBRID_SHARD_ZERO2` becomes a mesh of two dimensions with `reshard_after_forward=False`",
    "NO_SHARD": "`NO_SHARD` becomes `DistributedDataParallel`",
}
_DROPPED = frozenset({"backward_prefetch", "limit_all_gathers", "use_orig_params", "device_id"})
_SUCCESSOR = (("fully_shard",), (r"\bfully_shard\b",))


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call or find_partial(use)
    if call is not None and not ctx.project.find_spellings(_SUCCESSOR, beside=""):
        yield from create_advice(use, ctx, hint=_write_hint(call, given=use.call is not None))


def _write_hint(call: ast.Call, *, given: bool) -> str:
    """Return what becomes of the arguments of a call, or, unless ``given``, of those that a ``partial`` binds."""
    positions = call.args if given else call.args[1:]
    arguments = dict(zip(_PARAMETERS, positions, strict=False))
    arguments |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    steps = [
        "call `fully_shard` for each module that the policy wraps, then for the model"
        if "auto_wrap_policy" in arguments
        else "call `fully_shard` for each block, then for the model"
    ]
    for name, value in arguments.items():
        if name == "sharding_strategy":
            strategy = last_name(value) or ""
            steps.append(
                _STRATEGIES.get(strategy, "the sharding strategy becomes `reshard_after_forward` or a mesh")
            )
        elif name in _INSTEAD and not (isinstance(value, ast.Constant) and not value.value):
            steps.append(_INSTEAD[name])
    dropped = [f"`{name}`" for name in arguments if name in _DROPPED]
    if dropped:
        steps.append(f"{' and '.join(dropped)} can go")
    return "; ".join(steps)
