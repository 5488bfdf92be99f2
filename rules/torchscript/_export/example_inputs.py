"""Example inputs for the export of a scripted module, from what the code around it shows.

Where the scope calls the module, exports it to ONNX, traces or profiles it, the inputs of that call serve. Else the class may
keep inputs for this purpose, a run may have recorded some, other code of the project may call the class, and the first
layer of ``forward`` shows what it takes. Last come inputs that are made only below the script.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Iterator, Sequence

from torchmigrate.api import NoFix
from torchmigrate.semantics.call_arguments import argument_value, find_argument, list_arguments
from torchmigrate.semantics.module_methods import MOVES

from .._authoring.torchscript_makers import LOADING, TRACES
from .attribute_inputs import find_attribute_inputs
from .class_inputs import find_called_inputs, find_kept_inputs
from .expression_kinds import find_binding, find_input_form
from .file_paths import is_same_file
from .layer_inputs import find_layer_inputs
from .library_inputs import find_library_inputs
from .made_inputs import MadeInputs
from .module_classes import find_class_file, find_making_call, find_model_class
from .module_factories import find_factory
from .passed_inputs import find_early_inputs, find_passed_calls
from .recorded_inputs import find_recorded_inputs
from .recurrent_inputs import find_recurrent_inputs
from .result_chain import ResultChain

_TAKING = {
    "torch.onnx.export": (1, "args"),
    **dict.fromkeys(TRACES, (1, "example_inputs")),
    "thop.profile": (None, "inputs"),
    "fvcore.nn.FlopCountAnalysis": (1, "inputs"),
}
"""Functions that take a module and its inputs: the position and the keyword of these."""


def find_example(model: ast.expr, chain: ResultChain) -> ast.Call | MadeInputs | None:
    """Return a call whose positional arguments serve as example inputs, or inputs made for the export; None without any."""
    calls = [*chain.find_calls(), *_iter_other_calls(model, chain)]
    return (
        _find_known(calls, model, chain)
        or _find_inputs_elsewhere(model, chain)
        or _find_known(_iter_late_calls(calls, chain), model, chain)
    )


def _find_known(calls: Iterable[ast.Call], model: ast.expr, chain: ResultChain) -> ast.Call | None:
    """Return the first call whose inputs serve where the module is scripted."""
    known = (call for call in calls if _is_known(call, chain) and not _is_moved_between(model, call, chain))
    return next(known, None)


def _find_inputs_elsewhere(model: ast.expr, chain: ResultChain) -> MadeInputs | None:
    """Return the inputs that the class, a recorded run, the library, other code or the first layer shows."""
    definition = find_model_class(model, chain.use, chain.ctx)
    if definition is not None and (kept := find_kept_inputs(model, definition, chain)):
        return kept
    if recorded := find_recorded_inputs(model, chain):
        return recorded
    if definition is None:
        made = find_making_call(model, chain.use, chain.ctx)
        factory = find_factory(made, chain.ctx) if made is not None else None
        return (
            (find_called_inputs(model, factory[0].name, factory[1], chain) if factory is not None else None)
            or find_library_inputs(model, chain)
            or find_attribute_inputs(model, chain)
        )
    return (
        find_called_inputs(model, definition.name, find_class_file(definition, chain.ctx), chain)
        or find_layer_inputs(model, definition, chain)
        or find_recurrent_inputs(model, definition, chain)
    )


def _iter_late_calls(calls: Sequence[ast.Call], chain: ResultChain) -> Iterator[ast.Call]:
    """Yield calls of the module that is loaded again, and all calls with their inputs made where it is scripted."""
    loaded = [*_iter_loaded_calls(chain)]
    yield from loaded
    yield from (find_early_inputs(call, chain.use, chain.ctx) for call in (*calls, *loaded))


def _iter_loaded_calls(chain: ResultChain) -> Iterator[ast.Call]:
    """Yield the calls of what the same scope loads from a file that the chain saves."""
    paths = [path for path in (chain.find_path(*save) for save in chain.saves) if path is not None]
    for use in chain.ctx.uses.all_uses if paths else ():
        is_load = use.symbol in LOADING and use.call is not None and use.place.scope is chain.scope
        read = find_argument(use.call, 0, "f") if is_load and use.call is not None else None
        if any(is_same_file(read, path, use, chain) for path in paths):
            loaded = ResultChain(use, chain.ctx)
            with contextlib.suppress(NoFix):
                loaded.follow_value(loaded.call)
            yield from loaded.find_calls()


def _iter_other_calls(model: ast.expr, chain: ResultChain) -> Iterator[ast.Call]:
    """Yield the calls of the module itself, and of what takes it with its inputs."""
    if not isinstance(model, (ast.Name, ast.Attribute)):
        return
    text = ast.dump(model)
    for node in chain.flow.parents:
        if (
            not isinstance(node, ast.Call)
            or node is chain.call
            or chain.ctx.uses.scope_of(node) is not chain.scope
        ):
            continue
        if ast.dump(node.func) == text:
            yield node
        elif (inputs := _find_taken(node, text, chain)) is not None:
            yield ast.copy_location(ast.Call(node.func, inputs, []), node)
        else:
            places = (one for one in map(argument_value, list_arguments(node)) if ast.dump(one) == text)
            for place in places:
                yield from find_passed_calls(place, node, chain.use, chain.ctx) or ()


def _find_taken(call: ast.Call, model: str, chain: ResultChain) -> list[ast.expr] | None:
    """Return the inputs that a call takes together with the module."""
    resolved = chain.ctx.resolve_node(call.func, chain.use)
    taken = _TAKING.get(resolved.names[0]) if resolved is not None else None
    if taken is not None and call.args and ast.dump(call.args[0]) == model:
        found = find_argument(call, *taken)
    elif (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "to_onnx"
        and ast.dump(call.func.value) == model
    ):
        found = find_argument(call, 1, "input_sample")
    elif isinstance(call.func, ast.Attribute) and call.func.attr == "add_graph" and call.args:
        found = find_argument(call, 1, "input_to_model") if ast.dump(call.args[0]) == model else None
    else:
        return None
    if isinstance(found, ast.Tuple):
        return found.elts
    bound = find_binding(found, chain.scope, chain.ctx)
    if isinstance(bound, ast.Tuple):
        return bound.elts
    is_one = found is not None and find_input_form(found, chain.use, chain.ctx) == "one"
    return [found] if is_one and found is not None and not isinstance(found, ast.Dict) else None


def _is_known(call: ast.Call, chain: ResultChain) -> bool:
    """Return whether the arguments of a call exist already where the module is scripted, and are no numbers."""
    if not call.args or call.keywords or any(isinstance(one, ast.Starred) for one in call.args):
        return False
    if any(isinstance(one, ast.Constant) and isinstance(one.value, (int, float, str)) for one in call.args):
        return False
    names = [node for argument in call.args for node in ast.walk(argument) if isinstance(node, ast.Name)]
    owners = [(name, chain.scope.find_scope(name.id)) for name in names]
    line = chain.use.place.statement.lineno
    return all(
        owner is not None and all(getattr(b.node, "lineno", 0) < line for b in owner.bindings[name.id])
        for name, owner in owners
    )


def _is_moved_between(model: ast.expr, call: ast.Call, chain: ResultChain) -> bool:
    """Return whether the module is moved to another device or type between a call of it and its script."""
    first, last = sorted((call.lineno, chain.call.lineno))
    text = ast.dump(model)
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in MOVES
        and ast.dump(node.value) == text
        and first <= node.lineno <= last
        for node in chain.flow.parents
    )
