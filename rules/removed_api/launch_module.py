"""`python -m torch.distributed.launch`, in scripts, images, workflows, documentation, and in the commands of a program.

Why: torch warns at each start, and plans to remove the module. `torchrun`, which is `python -m torch.distributed.run`, takes
the same options; it passes the rank to a script in the variable `LOCAL_RANK`, and not in the argument `--local-rank`.

    python -m torch.distributed.launch --nproc_per_node=8 --use_env train.py
    →
    python -m torch.distributed.run --nproc_per_node=8 train.py

What to do: let the script read `os.environ["LOCAL_RANK"]`, and start it with `torchrun`.

Fix safety: safe with `--use_env`, which does the same; otherwise unsafe, since the script may need `--local-rank`. There is
no fix if the project's script, or a module that it imports, needs that argument and does not read `LOCAL_RANK`.

Source: torch 2.0 wheel: torch/distributed/launch.py, torch/distributed/run.py (`get_use_env`).
"""

# torchmigrate: ignore-file RM752 -- the rule that names the command

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, NoFix, Rule, Safety, Severity, Sort, Use
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import Reference
from torchmigrate.model.findings import Edit, Span
from torchmigrate.project.folders import iter_folders
from torchmigrate.project.import_closure import find_imported_files
from torchmigrate.project.module_paths import get_module_path
from torchmigrate.project.project_facts import Project
from torchmigrate.semantics.name_resolution import string_value
from torchmigrate.semantics.version_guards import find_reach

from ._changes.missing_names import has_alternative
from ._changes.string_literals import is_documentation, replace_word

_OLD, _NEW = "torch.distributed.launch", "torch.distributed.run"
_SYMBOL = f"${_OLD}"

rule = Rule(
    code="RM752",
    symbols=(_SYMBOL,),
    pairs={_SYMBOL: ()},
    references=(Sort.MODULE,),
    message=f"`{_OLD}` has warned since torch {{deprecated}}; use `torchrun`, and read `LOCAL_RANK` instead of `--local-rank`",
    deprecated=(2, 0),
    safety=Safety.SAFE,
)

_TITLE = f"Use `{_NEW}`, which `torchrun` runs"
_OPTIONS = re.compile(
    r"(?:(?:[ \t]|\\\r?\n)+-(?!-?use[-_]env\b)[^\s\\]*(?:(?:[ \t]|\\\r?\n)+(?!\S*\.py\b)[^-\s\\][^\s\\]*)?)*"
    r"(?P<drop>(?:[ \t]|\\\r?\n)+--use[-_]env(?=[\s\\]))"
)
"""The launcher's options up to `--use_env`; options behind the script belong to the script."""
_ELSEWHERE = re.compile(r"(?:(?!\.py\b|torch\.distributed\.).){0,400}?--use[-_]env\b", re.DOTALL)
_LONGEST = 2000
"""The most characters of a command that are searched for its script."""
_HAS_FLAG = f"`{_NEW}` does not accept `--use_env`; remove the option by hand"
_LINE_BREAK = re.compile(r"\\\r?\n|\r?\n[ \t]*-[ \t]+")
"""The break in a command of several lines: in a shell, and as a list in YAML."""
_SCRIPT = re.compile(
    r"[^;&|\n]*?(?:(?<![\w.-])(?:-m|--module)[ \t]+(?P<module>[\w.]+)|(?P<file>[\w./-]+)\.py\b)"
)
"""The module or file that the launcher starts, behind its options; in a path with variables, the part behind the last one."""
_DECLARES_ARGUMENT = re.compile(rb"[\"']--local[_-]rank\b")
_READS_ARGUMENT = re.compile(rb"\.local_rank\b(?!\s*=[^=])")
_READS_VARIABLE = re.compile(rb"\bLOCAL_RANK\b|\bget_node_local_rank\b")
_SETS_FROM_VARIABLE = re.compile(rb"\.local_rank\s*=[^=\n][^\n]*\bLOCAL_RANK\b")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    reached = find_reach(use, ctx.uses)
    if has_alternative(use, ctx, reached) or not isinstance(use.node, ast.Constant):
        return
    whole = ctx.source.span_of(use.node)
    start = ctx.source.text.find(_OLD.encode(), *whole)
    yield ctx.finding(
        use,
        severity=Severity.INFO if is_documentation(use) else None,
        fix=lambda: _create_fix(use, ctx),
        span=Span(start, start + len(_OLD)) if start >= 0 else None,
    )


def _create_fix(use: Use, ctx: Context) -> Fix:
    assert isinstance(use.node, ast.Constant)
    changed = replace_word(use.node, _OLD, _NEW, ctx)
    if any(
        isinstance(node, ast.Constant) and "use_env" in str(node.value).replace("-", "_")
        for node in ast.walk(use.parents[0])
    ):
        raise NoFix(_HAS_FLAG)
    command = _find_command(use.node, use)
    return Fix(
        (changed,),
        Safety.UNSAFE,
        f"{_TITLE}; unsafe because {_explain_risk(command, ctx.project, ctx.source.path)}",
    )


def _find_command(literal: ast.Constant, use: Use) -> str:
    """Return the text behind the launcher's name: the rest of its string, and of the enclosing list."""
    listed = getattr(use.parents[-1], "elts", [])
    behind = listed[listed.index(literal) + 1 :] if literal in listed else []
    return " ".join([str(literal.value).partition(_OLD)[2], *(string_value(word) or "$" for word in behind)])


@rule.check_reference
def check_module(module: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    message = rule.fill_message(rule.message, _OLD)
    yield ctx.finding(module, message, Severity.WARNING, fix=lambda: _create_reference_fix(module, ctx))


def _create_reference_fix(module: Reference, ctx: ReferenceContext) -> Fix:
    edits = [Edit(module.span.start, module.span.end, _NEW)]
    view = ctx.source.text.decode("latin-1")
    if found := _OPTIONS.match(view, module.span.end):
        edits.append(Edit(*found.span("drop"), ""))
        return Fix(tuple(edits), Safety.SAFE, f"{_TITLE}, without `--use_env`, which is its default")
    if _ELSEWHERE.match(view, module.span.end):
        raise NoFix(_HAS_FLAG)
    command = view[module.span.end : module.span.end + _LONGEST]
    return Fix(
        tuple(edits),
        Safety.UNSAFE,
        f"{_TITLE}; unsafe because {_explain_risk(command, ctx.project, ctx.source.path)}",
    )


def _explain_risk(command: str, project: Project, path: str) -> str:
    """Return why a move to `torchrun` is unsafe for the script that ``command``, in the file at ``path``, starts.

    ``command`` is the text behind the launcher's name. Raises NoFix if the script knows its rank only by ``--local-rank``.
    """
    name = _parse_script(command)
    scripts = _find_files(name, project, path) if name else []
    for script in scripts:
        if _needs_local_rank(script, project):
            raise NoFix(
                f"`{os.path.basename(script)}` needs `--local-rank`, which `torchrun` does not pass; change the "
                "script to read `LOCAL_RANK` first"
            )
    doubt = "" if scripts else ", which was not found in the project,"
    return f"the script{doubt} no longer receives `--local-rank` and has to read `LOCAL_RANK`"


def _parse_script(command: str) -> list[str]:
    """Return the parts of the name of the module, or of the path of the file, that a command starts; [] if it is unclear."""
    found = _SCRIPT.match(_LINE_BREAK.sub(" ", command))
    if found is None:
        return []
    if found["module"]:
        return found["module"].split(".")
    return [part for part in found["file"].split("/") if part not in ("", ".", "..")]


def _find_files(name: list[str], project: Project, path: str) -> list[str]:
    """Return the files of the project that a name may mean: the one beside or above the command, else all that match."""
    every = [one for one in project.find_modules(name) if one.endswith(".py")]
    for folder in iter_folders(os.path.dirname(os.path.abspath(path))):
        if beside := [one for one in every if get_module_path(one) == os.path.join(folder, *name)]:
            return beside
    return every


def _needs_local_rank(script: str, project: Project) -> bool:
    """Return whether a script, or a module that it imports, reads the argument and does not know `LOCAL_RANK`."""
    text = project.read_bytes(script) or b""
    texts = [text, *(project.read_bytes(one) or b"" for one in find_imported_files(project, script, text))]
    taking = [one for one in texts if _DECLARES_ARGUMENT.search(one)]
    knows = any(map(_READS_VARIABLE.search, [text, *taking])) or any(map(_SETS_FROM_VARIABLE.search, texts))
    return bool(taking) and not knows and any(map(_READS_ARGUMENT.search, texts))
