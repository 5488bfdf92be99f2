"""The callables that take a process group or its name: functional collectives, their operators, symmetric memory.

Source: torch/distributed/_functional_collectives.py and _symmetric_memory/__init__.py in the wheels of torch 2.1 to
2.15; the operators' schemas in those of 2.13 and 2.15.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

from torchmigrate.model.torch_versions import Version
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import ResolvedName

C10D = ("torch.distributed.distributed_c10d", "torch.distributed", "torch._C._distributed_c10d")
"""The modules that export torch.distributed's private functions."""

GET_NAME = (
    *(f"{module}._get_process_group_name" for module in C10D),
    "torch.distributed._functional_collectives._resolve_group_name",
)
RESOLVE = tuple(f"{module}._resolve_process_group" for module in C10D)
"""The functions that take only a group's name, not the group itself, also in torch 2.15."""
GROUP_SIZE = tuple(f"{module}._get_group_size_by_name" for module in C10D)
"""The functions that have also taken a `ProcessGroup` since torch 2.12."""


class GroupParameter(NamedTuple):
    """The parameter of a callable that takes the group."""

    position: int
    """Counted from 0."""
    keyword: str
    since: Version = (2, 0)
    """The first version in which the parameter accepts an object."""


def _tabulate_parameters(
    prefix: str,
    parameter: GroupParameter,
    names_by_position: Mapping[int, str],
    overloads: tuple[str, ...] = ("",),
) -> dict[str, GroupParameter]:
    """Return the parameter of each callable, from the names of the callables by the position of the parameter."""
    return {
        f"{prefix}{name}{overload}": parameter._replace(position=position)
        for position, names in names_by_position.items()
        for name in names.split()
        for overload in overloads
    }


FUNCTIONAL: Mapping[str, GroupParameter] = _tabulate_parameters(
    "torch.distributed._functional_collectives.",
    GroupParameter(0, "group"),
    {
        1: "all_gather_into_tensor_coalesced all_gather_single_coalesced",
        2: """broadcast all_reduce all_gather_tensor all_gather_tensor_autograd all_reduce_coalesced permute_tensor
            all_gather_tensor_inplace all_reduce_inplace all_gather_inplace all_gather_single
            all_gather_single_autograd""",
        3: """reduce_scatter_tensor reduce_scatter_tensor_autograd reduce_scatter_tensor_coalesced all_to_all_single
            all_to_all_single_autograd reduce_scatter_tensor_inplace reduce_scatter_inplace isend_inplace
            irecv_inplace reduce_scatter_single reduce_scatter_single_autograd reduce_scatter_single_coalesced""",
        4: "all_to_all_inplace",
    },
)
"""Functional collectives: they have taken a `ProcessGroup` since they exist (torch 2.1), and a name since 2.3."""

OPERATORS: Mapping[str, GroupParameter] = _tabulate_parameters(
    "torch.ops.",
    GroupParameter(0, "group_name", since=(2, 12)),
    {
        2: """_c10d_functional.all_reduce _c10d_functional.all_reduce_ _c10d_functional.all_reduce_coalesced
            _c10d_functional.all_reduce_coalesced_ _c10d_functional.all_gather_into_tensor
            _c10d_functional.all_gather_into_tensor_coalesced _c10d_functional.all_gather_into_tensor_out
            _c10d_functional.broadcast _c10d_functional.broadcast_
            _c10d_functional_autograd.all_gather_into_tensor""",
        3: """_c10d_functional.reduce_scatter_tensor _c10d_functional.reduce_scatter_tensor_coalesced
            _c10d_functional.reduce_scatter_tensor_out _c10d_functional.all_to_all_single
            _c10d_functional_autograd.all_to_all_single _c10d_functional_autograd.reduce_scatter_tensor
            _dtensor.shard_dim_alltoall""",
    },
    overloads=("", ".default"),
)
"""Operators whose ``group_name`` has had the type ``Any`` since torch 2.12.

``isend``, ``irecv``, ``batch_p2p_ops`` and everything in ``torch.ops.symm_mem`` still take a string in 2.15.
"""

RENDEZVOUS: Mapping[str, GroupParameter] = {
    "torch.distributed._symmetric_memory.rendezvous": GroupParameter(1, "group", since=(2, 6))
}
"""`rendezvous`, which has taken a `ProcessGroup` since torch 2.6; the other functions of symmetric memory still take names in 2.15."""

TAKERS: Mapping[str, GroupParameter] = {**FUNCTIONAL, **OPERATORS, **RENDEZVOUS}


def find_group_argument(call: ast.Call, callee: str) -> ast.expr | None:
    """Return the argument that a call of one of the `TAKERS` passes as the group."""
    taken = TAKERS[callee]
    return find_argument(call, taken.position, taken.keyword)


def find_taker(resolved: ResolvedName | None) -> str | None:
    """Return which of the `TAKERS` a name certainly is."""
    if resolved is None or not resolved.certain or resolved.names[0] not in TAKERS:
        return None
    return resolved.names[0]
