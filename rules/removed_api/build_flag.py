"""A build flag of an extension that the headers or the wheels of the target reject.

Why: torch's headers require C++17 from torch 2.1 on, and C++20 from 2.14 on; the wheels on the index use libstdc++'s new
strings from torch 2.7 on, and an extension with the old ones does not load with them.

    CUDAExtension("ops", sources, extra_compile_args={"cxx": ["-O3", "-std=c++14"]})
    →
    CUDAExtension("ops", sources, extra_compile_args={"cxx": ["-O3", "-std=c++20"]})

Strings are checked in files that build with `torch.utils.cpp_extension`. Not reported are flags of other extensions, flags
behind tests of torch's version, and extensions that keep to the stable interface (`TORCH_TARGET_VERSION`), which need none of
those headers.

What to do: leave the flag out: `torch.utils.cpp_extension` adds the standard that the installed torch needs.

Fix safety: unsafe; the fix sets what the target needs, which older compilers may not support.

Source: torch 2.0, 2.1, 2.13 and 2.14 wheels: torch/include/torch/csrc/api/include/torch/all.h (`#error`), torch/utils/cpp_extension.py;
torch 2.6 and 2.7 wheels: torch/share/cmake/Torch/TorchConfig.cmake (`TORCH_CXX_FLAGS`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from torchmigrate.api import Context, Finding, Fix, Rule, Safety, Severity, Use
from torchmigrate.model.findings import Span
from torchmigrate.model.torch_versions import OLDEST, Version, render_version
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.version_guards import VersionReach, find_reach

from ._changes.change_fixes import require_minimum
from ._changes.string_literals import replace_word

_BUILDERS = ("CppExtension", "CUDAExtension", "SyclExtension", "BuildExtension", "load", "load_inline")
_SYMBOLS = tuple(f"torch.utils.cpp_extension.{name}" for name in _BUILDERS)

rule = Rule(
    code="RM753",
    symbols=_SYMBOLS,
    pairs=dict.fromkeys(_SYMBOLS, ("std", "D_GLIBCXX_USE_CXX11_ABI", "_GLIBCXX_USE_CXX11_ABI")),
    safety=Safety.UNSAFE,
)

_STANDARD = re.compile(r"(?:--?std[=:]|/std:)(?:c|gnu)\+\+(11|14|1y|17|1z)(?!\w)")
_STRINGS = re.compile(r"-D_GLIBCXX_USE_CXX11_ABI=0(?!\w)")
_YEARS = {"11": 11, "14": 14, "1y": 14, "17": 17, "1z": 17}
_NEEDED: tuple[tuple[Version, int], ...] = (((2, 14), 20), ((2, 1), 17), ((2, 0), 14))
"""The first torch whose headers require each C++ standard, newest first."""
_NEW_STRINGS = (2, 7)


class _RejectedFlag(NamedTuple):
    """A flag that the target rejects, with its replacement."""

    text: str
    new: str
    message: str
    needs: Version


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if ctx.uses.compute_once(rule.code, lambda: use) is not use or b"TORCH_TARGET_VERSION" in ctx.source.text:
        return
    places = {place.statement: place for place in ctx.uses.scopes.places}
    others = _find_other_extensions(ctx)
    for node in list(ctx.uses.data_flow.parents):
        flag = _find_rejected(node, ctx.options.target)
        if flag is None or not isinstance(node, ast.Constant):
            continue
        parents = _list_ancestors(node, ctx)
        statement = parents[0]
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        if not _is_passed_on(parents[-1]) or not others.isdisjoint({*parents, *names}):
            continue
        place = places[parents[0]]  # type: ignore[index]
        reached = find_reach(replace(use, place=place, node=node, parents=parents), ctx.uses)
        if reached.includes_version(ctx.options.target):
            span = ctx.source.span_of(node)
            start = ctx.source.text.find(flag.text.encode(), *span)
            yield ctx.finding(
                use,
                flag.message,
                severity=Severity.ERROR,
                fix=lambda node=node, flag=flag, reached=reached: _create_fix(node, flag, ctx, reached),  # type: ignore[misc]
                span=Span(start, start + len(flag.text)) if start >= 0 else span,
            )


def _find_rejected(node: ast.AST, target: Version) -> _RejectedFlag | None:
    """Return the flag in a string that the target rejects."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    since, year = next((since, year) for since, year in _NEEDED if since <= target)
    if (found := _STANDARD.search(node.value)) and _YEARS[found[1]] < year:
        new = found[0].removesuffix(found[1]) + str(year)
        message = f"`{found[0]}` sets a C++ standard that is too old: torch's headers need C++{year} since torch {render_version(since)}"
        return _RejectedFlag(found[0], new, message, OLDEST)
    if (found := _STRINGS.search(node.value)) and target >= _NEW_STRINGS:
        message = f"`{found[0]}` selects libstdc++'s old string ABI, but the wheels on the index use the new one since torch {render_version(_NEW_STRINGS)}"
        return _RejectedFlag(found[0], found[0].removesuffix("0") + "1", message, _NEW_STRINGS)
    return None


def _list_ancestors(node: ast.AST, ctx: Context) -> tuple[ast.AST, ...]:
    """Return the ancestors of a node, from its statement down to its parent."""
    found: list[ast.AST] = []
    while not isinstance(node, ast.stmt):
        node = ctx.uses.data_flow.parents[node]
        found.append(node)
    return tuple(reversed(found))


def _is_passed_on(parent: ast.AST) -> bool:
    """Return whether a string is a flag that is passed on, and is not compared, searched for, or a docstring."""
    if isinstance(parent, ast.Call):
        return (
            last_name(parent.func) in ("append", "insert", "extend", "str")
            or last_name(parent.func) in _BUILDERS
        )
    return not isinstance(parent, (ast.Compare, ast.Expr))


def _find_other_extensions(ctx: Context) -> set[ast.AST | str]:
    """Return the calls that create extensions without torch's headers (`setuptools.Extension`), and the names in them."""
    found: set[ast.AST | str] = set()
    for node in ctx.uses.data_flow.parents:
        name = last_name(node.func) or "" if isinstance(node, ast.Call) else ""
        if name.endswith("Extension") and name not in _BUILDERS:
            found |= {node, *(part.id for part in ast.walk(node) if isinstance(part, ast.Name))}
    return found


def _create_fix(node: ast.Constant, flag: _RejectedFlag, ctx: Context, reached: VersionReach) -> Fix:
    changed = replace_word(node, flag.text, flag.new, ctx)
    require_minimum(flag.needs, ctx, reached)
    title = f"Build with `{flag.new}`; unsafe because an older compiler, or other code, may need the old flag"
    return Fix((changed,), Safety.UNSAFE, title)
