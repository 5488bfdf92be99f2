"""The inputs that a recorded run shows: the one door through which such evidence reaches exports.

`find_recorded_inputs` is asked where a module is scripted and its scope shows no example; what it finds is written as example
inputs (``torch.zeros(2, 16)``), before anything is concluded from the layers of the module. A record is a fact about the
project, as other files' notes are: a `Mention` of the symbol `RECORDED_INPUTS` with the path and the line of the call, and one
constant, the positional and the named inputs as JSON: ``[[{"dtype": "float32", "sizes": [2, 16]}], {}]``.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torchmigrate.api import NoFix
from torchmigrate.record.record_facts import RECORDED_INPUTS, ExportProof, ScriptCall, TraceExample
from torchmigrate.rewrite.changes import Template, template

from .made_inputs import MadeInputs, TensorMaker

if TYPE_CHECKING:
    from .result_chain import ResultChain

_ORIGIN = "the example inputs have the sizes of a recorded run"


def find_recorded_inputs(model: ast.expr, chain: ResultChain) -> MadeInputs | None:
    """Return inputs like those that a run passed to the module that is scripted; None where there is no record.

    Raise NoFix where a call of the result passes others.
    """
    use, ctx = chain.use, chain.ctx
    for mention in ctx.project.find_uses(RECORDED_INPUTS):
        is_here = os.path.abspath(mention.path) == os.path.abspath(ctx.source.path)
        if is_here and mention.line == use.node.lineno:
            args, kwargs = json.loads(str(dict(mention.constants)["inputs"]))
            _check_calls(len(args), frozenset(kwargs), chain)
            return _InputWriter(model, chain).write_inputs(args, kwargs)
    return None


def _check_calls(number: int, names: frozenset[str], chain: ResultChain) -> None:
    """Raise NoFix where a call passes other arguments by position or name than the recorded ones: an exported program rejects them."""
    for call in chain.find_calls():
        given = [keyword.arg for keyword in call.keywords]
        if None in given or any(isinstance(one, ast.Starred) for one in call.args):
            continue
        if len(call.args) != number or names != set(given):
            raise NoFix(
                f"line {call.lineno} passes other arguments by position or by name than the recorded calls, which an exported "
                "program rejects"
            )


def has_recorded_rows(position: int, chain: ResultChain) -> bool:
    """Return whether a recorded run has traced here, and each time with at least two rows at a position of the example."""
    examples = chain.ctx.recorded.find_own_facts(TraceExample, chain.call)
    calls = chain.ctx.recorded.find_own_facts(ScriptCall, chain.call)
    shapes = [one.args[position].get("shape", ()) if position < len(one.args) else () for one in examples]
    others = [one.args[position].get("shape", ()) for one in calls if position < len(one.args)]
    if not shapes or not all(shape and shape[0] > 1 for shape in shapes):
        return False
    # Beside the rows, a size of 1 stays fixed as well.
    return all(
        len(other) == len(shape)
        and not any(size == 1 != found for size, found in zip(shape, other, strict=True))
        for shape in shapes
        for other in others
    )


def find_recorded_form(chain: ResultChain) -> str | None:
    """Return whether a recorded run has given the example of a trace as a "tuple", a "list" or "one"; None where it differs or is unknown."""
    forms = {example.form for example in chain.ctx.recorded.find_own_facts(TraceExample, chain.call)}
    return forms.pop() if len(forms) == 1 else None


def ignores_mode(chain: ResultChain) -> bool:
    """Return whether the proofs of a recorded run have found that the module gives the same results in training and in eval mode."""
    proofs = chain.ctx.recorded.find_own_facts(ExportProof, chain.call)
    return bool(proofs) and all(proof.holds and proof.ignores_mode for proof in proofs)


class _InputWriter:
    """Writes recorded inputs as code, and what of them an export fixes."""

    def __init__(self, model: ast.expr, chain: ResultChain) -> None:
        self._maker = TensorMaker(model, chain)
        self._fixed: list[str] = []

    def write_inputs(self, args: list[Any], kwargs: dict[str, Any]) -> MadeInputs:
        """Return the code of the inputs."""
        given = [self._write(value) for value in args]
        named = {name: self._write(value) for name, value in kwargs.items()}
        shapes = [shape for _, shape in (*given, *named.values())]
        fixed = f"; {', '.join(f'`{one}`' for one in self._fixed)} stays fixed" if self._fixed else ""
        return MadeInputs(
            _write_tuple([code for code, _ in given]),
            _write_tuple(shapes),
            _ORIGIN + fixed,
            _write_dict({name: code for name, (code, _) in named.items()}) if named else None,
        )

    def _write(self, value: Mapping[str, Any]) -> tuple[Template, Template]:
        """Return the code of a value, and of its part of ``dynamic_shapes``."""
        match value:
            case {"sizes": sizes, "dtype": dtype}:
                return self._maker.make(sizes, dtype)
            case {"dict": parts}:
                written = {key: self._write(part) for key, part in parts.items()}
                return (
                    _write_dict({key: code for key, (code, _) in written.items()}),
                    _write_dict({key: shape for key, (_, shape) in written.items()}),
                )
            case {"list": parts} | {"tuple": parts}:
                pairs = [self._write(part) for part in parts]
                form = _write_tuple if "tuple" in value else _write_list
                return form([code for code, _ in pairs]), form([shape for _, shape in pairs])
        self._fixed.append(repr(value["value"]))
        return template(repr(value["value"])), template("None")


def _write_tuple(parts: list[Template]) -> Template:
    return template("({parts},)" if len(parts) == 1 else "({parts})", parts=parts)


def _write_list(parts: list[Template]) -> Template:
    return template("[{parts}]", parts=parts)


def _write_dict(parts: Mapping[str, Template]) -> Template:
    keys = (json.dumps(key).replace("{", "{{").replace("}", "}}") for key in parts)
    items = ", ".join(f"{key}: {{part{number}}}" for number, key in enumerate(keys))
    return Template(f"{{{{{items}}}}}", {f"part{number}": part for number, part in enumerate(parts.values())})
