"""Calls that tests expect of a mock: ``@patch("torchvision.utils.make_grid")``, ``mock_grid.assert_called_with(image, range=(0, 1))``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.semantics.name_resolution import last_name

if TYPE_CHECKING:
    from torchmigrate.api import Use

_EXPECTING = frozenset({"assert_called_with", "assert_called_once_with", "assert_any_call"})


def find_expected_calls(use: Use) -> Iterator[ast.Call]:
    """Yield the calls that say which arguments a mock of the symbol gets, in the function that a ``@patch("name")`` decorates."""
    test, patch = use.place.statement, use.parents[-1] if use.parents else None
    if not isinstance(test, ast.FunctionDef) or patch not in test.decorator_list:
        return
    given = [one for one in reversed(test.decorator_list) if _gives_mock(one)]
    parameters = [argument.arg for argument in test.args.args if argument.arg not in ("self", "cls")]
    if patch not in given or len(parameters) < len(given):
        return
    mock = parameters[given.index(patch)]
    for node in ast.walk(test):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                if name == mock and method in _EXPECTING:
                    yield node


def _gives_mock(decorator: ast.expr) -> bool:
    """Return whether a decorator passes a mock to the function: a ``patch`` that is given no object of its own."""
    if not isinstance(decorator, ast.Call):
        return False
    taken = 2 if last_name(decorator.func) == "object" else 1 if last_name(decorator.func) == "patch" else 0
    return (
        bool(taken) and len(decorator.args) == taken and not any(k.arg == "new" for k in decorator.keywords)
    )
