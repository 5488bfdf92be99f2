"""The types in annotations, and in TorchScript's type comments."""

from __future__ import annotations

import ast
import re

from torchmigrate.semantics.nodes import Function
from torchmigrate.semantics.resolve import string

Types = frozenset[str]
"""The possible types of an expression, in the words below; empty where the code does not show them.

`sizes` and `tensors` are lists to TorchScript and tuples to Python, a `view` is a list to it and not to Python;
`List` and `Dict` are parameters, which it copies, and which may be tuples to Python. The others are what they are called.
"""

NOTHING: Types = frozenset()
NUMBERS = frozenset({"int", "float", "bool"})
_SIGNATURE = re.compile(r"#\s*type:\s*\((.*)\)\s*->\s*([^\n#]+)")


def signature(function: Function, text: str) -> tuple[dict[str, Types], Types]:
    """Return the types of the parameters and of the result, by annotations or by TorchScript's comments in ``text``."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    lines = text.split("\n")
    comment = _SIGNATURE.search("\n".join(lines[: function.body[0].lineno - function.lineno + 1]))
    commented = _parsed(f"({comment[1]},)") if comment is not None else None
    commented_types = commented.elts if isinstance(commented, ast.Tuple) else []
    parameters = {}
    for number, parameter in enumerate(every):
        annotation = parameter.annotation
        if annotation is None and comment is not None:
            parameters[parameter.arg] = (
                of_annotation(commented_types[number]) if len(commented_types) == len(every) else NOTHING
            )
            continue
        line = lines[parameter.lineno - function.lineno] if parameter.lineno >= function.lineno else ""
        beside = re.search(r"#\s*type:\s*([^#]+)", line)
        if annotation is None and beside is not None:
            annotation = _parsed(beside[1].strip())
            parameters[parameter.arg] = of_annotation(annotation, is_parameter=annotation is not None)
        else:
            parameters[parameter.arg] = of_annotation(annotation)
    returned = function.returns or (_parsed(comment[2].strip()) if comment is not None else None)
    return parameters, of_annotation(returned, is_parameter=False)


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def of_annotation(annotation: ast.expr | None, *, is_parameter: bool = True) -> Types:
    """Return the types in an annotation; to TorchScript, a parameter without one is a tensor."""
    if annotation is None:
        return frozenset({"Tensor"}) if is_parameter else NOTHING
    text = string(annotation) or ast.unparse(annotation)
    text = re.sub(r"\b(typing|torch|t)\.", "", text)
    while match := re.fullmatch(r"(?:Optional|Final)\[(.*)\]", text):
        text = match[1]
    text = re.sub(r"\s*\|\s*None\b|\bNone\s*\|\s*", "", text)
    head = text.partition("[")[0]
    if head.startswith("BroadcastingList"):
        return frozenset({"BroadcastingList"})
    kinds = {"List": "List", "list": "List", "Dict": "Dict", "dict": "Dict", "Tensor": "Tensor"}
    if not is_parameter:
        kinds |= {"List": "list", "list": "list", "Dict": "dict", "dict": "dict"}
    if head in kinds:
        return frozenset({kinds[head]})
    return frozenset({head}) if head in (*NUMBERS, "str", "tuple", "Tuple") else NOTHING
