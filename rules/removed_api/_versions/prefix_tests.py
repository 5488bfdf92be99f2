"""Tests whether torch's version begins with a text, or contains it: ``"2.1" in torch.__version__`` is also true for 2.10."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchmigrate.api import Context, Fix, Safety, Use
from torchmigrate.model.torch_versions import Version, parse_version, render_version
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.name_resolution import string_value
from torchmigrate.tables.release_sets import RELEASES


class PrefixTest(NamedTuple):
    """A test of the version's text, and the literals in it."""

    test: ast.expr
    literals: tuple[ast.expr, ...]

    def find_mistaken_literals(self, release: Version) -> list[ast.expr]:
        """Return the literals that stand for another release and match this one: ``"2.1"`` for 2.10."""
        return [one for one in self.literals if _is_mistaken(string_value(one) or "", release)]

    def find_first_mistake(self) -> Version | None:
        """Return the first release for which a literal of another one matches."""
        return next((release for release in RELEASES if self.find_mistaken_literals(release)), None)


def find_prefix_tests(use: Use, ctx: Context) -> Iterator[PrefixTest]:
    """Yield the test of the version's text that a use is the subject of, if there is one."""
    parents = ctx.uses.data_flow.parents
    parent = parents.get(use.node)
    match parent:
        case ast.Compare(left=literal, ops=[ast.In() | ast.NotIn()], comparators=[subject]) if (
            subject is use.node
        ):
            yield PrefixTest(parent, (literal,))
        case ast.Attribute(attr="startswith"):
            call = parents.get(parent)
            if isinstance(call, ast.Call) and call.func is parent and len(call.args) == 1:
                start = call.args[0]
                yield PrefixTest(call, tuple(start.elts) if isinstance(start, ast.Tuple) else (start,))


def create_prefix_fix(found: PrefixTest, use: Use, ctx: Context) -> Fix:
    """Create the fix that ends each mistaken literal with a dot, and asks for the beginning of the version."""
    test = found.test
    if isinstance(test, ast.Compare):
        text = string_value(found.literals[0])
        negation = "not " if isinstance(test.ops[0], ast.NotIn) else ""
        new = f'{negation}{{version}}.startswith("{text}.")'
        changes = [replace(test, new, version=ctx.write_symbol("torch.__version__", use))]
    else:
        wrong = found.find_mistaken_literals(ctx.options.target)
        changes = [replace(one, f'"{string_value(one)}."') for one in wrong]
    return Fix(tuple(changes), Safety.SAFE, "Compare with a dot at the end")


def _is_mistaken(literal: str, release: Version) -> bool:
    return (
        re.fullmatch(r"\d+\.\d+", literal) is not None
        and render_version(release).startswith(literal)
        and parse_version(literal) != release
    )
