"""A model that is sharded by FSDP1, and by what the page of AD915 puts in its place, is trained on two ranks of gloo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.executed import gloo

torch: Any = pytest.importorskip("torch")

Shard = Callable[[Any, Any], tuple[Any, Callable[[], Any], Callable[[], dict[str, Any]]]]
"""Shards a model with blocks of a class, and returns it, what clips its gradients, and what gathers its state."""


def _shard_by_fsdp1(model: Any, block: Any) -> Any:
    from torch.distributed import fsdp
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    precision = fsdp.MixedPrecision(torch.bfloat16, torch.float32)
    sharded = fsdp.FullyShardedDataParallel(
        model,
        auto_wrap_policy=ModuleWrapPolicy({block}),
        mixed_precision=precision,
        sharding_strategy=fsdp.ShardingStrategy.FULL_SHARD,
        device_id=torch.device("cpu"),
        use_orig_params=True,
    )

    def gather() -> Any:
        with fsdp.FullyShardedDataParallel.state_dict_type(sharded, fsdp.StateDictType.FULL_STATE_DICT):
            return sharded.state_dict()

    return sharded, lambda: sharded.clip_grad_norm_(0.1), gather


def _shard_by_fully_shard(model: Any, block: Any) -> Any:
    from torch.distributed.checkpoint.state_dict import (
        StateDictOptions,
        get_model_state_dict,
        set_model_state_dict,
    )
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    state = model.state_dict()
    if torch.distributed.get_rank() == 1:
        state = {name: torch.zeros_like(value) for name, value in state.items()}  # the first rank's are used
    mesh = init_device_mesh("cpu", (2,))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for module in model.modules():
        if isinstance(module, block):
            fully_shard(module, mesh=mesh, mp_policy=policy, reshard_after_forward=True)
    fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=True)
    set_model_state_dict(
        model, state, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    )
    return (
        model,
        lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1),
        lambda: get_model_state_dict(model, options=StateDictOptions(full_state_dict=True)),
    )


def _train(shard: Shard) -> Any:
    class Block(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return x + self.linear(x).tanh()

    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    torch.manual_seed(0)
    model, clip, gather = shard(torch.nn.Sequential(Block(), Block(), torch.nn.Linear(4, 2)), Block)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(rank)
    norms = []
    for _ in range(3):
        model(torch.randn(5, 4, generator=generator)).float().square().sum().backward()
        norm = clip()
        norms.append(float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm))
        optimizer.step()
        optimizer.zero_grad()
    state = {name: value.tolist() for name, value in gather().items()}
    torch.distributed.destroy_process_group()
    return norms, state


def test_fully_shard_trains_as_fsdp1_did() -> None:
    (norms, state), _ = gloo.run(lambda: _train(_shard_by_fsdp1), 2)
    (other_norms, other_state), _ = gloo.run(lambda: _train(_shard_by_fully_shard), 2)
    assert list(state) == list(other_state)
    torch.testing.assert_close(other_norms, norms, rtol=0.02, atol=0.02)
    for name, value in state.items():
        torch.testing.assert_close(torch.tensor(other_state[name]), torch.tensor(value), rtol=0.02, atol=5e-3)
