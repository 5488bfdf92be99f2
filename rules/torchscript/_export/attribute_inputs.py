"""Example inputs of a layer that an object of unknown class keeps: ``copy.deepcopy(actor_critic.actor)``.

Where everything that the project assigns to an attribute of that name is a stack of layers that begins with a linear one,
that layer says how many numbers it takes. The same holds for an actor of rsl_rl: up to release 3 an `nn.Sequential`, or a class
derived from it (rsl-rl-lib 2.1.1 to 3.3.0: rsl_rl/modules/actor_critic.py, rsl_rl/networks/mlp.py).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.project.indexed_file import IndexedFile, index_file
from torchmigrate.project.text_search import create_import_pattern
from torchmigrate.rewrite.changes import template
from torchmigrate.semantics.name_resolution import last_name

from .expression_kinds import find_binding
from .layer_stacks import find_layer
from .made_inputs import MadeInputs, make_inputs
from .module_modes import names_modal_layers

if TYPE_CHECKING:
    from torchmigrate.api import Context

    from .result_chain import ResultChain

_MOVES = frozenset({"to", "cpu", "cuda", "eval", "float"})
_OF_RSL_RL = "actor"
_MOST_FILES = 40


def find_attribute_inputs(model: ast.expr, chain: ResultChain) -> MadeInputs | None:
    """Return inputs that fit a module which is, or is copied from, an attribute of another object."""
    attribute = find_kept_attribute(model, chain)
    if attribute is None or not isinstance(model, (ast.Name, ast.Attribute)):
        return None
    index = find_linear_layer(attribute.attr, chain.ctx)
    if index is None:
        return None
    size = template(f"{{model}}{index}.in_features", model=model)
    origin = f"the example inputs follow the first layer of `{chain.ctx.get_text(attribute)}`"
    return make_inputs([((2, size), "float32")], model, origin, chain)


def find_kept_attribute(model: ast.expr, chain: ResultChain) -> ast.Attribute | None:
    """Return the attribute of an object that a module is, maybe as a copy, on another device or in another mode."""
    node: ast.AST | None = model
    for _ in range(6):
        match node:
            case ast.Attribute():
                return node
            case ast.Name():
                node = find_binding(node, chain.scope, chain.ctx)
            case ast.Call(func=ast.Attribute(attr=name, value=owner)) if name in _MOVES:
                node = owner
            case ast.Call(args=[copied]) if last_name(node.func) == "deepcopy":
                node = copied
            case _:
                return None
    return None


def find_linear_layer(attribute: str, ctx: Context) -> str | None:
    """Return the index, such as ``[0]``, of the linear layer that all stacks of layers begin with that ``attribute`` keeps."""
    return ctx.uses.compute_once((find_linear_layer, attribute), lambda: _find_common_index(attribute, ctx))


def _find_common_index(attribute: str, ctx: Context) -> str | None:
    sought = (f"self.{attribute}",), (rf"\bself\.{attribute}\s*(?::[^=\n]*)?=[^=]",)
    places = dict.fromkeys(path for path, _ in ctx.project.find_spellings(sought, beside=""))
    if len(places) > _MOST_FILES:
        return None
    found = set[str | None]()
    for path in places:
        file = index_file(ctx.project, path)
        for value in file.attributes.get(attribute, ()) if file is not None else ():
            assert file is not None
            if not _is_derived(value, attribute, file):
                found.add(_find_index(value, file, ctx))
    if not found and attribute == _OF_RSL_RL and _uses_rsl_rl(ctx):
        return "[0]"
    return found.pop() if len(found) == 1 else None


def _is_derived(value: ast.AST, attribute: str, file: IndexedFile) -> bool:
    """Return whether a value is None, or made of another object's attribute, or a parameter, of the same name."""
    if isinstance(value, ast.Constant) and value.value is None:
        return True
    function = file.find_function(value)
    parameters = ast.walk(function.args) if isinstance(function, ast.FunctionDef) else ()
    is_passed = any(isinstance(one, ast.arg) and one.arg == attribute for one in parameters)
    return any(
        last_name(node) == attribute and (is_passed or isinstance(node, ast.Attribute))
        for node in ast.walk(value)
        if isinstance(node, (ast.Attribute, ast.Name))
    )


def _find_index(value: ast.AST, file: IndexedFile, ctx: Context) -> str | None:
    init = file.find_function(value)
    if not isinstance(init, ast.FunctionDef) or not isinstance(value, ast.expr):
        return None
    made = find_layer(value, init, file, ctx)
    if made is None or last_name(made[0].func) != "Linear" or not made[1] or names_modal_layers(init):
        return None
    return made[1]


def _uses_rsl_rl(ctx: Context) -> bool:
    return bool(ctx.project.find_spellings((("rsl_rl",), (create_import_pattern("rsl_rl"),)), beside=""))
