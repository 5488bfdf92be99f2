"""A process group is looked up by name, or by ranks and a tag, in a private registry of torch.distributed.

Why: the registry that these functions read and write is private, and torch moves from names to `ProcessGroup` objects
(operators have taken them since 2.12). `mesh._dim_group_infos`, which held tag, ranks and name, was removed in 2.8.

    size = _get_group_size_by_name(pg.group_name)
    →
    size = dist.get_world_size(pg)

What to do, in the other cases: keep the object that `dist.new_group` or `mesh.get_group(i)` returns, and pass the object
instead of its name, or of its ranks and tag.

See it: there is no warning; the names all begin with an underscore. `mesh._dim_group_infos` raises an AttributeError.

Fix safety: safe. There is a fix for `_get_group_size_by_name` where the group itself is available.

Source: torch/distributed/distributed_c10d.py, torch/distributed/device_mesh.py in the wheels of torch 2.3 to 2.15;
https://pytorch.org/blog/pytorch-2-12-release-blog/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.model.torch_versions import severity_at
from torchmigrate.rewrite.changes import Replace, template
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name

from ._names.group_names import GroupNameSource, trace_group_name
from ._names.group_takers import C10D
from ._operators.custom_operators import is_in_operator

_SIZE = "_get_group_size_by_name"
_INFOS = "_dim_group_infos"
_BY_RANKS = "`{symbol}` looks a group up by its ranks and a tag; keep the group that `dist.new_group` returns"
_MESSAGES = {
    _SIZE: "`{symbol}` looks a group up by name; pass the group itself, and call `dist.get_world_size(group)`",
    "_find_or_create_pg_by_ranks_and_tag": _BY_RANKS,
    "_find_pg_by_ranks_and_tag": _BY_RANKS,
    "_resolve_group_name_by_ranks_and_tag": _BY_RANKS,
    "_register_process_group": "`{symbol}` registers a group under a name; pass the group itself to the code that looks it up",
    _INFOS: f"`{_INFOS}` was removed in torch 2.8; `mesh.get_group(i)` returns the group itself",
}

_CHECKED_FOR = re.compile(rb"""["']_dim_group_infos["']""")
"""A `hasattr` or `getattr` that checks for the attribute."""

rule = Rule(
    code="PG306",
    symbols=(
        *(f"{module}.{name}" for module in C10D for name in _MESSAGES if name != _INFOS),
        f".{_INFOS}",
    ),
    safety=Safety.SAFE,
    kinds=frozenset({Kind.CALL, Kind.REFERENCE}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.symbol == f".{_INFOS}":
        if _CHECKED_FOR.search(ctx.source.text) or ctx.project.find_uses(
            use.symbol, kinds=(Kind.ASSIGNMENT,)
        ):
            return  # The mesh is a class of the project's own.
        # This one broke; the rule's other names are private, and work on.
        gone = severity_at(ctx.options.target, deprecated=None, breaks=(2, 8))
        yield ctx.finding(use, _MESSAGES[_INFOS], severity=gone)
    elif use.call is not None:
        given = find_argument(use.call, 0, "group_name") if use.symbol.endswith(_SIZE) else None
        group = trace_group_name(given, use, ctx) if given is not None else None
        if isinstance(group, GroupNameSource) and given is group.node:
            message = "`{symbol}` looks up a group that is already available"
            yield ctx.finding(use, message, fix=lambda: _create_fix(use, ctx, group))
        elif given is None or ((last_name(given) or "").endswith("name") and not is_in_operator(use, ctx)):
            yield ctx.finding(use, _MESSAGES[use.symbol.rpartition(".")[2]])


def _create_fix(use: Use, ctx: Context, name: GroupNameSource) -> Fix:
    assert use.call is not None
    if name.doubt is not None:
        raise NoFix(name.doubt)
    size = ctx.write_symbol("torch.distributed.get_world_size", use)
    asked = template("{size}({group})", size=size, group=name.replacement)
    return Fix((Replace(use.call, asked),), Safety.SAFE, f"Replace with `{ctx.render_template(asked)}`")
