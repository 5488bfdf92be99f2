"""Tests of functions that take a process group instead of its name in torch 2.13, with the same result, also compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch._dynamo  # here, so that the forked processes have it
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.distributed.distributed_c10d

from . import gloo

ops = torch.ops._c10d_functional
c10d: Any = torch.distributed.distributed_c10d
Collective = Callable[[torch.Tensor, Any], torch.Tensor]

# Each takes a tensor and a group or its name.
COLLECTIVES: dict[str, Collective] = {
    "funcol.all_reduce": lambda x, group: funcol.all_reduce(x, "sum", group) + 0,
    "funcol.all_gather_tensor": lambda x, group: funcol.all_gather_tensor(x, 0, group) + 0,
    "funcol.reduce_scatter_tensor": lambda x, group: funcol.reduce_scatter_tensor(x, "sum", 0, group) + 0,
    "funcol.all_to_all_single": lambda x, group: funcol.all_to_all_single(x, None, None, group) + 0,
    "funcol.broadcast": lambda x, group: funcol.broadcast(x, 0, group) + 0,
    "all_reduce": lambda x, group: ops.wait_tensor(ops.all_reduce(x, "sum", group)),
    "all_reduce, by keyword": lambda x, group: ops.wait_tensor(ops.all_reduce(x, "sum", group_name=group)),
    "all_gather_into_tensor": lambda x, group: ops.wait_tensor(ops.all_gather_into_tensor(x, 2, group)),
    "reduce_scatter_tensor": lambda x, group: ops.wait_tensor(ops.reduce_scatter_tensor(x, "sum", 2, group)),
    "all_to_all_single": lambda x, group: ops.wait_tensor(ops.all_to_all_single(x, [2, 2], [2, 2], group)),
    "broadcast": lambda x, group: ops.wait_tensor(ops.broadcast(x, 0, group)),
}


def _every_collective(by_name: bool, compiled: bool) -> dict[str, torch.Tensor]:
    dist.init_process_group("gloo")
    group: Any = dist.group.WORLD
    what = group.group_name if by_name else group
    value = torch.arange(4.0) + 10 * dist.get_rank()
    results = {}
    for name, collective in COLLECTIVES.items():

        def body(x: torch.Tensor, collective: Collective = collective) -> torch.Tensor:
            return collective(x * 2, what)

        torch._dynamo.reset()
        results[name] = (torch.compile(body, fullgraph=True, backend="aot_eager") if compiled else body)(
            value
        )
    return results


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_collective_takes_the_group_itself(compiled: bool) -> None:
    before = gloo.run(lambda: _every_collective(by_name=True, compiled=compiled), 2)
    after = gloo.run(lambda: _every_collective(by_name=False, compiled=compiled), 2)
    torch.testing.assert_close(after, before, rtol=0, atol=0)


def test_the_way_back_from_a_name_is_the_group() -> None:
    def main() -> tuple[bool, bool]:
        dist.init_process_group("gloo")
        group: Any = dist.group.WORLD
        same = c10d._resolve_process_group(group.group_name) is group
        return same, c10d._get_group_size_by_name(group.group_name) == dist.get_world_size(group)

    assert gloo.run(main, 2) == [(True, True)] * 2


def _custom_op(by_name: bool, compiled: bool) -> list[Any]:
    """The gradient through a custom operator that reduces over a group."""
    dist.init_process_group("gloo")
    group: Any = dist.group.WORLD

    if by_name:

        @torch.library.custom_op("bench::reduce", mutates_args=())
        def reduce(x: torch.Tensor, group_name: str) -> torch.Tensor:
            result = x.clone()
            dist.all_reduce(result, group=c10d._resolve_process_group(group_name))
            return result
    else:

        @torch.library.custom_op("bench::reduce", mutates_args=())
        def reduce(x: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
            result = x.clone()
            dist.all_reduce(result, group=group)
            return result

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _, ctx.group = inputs

    reduce.register_fake(lambda x, group: torch.empty_like(x))
    reduce.register_autograd(lambda ctx, grad: (reduce(grad, ctx.group), None), setup_context=setup_context)
    what = group.group_name if by_name else group

    def body(x: torch.Tensor) -> torch.Tensor:
        reduced: torch.Tensor = reduce(x, what)
        return (reduced * (dist.get_rank() + 1)).sum()

    value = (torch.arange(3.0) + dist.get_rank()).requires_grad_()
    function = torch.compile(body, fullgraph=True, backend="aot_eager") if compiled else body
    total: Any = function(value)
    total.backward()
    return [total.detach(), value.grad]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_custom_operator_takes_the_group_itself(compiled: bool) -> None:
    before = gloo.run(lambda: _custom_op(by_name=True, compiled=compiled), 2)
    after = gloo.run(lambda: _custom_op(by_name=False, compiled=compiled), 2)
    torch.testing.assert_close(after, before, rtol=0, atol=0)


@pytest.mark.parametrize(
    "name", ["_c10d_functional::isend", "_c10d_functional::irecv", "_c10d_functional::batch_p2p_ops"]
)
def test_some_operators_still_take_names_only(name: str) -> None:
    (schema,) = (schema for schema in torch._C._jit_get_all_schemas() if schema.name == name)
    assert [str(argument.type) for argument in schema.arguments if argument.name == "group_name"] == ["str"]


def test_operators_on_symmetric_memory_take_names_only() -> None:
    import torch.distributed._symmetric_memory

    types = {
        str(argument.type)
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.startswith("symm_mem::")
        for argument in schema.arguments
        if argument.name == "group_name"
    }
    assert types == {"str", "Optional[str]"}
