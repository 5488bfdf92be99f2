"""A group's name is passed to an operator of `torch.ops._c10d_functional`, which takes the process group itself.

Why: torch 2.12 changed the type of `group_name` in these operators from a string to anything that is a group or its
name, so that the registry of names can go. The parameter keeps its name: `group_name=pg`.

    torch.ops._c10d_functional.all_reduce(x, "sum", pg.group_name)
    →
    torch.ops._c10d_functional.all_reduce(x, "sum", pg)

See it: there is no warning yet. `print(torch.ops._c10d_functional.all_reduce.default._schema)` shows `Any group_name`
where objects are taken, and `str group_name` where they are not: in torch 2.11 and older, and still in 2.15 for
`isend`, `irecv`, `batch_p2p_ops` and everything in `torch.ops.symm_mem`. This rule does not report those.

Fix safety: safe where the project's minimum is torch 2.12; below it there is no fix, because older operators reject an
object. `torch.distributed._functional_collectives` takes both in every version. There is also no fix where nothing shows
that the object before `.group_name` is a process group.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/, https://github.com/pytorch/pytorch/pull/172795; schemas
of the operators in the wheels of torch 2.13 and 2.15.
"""

from __future__ import annotations

from torchmigrate.api import Kind, Rule, Safety

from ._names.collectives import OPERATORS
from ._names.handing_over import finding

rule = Rule(
    code="PG302",
    symbols=tuple(OPERATORS),
    since=(2, 12),
    safety=Safety.SAFE,
    kinds=frozenset({Kind.CALL}),
)

rule.check(finding)
