"""The answers of tests of torch's version, for one release at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import pairwise

from torchmigrate.model.torch_versions import Version, render_version
from torchmigrate.semantics.predicates import expand_predicate
from torchmigrate.semantics.scopes import Scope
from torchmigrate.semantics.symbol_uses import SymbolUses
from torchmigrate.semantics.version_expressions import is_torch_version, read_version
from torchmigrate.semantics.version_guards import reach_of_test

_DEPTH = 8


def evaluate_version_test(
    test: ast.expr, version: Version, scope: Scope, uses: SymbolUses, depth: int = _DEPTH
) -> bool | None:
    """Return the answer of a test under a version of torch; None if other things than the version decide it."""
    if depth == 0:
        return None

    def evaluate(part: ast.expr) -> bool | None:
        return evaluate_version_test(part, version, scope, uses, depth - 1)

    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _negate(evaluate(operand))
        case ast.BoolOp(op=ast.And(), values=parts):
            return _join_answers(map(evaluate, parts))
        case ast.BoolOp(values=parts):
            return _negate(_join_answers(_negate(evaluate(part)) for part in parts))
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[several]):
            answer = _is_listed(left, several, version, scope, uses)
            return answer if isinstance(op, ast.In) else _negate(answer)
        case ast.Compare(ops=[_, _, *_]):
            operands = [test.left, *test.comparators]
            pairs = zip(pairwise(operands), test.ops, strict=True)
            return _join_answers(evaluate(ast.Compare(left, [op], [right])) for (left, right), op in pairs)
        case ast.Call(func=ast.Attribute(value=value, attr="startswith"), args=[start]):
            return _starts_with(start, version) if is_torch_version(value, uses, scope) else None
        case ast.Call():
            expanded = expand_predicate(test, scope, uses)
            if expanded is not None:
                return evaluate_version_test(expanded[0], version, expanded[1], uses, depth - 1)
        case ast.Name():
            defined = uses.data_flow.find_definition(test, scope)
            if defined is not None:
                return evaluate(defined)
    return _evaluate_range(test, version, scope, uses)


def _negate(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _join_answers(answers: Iterable[bool | None]) -> bool | None:
    """Return the answer of ``and``."""
    found = set(answers)
    return False if False in found else None if None in found else True


def _evaluate_range(test: ast.expr, version: Version, scope: Scope, uses: SymbolUses) -> bool | None:
    for truth in (True, False):
        reach = reach_of_test(test, truth, scope, uses)
        if reach.low is not None or reach.high is not None:
            return reach.includes_version(version) is truth
    return None


def _is_listed(
    left: ast.expr, several: ast.expr, version: Version, scope: Scope, uses: SymbolUses
) -> bool | None:
    """Return whether torch's version is in a list of versions."""
    listed = [read_version(one) for one in getattr(several, "elts", ())]
    if not listed or None in listed or not is_torch_version(left, uses, scope):
        return None
    return version in listed


def _starts_with(start: ast.expr, version: Version) -> bool | None:
    try:
        return f"{render_version(version)}.0".startswith(ast.literal_eval(start))
    except (ValueError, TypeError):
        return None
