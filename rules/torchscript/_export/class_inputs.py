"""Example inputs that a class keeps for this purpose, and those that other code of the project calls it with."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.project.import_closure import find_importing_files
from torchmigrate.project.indexed_file import IndexedFile, find_assigned_values, index_file
from torchmigrate.rewrite.changes import Template, template
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes
from torchmigrate.semantics.tensors import SIZED, list_sizes

from .dynamic_sizes import size_sequence
from .made_inputs import MadeInputs, make_inputs

if TYPE_CHECKING:
    from .result_chain import ResultChain

_KEPT = re.compile(r"(get_|make_)?(dummy|example|sample)_inputs?(_array)?|input_(prototype|example|sample)")
"""The names of methods and attributes that keep example inputs."""
_DTYPES = {
    "long": "int64",
    "int64": "int64",
    "int32": "int32",
    "int": "int32",
    "float32": "float32",
    "float": "float32",
}
_MOST_FILES = 40


def find_kept_inputs(model: ast.expr, definition: ast.ClassDef, chain: ResultChain) -> MadeInputs | None:
    """Return the inputs that a method or an attribute of the class gives."""
    if not isinstance(model, (ast.Name, ast.Attribute)):
        return None
    for node in walk_nodes(definition):
        if isinstance(node, ast.FunctionDef) and _KEPT.fullmatch(node.name):
            arguments = node.args
            if len(arguments.args) - len(arguments.defaults) > 1 or arguments.kwonlyargs:
                continue
            returned = [one.value for one in walk_nodes(node) if isinstance(one, ast.Return)]
            is_property = any("property" in ast.unparse(one) for one in node.decorator_list)
            value = returned[0] if len(returned) == 1 else None
            if isinstance(value, ast.Name):
                assigned = list(find_assigned_values(value.id, node))
                value = assigned[0] if len(assigned) == 1 else None
            code = f"{{model}}.{node.name}" + ("" if is_property else "()")
        elif isinstance(node, ast.Assign) and _KEPT.fullmatch(last_name(node.targets[0]) or ""):
            value, code = node.value, f"{{model}}.{last_name(node.targets[0])}"
        else:
            continue
        if value is not None and (made := _render_kept(template(code, model=model), value, code, chain)):
            return made
    return None


def _render_kept(kept: Template, value: ast.expr, code: str, chain: ResultChain) -> MadeInputs | None:
    origin = f"the example inputs are those of `{code.partition('.')[2]}`"
    if isinstance(value, (ast.Tuple, ast.List)):
        sizes = size_sequence(kept, chain)
        assert sizes.shapes is not None
        whole = kept if isinstance(value, ast.Tuple) else template("tuple({kept})", kept=kept)
        return MadeInputs(whole, sizes.shapes, origin + sizes.fixed)
    read = _read_tensor(value)
    if read is None:
        return None
    dim = chain.ctx.write_symbol("torch.export.Dim", chain.use)
    shapes = template(f"([{{dim}}.AUTO] * {len(read[0])},)", dim=dim)
    rows = ".repeat_interleave(2, 0)" if read[0][0] == 1 else ""
    return MadeInputs(template(f"({{kept}}{rows},)", kept=kept), shapes, origin)


def find_called_inputs(
    model: ast.expr, maker: str, path: str | None, chain: ResultChain
) -> MadeInputs | None:
    """Return inputs like those of a call, anywhere in the project, with new tensors: a call of an instance of a class, or of what
    a function returns. ``path`` is the file that defines this ``maker``."""
    importers = find_importing_files(chain.ctx.project, path) if path else []
    for one in dict.fromkeys(
        [os.path.abspath(chain.ctx.source.path), *filter(None, [path]), *importers][:_MOST_FILES]
    ):
        file = index_file(chain.ctx.project, one)
        for call in _iter_instance_calls(maker, file) if file is not None else ():
            assert file is not None
            tensors = [
                _read_tensor(argument, file.find_function(call) or file.tree) for argument in call.args
            ]
            if tensors and not call.keywords and all(tensors):
                place = f"{chain.ctx.project.get_display_path(one)}:{call.lineno}"
                origin = f"the example inputs have the sizes of those on {place}"
                return make_inputs([tensor for tensor in tensors if tensor is not None], model, origin, chain)
    return None


def _iter_instance_calls(name: str, file: IndexedFile) -> Iterator[ast.Call]:
    """Yield the calls of what a class or function makes: of variables that hold it, and at once; an export to ONNX calls it as well."""
    for made in file.calls.get(name, ()):
        node: ast.AST = made
        while _is_passed_on(node, file):
            node = file.parents[file.parents[node]]
        parent = file.parents[node]
        if isinstance(parent, ast.Call) and parent.func is node:
            yield parent
        target = parent.targets[0] if isinstance(parent, ast.Assign) and len(parent.targets) == 1 else None
        if not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        text, root = (
            ast.unparse(target),
            file.tree if isinstance(target, ast.Attribute) else file.find_function(made),
        )
        for call in file.calls.get(last_name(target) or "", ()):
            is_inside = root is None or root is file.tree or file.find_function(call) is root
            if is_inside and ast.unparse(call.func) == text and call.args:
                yield call
        for call in file.calls.get("export", ()):
            is_inside = root is None or root is file.tree or file.find_function(call) is root
            if is_inside and len(call.args) > 1 and ast.unparse(call.args[0]) == text:
                given = call.args[1].elts if isinstance(call.args[1], ast.Tuple) else [call.args[1]]
                if last_name(getattr(call.func, "value", call)) == "onnx":
                    yield ast.copy_location(ast.Call(target, given, []), call)


def _is_passed_on(node: ast.AST, file: IndexedFile) -> bool:
    """Return whether a module is only moved, or put into another mode: ``Net().eval()``."""
    parent = file.parents[node]
    call = file.parents.get(parent)
    is_method = isinstance(parent, ast.Attribute) and parent.attr in (
        "eval",
        "train",
        "to",
        "cuda",
        "cpu",
        "double",
    )
    return is_method and isinstance(call, ast.Call) and call.func is parent


def _read_tensor(value: ast.expr, root: ast.AST | None = None) -> tuple[tuple[int, ...], str] | None:
    """Return the sizes and the dtype of an expression that makes a tensor with written sizes; None for any other."""
    if isinstance(value, ast.Name) and root is not None:
        assigned = list(find_assigned_values(value.id, root))
        return _read_tensor(assigned[0]) if len(assigned) == 1 else None
    while (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in ("to", "cuda", "cpu")
    ):
        value = value.func.value
    if not isinstance(value, ast.Call) or last_name(value.func) not in SIZED:
        return None
    sizes = list_sizes(value)
    numbers = tuple(
        size.value for size in sizes if isinstance(size, ast.Constant) and isinstance(size.value, int)
    )
    dtype = next((last_name(one.value) or "?" for one in value.keywords if one.arg == "dtype"), None)
    dtype = dtype or ("int64" if last_name(value.func) == "randint" else "float32")
    if not numbers or len(numbers) != len(sizes) or dtype not in _DTYPES:
        return None
    return numbers, _DTYPES[dtype]
