"""A group's name is passed to a functional collective, which takes the process group itself.

Why: names are strings that a registry of the process has to turn back into groups. Since torch 2.12 the operators
below the functional collectives take `ProcessGroup` objects, and the plan is to pass objects only. The functional
collectives have taken objects ever since they were added (torch 2.1; names since 2.3), so the change works with every
version.

    funcol.all_reduce(x, "sum", pg.group_name)
    →
    funcol.all_reduce(x, "sum", pg)

See it: there is no warning yet; look for `.group_name`, `_get_process_group_name(...)` and `_dim_group_names[...]`
where a group is expected.

Fix safety: safe. There is no fix where nothing shows that the object before `.group_name` is a process group (a configuration
may also hold a group's name), and where the object may have changed since its name was taken. Where the name is a parameter or
an attribute, replace the parameter or attribute by the group, by hand.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/, https://github.com/pytorch/pytorch/pull/172795; wheels of
torch 2.1 to 2.15: torch/distributed/_functional_collectives.py (`RANK_TYPES`, `_resolve_group_name`, `_resolve_group`).
"""

from __future__ import annotations

from torchmigrate.api import Kind, Rule, Safety

from ._names.collectives import FUNCTIONAL
from ._names.handing_over import finding

rule = Rule(
    code="PG301",
    symbols=tuple(FUNCTIONAL),
    safety=Safety.SAFE,
    kinds=frozenset({Kind.CALL}),
)

rule.check(finding)
