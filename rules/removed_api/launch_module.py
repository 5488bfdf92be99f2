"""`python -m torch.distributed.launch`, in scripts, images, workflows, documentation, and in the commands of a program.

Why: torch warns at each start, and is to drop the module. `torchrun`, which is `python -m torch.distributed.run`, takes the
same options; it tells a script its rank by the variable `LOCAL_RANK`, and not by the argument `--local-rank`.

    python -m torch.distributed.launch --nproc_per_node=8 --use_env train.py
    →
    python -m torch.distributed.run --nproc_per_node=8 train.py

What to do: let the script read `os.environ["LOCAL_RANK"]`, and start it with `torchrun`.

Fix safety: safe with `--use_env`, which does the same; else unsafe, since the script may need `--local-rank`. There is no fix
where a script of that name in the project is seen to take it, and not to read `LOCAL_RANK`.

Source: torch 2.0 wheel: torch/distributed/launch.py, torch/distributed/run.py (`get_use_env`).
"""

# torchmigrate: ignore-file RM752 -- the rule that names the command

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.model.findings import Edit, Span
from torchmigrate.semantics.guards import reach

from ._changes.strings import reworded
from ._changes.verdict import is_guarded

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.documents.context import ReferenceContext
    from torchmigrate.documents.references import Reference
    from torchmigrate.project.project import Project

_OLD, _NEW = "torch.distributed.launch", "torch.distributed.run"
_SYMBOL = f"${_OLD}"

rule = Rule(
    code="RM752",
    symbols=(_SYMBOL,),
    pairs={_SYMBOL: ()},
    references=(Sort.MODULE,),
    message=f"`{_OLD}` warns since torch {{deprecated}}; use `torchrun`, and `LOCAL_RANK` in the place of `--local-rank`",
    deprecated=(2, 0),
    safety=Safety.SAFE,
)

_TITLE = f"Use `{_NEW}`, which `torchrun` runs"
_UNSAFE = "; unsafe because the script is told no `--local-rank` any more, and has to read `LOCAL_RANK`"
_OPTIONS = re.compile(
    r"(?:(?:[ \t]|\\\r?\n)+-(?!-?use[-_]env\b)[^\s\\]*(?:(?:[ \t]|\\\r?\n)+(?!\S*\.py\b)[^-\s\\][^\s\\]*)?)*"
    r"(?P<drop>(?:[ \t]|\\\r?\n)+--use[-_]env(?=[\s\\]))"
)
"""The launcher's options up to `--use_env`: behind the script they are the script's."""
_ELSEWHERE = re.compile(r"(?:(?!\.py\b|torch\.distributed\.).){0,400}?--use[-_]env\b", re.DOTALL)
_SCRIPT = re.compile(r"(?<![\w$}])(?:[\w.-]+/)*(?P<stem>\w[\w-]*)\.py\b")
_COMMAND = 1000
"""How many characters behind the launcher's name the script may stand."""
_TOLD = ((), (r"[\"']--local[-_]rank[\"']", r"(?s)\A(?!.*\bLOCAL_RANK\b)"))
"""How a script spells that it is told its rank, and does not look for it."""
_FLAG = f"`{_NEW}` takes no `--use_env`, which has to go with it"


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    reached = reach(use, ctx.uses)
    if is_guarded(use, ctx, reached) or not isinstance(use.node, ast.Constant):
        return
    is_doc = isinstance(use.place.statement, ast.Expr) and len(use.parents) == 1
    whole = ctx.source.span(use.node)
    start = ctx.source.text.find(_OLD.encode(), *whole)
    yield ctx.finding(
        use,
        severity=Severity.INFO if is_doc else None,
        fix=lambda: _fix(use, ctx),
        span=Span(start, start + len(_OLD)) if start >= 0 else None,
    )


def _fix(use: Use, ctx: Context) -> Fix:
    assert isinstance(use.node, ast.Constant)
    changed = reworded(use.node, _OLD, _NEW, ctx)
    if any(
        isinstance(node, ast.Constant) and "use_env" in str(node.value).replace("-", "_")
        for node in ast.walk(use.parents[0])
    ):
        raise NoFix(_FLAG)
    _check_script(" ".join(_texts(use.parents[0])).partition(_OLD)[2], ctx.source.path, ctx.project)
    return Fix((changed,), Safety.UNSAFE, _TITLE + _UNSAFE)


def _texts(node: ast.AST) -> Iterator[str]:
    """The texts in an expression, from left to right."""
    found = [n for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    yield from (str(n.value) for n in sorted(found, key=lambda n: (n.lineno, n.col_offset)))


def _check_script(command: str, path: str, project: Project) -> None:
    """Raises NoFix where the script that a command starts knows its rank from the launcher's argument alone.

    Of several scripts of its name, one beside the command's file, at ``path``, is meant.
    """
    script = _SCRIPT.search(command.partition(_OLD)[0], 0, _COMMAND)
    if script is None:
        return
    named = project.modules([script["stem"]])
    beside = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(path)), script[0]))
    among = [beside] if beside in named else named
    for told, line in project.spelling(_TOLD, beside="", among=among):
        raise NoFix(
            f"{project.shown(told)}:{line} takes its rank from `--local-rank`: let it read `LOCAL_RANK` first"
        )


@rule.check_reference
def check_reference(module: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    message = rule.worded(rule.message, _OLD)
    yield ctx.finding(module, message, Severity.WARNING, fix=lambda: _moved(module, ctx))


def _moved(module: Reference, ctx: ReferenceContext) -> Fix:
    edits = [Edit(module.span.start, module.span.end, _NEW)]
    view = ctx.source.text.decode("latin-1")
    if found := _OPTIONS.match(view, module.span.end):
        edits.append(Edit(*found.span("drop"), ""))
        return Fix(tuple(edits), Safety.SAFE, f"{_TITLE}, without `--use_env`, which is its default")
    if _ELSEWHERE.match(view, module.span.end):
        raise NoFix(_FLAG)
    _check_script(view[module.span.end :][: 2 * _COMMAND], ctx.source.path, ctx.project)
    return Fix(tuple(edits), Safety.UNSAFE, _TITLE + _UNSAFE)
