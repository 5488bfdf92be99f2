"""The import that lets torch infer the schema of a custom operator with a `ProcessGroup` parameter.

Nothing but `torch.distributed.tensor` registers the class with torch, and neither `import torch` nor
`import torch.distributed` imports that: without it, `custom_op` raises a ValueError where the operator is defined.

Source: torch 2.12.1 to 2.15.0 wheels: torch/distributed/tensor/_api.py and _collective_utils.py, the only callers of
`_register_distributed_opaque_types`; torch/distributed/fsdp, which imports them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchmigrate.api import Context, NoFix
from torchmigrate.rewrite.changes import Insert, template
from torchmigrate.semantics.scopes import BindingKind

from .._operators.custom_operators import CustomOperator

_MODULE = "torch.distributed.tensor"
_REGISTERING = (f"{_MODULE}.", "torch.distributed.fsdp.")
_IMPORT = f"import {_MODULE}  # noqa: F401  # so that custom operators can take a ProcessGroup"


def import_registration(operators: Iterable[CustomOperator], ctx: Context) -> Iterator[Insert]:
    """Yield the import that the operators need once they take a group, unless an earlier one has the same effect.

    Raises NoFix.
    """
    inferred = [operator for operator in operators if operator.schema is None]
    if not inferred:
        return
    body = ctx.source.syntax_tree.body
    first = min(list(operator.place.enclosing_places())[-1].statement.lineno for operator in inferred)
    imports = [s for s in body if isinstance(s, (ast.Import, ast.ImportFrom)) and s.lineno < first]
    loaded = [name for statement in imports for name in _list_modules(statement)]
    if any(f"{name}.".startswith(_REGISTERING) for name in loaded):
        return
    of_torch = [s for s in imports if any(name.partition(".")[0] == "torch" for name in _list_modules(s))]
    bound = ctx.uses.scopes.module.bindings.get("torch", [])
    if not of_torch or any(b.kind is not BindingKind.IMPORT or b.module != "torch" for b in bound):
        raise NoFix(
            f"no position was found for `import {_MODULE}`, which an operator that takes a `ProcessGroup` needs"
        )
    # isort sorts `import a.b` before `from a import b`, and each by the module.
    before = [s for s in of_torch if isinstance(s, ast.Import) and _list_modules(s)[0] < _MODULE]
    at = before[-1] if before else of_torch[0]
    yield Insert(at, template(_IMPORT), after=bool(before))


def _list_modules(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the modules that an import certainly loads, and the imported names, which may be modules."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    module = statement.module or ""
    return [] if statement.level else [module, *(f"{module}.{alias.name}" for alias in statement.names)]
