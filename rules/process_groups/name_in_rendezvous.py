"""A group's name is passed to `symm_mem.rendezvous`, which takes the process group itself.

Why: since torch 2.6 the rendezvous of symmetric memory takes a `ProcessGroup` or its name. An object needs no lookup
in the registry of names, which will be removed.

    handle = symm_mem.rendezvous(buffer, pg.group_name)
    →
    handle = symm_mem.rendezvous(buffer, pg)

The other functions of symmetric memory (`get_symm_mem_workspace`, `enable_symm_mem_for_group`, …) and the operators in
`torch.ops.symm_mem` take names only, also in torch 2.15. This rule does not report those.

See it: there is no warning yet; look for `.group_name` in calls of `rendezvous`.

Fix safety: safe where the project's minimum is torch 2.6. There is no fix where nothing shows that the object before
`.group_name` is a process group.

Source: torch/distributed/_symmetric_memory/__init__.py (`rendezvous`) in the wheels of torch 2.6 to 2.15.
"""

from __future__ import annotations

from torchmigrate.api import Kind, Rule, Safety

from ._names.collectives import RENDEZVOUS
from ._names.handing_over import finding

rule = Rule(
    code="PG307",
    symbols=tuple(RENDEZVOUS),
    since=(2, 6),
    safety=Safety.SAFE,
    kinds=frozenset({Kind.CALL}),
)

rule.check(finding)
