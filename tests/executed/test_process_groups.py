"""Programs that pass the names of groups, run on gloo before and after their fix, in eager mode and compiled."""

from __future__ import annotations
import __future__

import re
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest
import torch
import torch._dynamo  # here, so that the forked processes have it

from tests.support import fix_text

from . import gloo

HEAD = """
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.distributed_c10d import (
    _get_group_size_by_name, _get_process_group_name, _resolve_process_group
)

ops = torch.ops._c10d_functional
"""

# Each defines ``step(x, group, mesh)``, where x has 4 elements and requires a gradient if ``step`` is differentiable.
PROGRAMS = {
    "functional collectives": """
        def step(x, group, mesh):
            reduced = funcol.all_reduce(x, "sum", group.group_name)
            name = group.group_name
            gathered = funcol.all_gather_tensor(reduced * 2, 0, group=name)
            scattered = funcol.reduce_scatter_tensor(gathered, "sum", 0, _get_process_group_name(group))
            return funcol.broadcast(scattered, 0, mesh._dim_group_names[0]) + 1
    """,
    "a name that is kept": """
        def step(x, group, mesh):
            name = mesh.get_group("ranks").group_name
            return funcol.all_reduce(x, "sum", name) + ops.wait_tensor(ops.all_reduce(x, "max", name))
    """,
    "operators": """
        def step(x, group, mesh):
            x = ops.wait_tensor(ops.all_reduce(x, "sum", group.group_name))
            x = ops.wait_tensor(ops.all_gather_into_tensor.default(x, 2, group_name=group.group_name))
            x = ops.wait_tensor(ops.reduce_scatter_tensor(x, "sum", 2, group.group_name))
            return ops.wait_tensor(ops.all_to_all_single(x, [2, 2], [2, 2], group.group_name))
    """,
    "round trips": """
        def step(x, group, mesh):
            same = _resolve_process_group(group.group_name)
            size = _resolve_process_group(_get_process_group_name(group)).size()
            return funcol.all_reduce(x, "sum", same) * size * _get_group_size_by_name(group.group_name)
    """,
    "a custom operator": """
        @torch.library.custom_op("proof::reduce", mutates_args=())
        def reduce(x: torch.Tensor, scale: int, group_name: str) -> torch.Tensor:
            group = _resolve_process_group(group_name)
            result = x.clone()
            dist.all_reduce(result, group=group)
            return result * scale * dist.get_world_size(group)

        @reduce.register_fake
        def _(x, scale, group_name):
            assert _resolve_process_group(group_name).size() == 2
            return torch.empty_like(x)

        def setup_context(ctx, inputs, output):
            _, ctx.scale, ctx.group_name = inputs

        def backward(ctx, grad):
            return reduce(grad.contiguous(), ctx.scale, ctx.group_name), None, None

        reduce.register_autograd(backward, setup_context=setup_context)

        def step(x, group, mesh):
            return reduce(x * 2, 3, group_name=group.group_name)
    """,
    "operators that call each other": """
        @torch.library.custom_op("proof::forward", mutates_args=())
        def forward(x: torch.Tensor, process_group_name: str) -> torch.Tensor:
            process_group = _resolve_process_group(process_group_name)
            result = x.clone()
            dist.all_reduce(result, group=process_group)
            return result

        @torch.library.register_fake("proof::forward")
        def forward_fake(x: torch.Tensor, process_group_name: str) -> torch.Tensor:
            return x.new_empty(x.shape[0] * _resolve_process_group(process_group_name).size() // 2)

        @torch.library.custom_op("proof::backward", mutates_args=())
        def backward(grad: torch.Tensor, process_group_name: str) -> torch.Tensor:
            out = torch.ops._c10d_functional.all_reduce(grad, "sum", process_group_name)
            return torch.ops._c10d_functional.wait_tensor(out)

        @torch.library.register_fake("proof::backward")
        def backward_fake(grad: torch.Tensor, process_group_name: str) -> torch.Tensor:
            return torch.ops._c10d_functional.all_reduce(grad, "sum", process_group_name)

        def setup_context(ctx, inputs, output):
            x, process_group_name = inputs
            ctx.process_group_name = process_group_name

        def bridge(ctx, grad):
            return backward(grad.contiguous(), ctx.process_group_name), None

        torch.library.register_autograd("proof::forward", bridge, setup_context=setup_context)

        def step(x, group, mesh):
            return torch.ops.proof.forward(x * 3, _get_process_group_name(group))
    """,
    "an operator with a written schema": """
        library = torch.library.Library("proof", "FRAGMENT")
        library.define("mean(Tensor x, *, str group_name) -> Tensor")

        @torch.library.impl(library, "mean", "CPU")
        def mean(x, *, group_name):
            pg = _resolve_process_group(group_name)
            result = x.clone()
            dist.all_reduce(result, group=pg)
            return result / pg.size()

        @torch.library.register_fake("proof::mean")
        def mean_fake(x, *, group_name):
            return torch.empty_like(x)

        def step(x, group, mesh):
            return torch.ops.proof.mean.default(x.detach(), group_name=group.group_name)
    """,
    "a schema beside the function": """
        @torch.library.custom_op("proof::double", mutates_args=(), schema="(Tensor x, str group_name) -> Tensor")
        def double(x, group_name):
            return x * _get_group_size_by_name(group_name)

        torch.library.register_fake("proof::double", lambda x, group_name: torch.empty_like(x))

        def step(x, group, mesh):
            return double(x.detach(), group.group_name)
    """,
}

GRAPH_BREAKS = {"round trips"}
"""Programs that compile only after the fix: dynamo does not know `_resolve_process_group`."""


def _results(program: str, compiled: bool, postponed: bool = False) -> list[Any]:
    """What the program gives on this rank: its result, and its gradient if it has one."""
    from torch.distributed.device_mesh import init_device_mesh

    torch.distributed.init_process_group("gloo")
    namespace: dict[str, Any] = {}
    flags = __future__.annotations.compiler_flag if postponed else 0
    exec(compile(program, "program.py", "exec", flags), namespace)
    group = torch.distributed.group.WORLD
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("ranks",))
    x = (torch.arange(4.0) + 10 * torch.distributed.get_rank()).requires_grad_("register_autograd" in program)

    def body(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = namespace["step"](x, group, mesh)
        return result * 1

    function: Callable[..., torch.Tensor] = body
    if compiled:
        function = torch.compile(body, fullgraph=True, backend="aot_eager")
    result = function(x)
    if not result.requires_grad:
        return [result]
    total: Any = (result * (torch.distributed.get_rank() + 1)).sum()
    total.backward()
    return [result.detach(), x.grad]


COMPILED = ("functional collectives", "round trips", "a custom operator", "an operator with a written schema")
"""One program of each kind: to compile takes ten times as long as all else."""


@pytest.mark.parametrize(
    ("name", "compiled"), [*((name, False) for name in PROGRAMS), *((name, True) for name in COMPILED)]
)
def test_the_fix_changes_no_result(name: str, compiled: bool) -> None:
    before = HEAD + dedent(PROGRAMS[name])
    after = fix_text(before, "--min-version", "2.12", "--unsafe")
    assert not re.search(
        r"\.group_name|_name: str|_resolve_process_group\(|_get_process_group_name\(|_dim_group_names", after
    )
    expected = gloo.run(lambda: _results(before, compiled and name not in GRAPH_BREAKS), 2)
    torch.testing.assert_close(gloo.run(lambda: _results(after, compiled), 2), expected, rtol=0, atol=0)


def test_an_operator_is_made_from_postponed_annotations_too() -> None:
    before = HEAD + dedent(PROGRAMS["operators that call each other"])
    after = fix_text(before, "--min-version", "2.12", "--unsafe")
    expected = gloo.run(lambda: _results(before, compiled=False, postponed=True), 2)
    result = gloo.run(lambda: _results(after, compiled=False, postponed=True), 2)
    torch.testing.assert_close(result, expected, rtol=0, atol=0)
