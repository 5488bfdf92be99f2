"""A custom operator takes the name of a process group and looks the group up.

Why: before torch 2.12 an operator could not take a `ProcessGroup`, so its name went through a string parameter and a
private registry. Since 2.12 process groups are opaque objects that operators take, in eager mode and under
`torch.compile(fullgraph=True)`.

    @torch.library.custom_op("my::gather", mutates_args=())
    def gather(x: torch.Tensor, group_name: str) -> torch.Tensor:
        group = _resolve_process_group(group_name)
        ...
    y = gather(x, pg.group_name)
    →
    import torch.distributed.tensor  # so that custom operators can take a ProcessGroup
    @torch.library.custom_op("my::gather", mutates_args=())
    def gather(x: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
        ...
    y = gather(x, pg)

In torch 2.12 to 2.15, nothing but `torch.distributed.tensor` makes the class known to `custom_op`: without that import
the definition raises `unsupported type ProcessGroup`. The fix adds it where no import above has the same effect.

In a written schema `str group_name` becomes `Any group`: a schema cannot spell the class for a Python object.

See it: `print(torch.ops.my.gather.default._schema)` shows `str group_name`.

Fix safety: unsafe, because programs that were exported with the old schema, C++ callers, and code outside of the project do
not change with it. The fix changes the signature, the schema, the body, fake and autograd functions and all calls in
the file together, for all operators that pass the same name to each other. There is no fix, and the finding names the places,
where another file calls the operator, where a caller does not have the group, where the name is used as a string (a key,
a message), where a parameter has a default, and where the operator is used in a way that cannot be analyzed
(`hasattr(torch.ops.my, "gather")`, graph passes, `torch.library.opcheck`).

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/, https://github.com/pytorch/pytorch/pull/172795; wheels:
torch/distributed/device_mesh.py (`_register_distributed_opaque_types`, 2.12), torch/distributed/tensor/_api.py,
torch/_library/infer_schema.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.project.module_paths import get_module_path

from ._conversion.name_uses import GroupNameUses
from ._conversion.operator_conversion import OperatorConverter
from ._conversion.type_registration import import_registration
from ._names.group_takers import GROUP_SIZE, RESOLVE, TAKERS
from ._operators.custom_operators import CustomOperator, collect_operators, is_in_operator
from ._operators.function_parts import list_parameters

rule = Rule(
    code="PG304",
    symbols=(*RESOLVE, *GROUP_SIZE, *TAKERS),
    since=(2, 12),
    safety=Safety.UNSAFE,
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if not is_in_operator(use, ctx):
        return
    reading = GroupNameUses(ctx)
    for operator in collect_operators(ctx).values():
        for index, name in enumerate(operator.parameters):
            if reading.find_evidence(operator, index) is use.call:
                message = f"`{operator.name}` takes the name of a process group as `{name}`, but could take the group itself"
                place = (
                    list_parameters(operator.body)[index] if operator.body is not None else operator.schema
                )
                span = ctx.source.span_of(place or operator.call)
                yield ctx.finding(
                    use, message, fix=partial(_create_fix, use, ctx, operator, index), span=span
                )


def _create_fix(use: Use, ctx: Context, operator: CustomOperator, index: int) -> Fix:
    definition = replace(use, node=operator.call.func, place=operator.place)
    group = ctx.write_symbol("torch.distributed.ProcessGroup", definition)
    conversion = OperatorConverter(ctx, group)
    changes = conversion.collect_changes(operator, index)
    converted = dict.fromkeys(found for found, _ in conversion.converted)
    # The conversion runs first because it finds the other operators whose callers count as well.
    callers: dict[str, int] = {}
    for found in converted:
        for path, line in _find_other_files(found, ctx):
            callers.setdefault(path, line)
    if callers:
        places = ", ".join(f"{ctx.project.get_display_path(path)}:{line}" for path, line in callers.items())
        raise NoFix(f"the mentions of the operator at {places} have to change as well")
    names = " and ".join(f"`{found.name}`" for found in converted)
    changes = (*import_registration(converted, ctx), *changes)
    return Fix(changes, Safety.UNSAFE, f"Pass {names} the process group itself")


def _find_other_files(operator: CustomOperator, ctx: Context) -> Iterator[tuple[str, int]]:
    """Find the lines of other files that may name an operator, or the function that implements it."""
    path = os.path.abspath(ctx.source.path)
    module = os.path.basename(get_module_path(path))
    namespace, _, name = map(re.escape, operator.name.partition("::"))
    function = getattr(operator.body, "name", name)
    imported = r"import\s+(?:\([^)]*|[^\n]*)(?<!\w)"
    yield from ctx.project.find_spellings(
        ((operator.name,), (rf"{namespace}::{name}(?!\w)",)),
        ((name, namespace), (rf"{name}(?!\w)", rf"ops\s*\.\s*{namespace}(?!\w)")),
        ((module,), (rf"{module}\s+{imported}(?:{function}(?!\w)|\*)",)),
        ((module, function), (rf"{function}(?!\w)", rf"{imported}{module}(?!\w)")),
        beside=path,
    )
