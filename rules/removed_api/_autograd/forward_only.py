"""Classes that derive from `torch.autograd.Function` for their `forward` alone: they can be modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Place, Safety
from torchmigrate.model.findings import FixChange
from torchmigrate.project.indexed_file import IndexedFile, index_file
from torchmigrate.project.project_definitions import find_definition
from torchmigrate.rewrite.changes import AddDecorator, Insert, template
from torchmigrate.semantics.name_resolution import last_name

from .function_classes import FunctionClass, get_first_statement

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_OTHER_WAYS = {"backward", "jvp", "setup_context", "vmap", "__call__"}


def keeps_state_for_forward(owner: FunctionClass) -> bool:
    """Return whether a class has a state, and nothing that a gradient is computed with."""
    methods = owner.methods
    plain = all(name in methods and not methods[name].decorator_list for name in ("__init__", "forward"))
    return plain and len(owner.definition.bases) == 1 and not _OTHER_WAYS & methods.keys()


def find_object_calls(owner: FunctionClass, ctx: Context) -> list[Place]:
    """Return the places in the project that call an object of a class, at once, through a variable or as an attribute."""
    name = owner.definition.name
    applied = ((f"{name}.apply",), (rf"\b{re.escape(name)}\.apply\b",))
    if ctx.project.find_spellings(applied, beside=""):
        return []
    places = list[Place]()
    made = ((name,), (rf"(?<!class )\b{re.escape(name)}\s*\(",))
    for caller, _ in ctx.project.find_spellings(made, beside=""):
        file = index_file(ctx.project, caller)
        if file is None:
            continue
        for one in file.calls.get(name, ()):
            found = find_definition(one.func, file, ctx.project)
            if found is not None and (found[0].lineno, found[1].path) == (
                owner.definition.lineno,
                owner.path,
            ):
                shown = ctx.project.get_display_path(caller)
                places += [Place(shown, line) for line in _iter_object_calls(one, file)]
    return places


def _iter_object_calls(made: ast.Call, file: IndexedFile) -> Iterator[int]:
    """Yield the lines of a file that call the object that a call makes."""
    parent = file.parents.get(made)
    if isinstance(parent, ast.Call) and parent.func is made:
        yield made.lineno
    elif isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        for one in file.calls.get(last_name(target) or "", ()):
            is_alike = ast.unparse(one.func) == ast.unparse(target)
            is_local = isinstance(target, ast.Name) and file.find_function(made) is not None
            if is_alike and (not is_local or file.find_function(one) is file.find_function(made)):
                yield one.lineno


def create_module_fix(use: Use, owner: FunctionClass, ctx: Context) -> Fix:
    """Return the fix that derives a class from `torch.nn.Module`, where ``use`` is its base."""
    changes: list[FixChange] = [ctx.rename_use(use, "torch.nn.Module")]
    begin = owner.methods["__init__"]
    if not any(isinstance(node, ast.Attribute) and node.attr == "__init__" for node in ast.walk(begin)):
        changes.append(Insert(get_first_statement(begin), template("super().__init__()")))
    no_grad = ctx.write_symbol("torch.no_grad", use)
    changes.append(AddDecorator(owner.methods["forward"], template("{no_grad}()", no_grad=no_grad)))
    reason = "unsafe because its objects become parts of the modules that keep them"
    return Fix((*changes,), Safety.UNSAFE, f"Derive `{owner.definition.name}` from `nn.Module`; {reason}")
