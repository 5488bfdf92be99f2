"""A TorchScript file is packaged for TorchServe.

Why: without a `--model-file`, TorchServe loads the file with `torch.jit.load`: TorchScript, deprecated since torch 2.10. TorchServe
itself is no longer maintained.

    torch-model-archiver --model-name net --version 1.0 --serialized-file net.pt --handler image_classifier

What to do: package an AOTInductor package instead, with a handler that loads it (`torch._inductor.aoti_load_package`), or the
state dict with a `--model-file`; better, move to a server that is maintained. In Python, the command is found in lists of
arguments, as `subprocess` takes them, and in shell commands. There is no finding where the project's own handler loads the file
in another way.

Source: https://docs.pytorch.org/serve/getting_started.html, https://github.com/pytorch/serve/blob/master/examples/README.md,
https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.foreign import command_uses
from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_use import ForeignUse
from torchmigrate.foreign.model_file_names import parse_model_file
from torchmigrate.project.project_facts import Project
from torchmigrate.semantics.dataflow import ValueEscapes
from torchmigrate.semantics.name_resolution import string_value

from ._linking.file_loads import ASKS, check_load, note_save

_COMMAND = "torch-model-archiver"

rule = Rule(
    code="ER642",
    symbols=(f"${_COMMAND}",),
    kinds=frozenset({Kind.STRING}),
    foreign=(_COMMAND,),
    asks=ASKS,
    message="TorchServe loads this file as TorchScript, deprecated since torch {deprecated}; use an AOTInductor package with a handler that "
    "calls `torch._inductor.aoti_load_package`",
    since=(2, 6),
    deprecated=(2, 10),
    recipe="move to a maintained model server: TorchServe is no longer maintained",
    artifact=True,
)
rule.note(note_save)

_OTHERWISE = re.compile(rb"def initialize\b")
_AS_TORCHSCRIPT = re.compile(
    rb"\bjit\.load\b|\bsuper\([^)]*\)\s*\.\s*initialize\b|\bBaseHandler\.initialize\b"
)


@rule.check_foreign
def check_foreign(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    if not (use.handler and _loads_no_torchscript(use.handler, ctx.project)):
        yield from check_load(use, ctx)


def _loads_no_torchscript(handler: str, project: Project) -> bool:
    """Return whether the project has the file of a handler, and the handler loads no TorchScript."""
    name = [part for part in handler.removesuffix(".py").split("/") if part.strip(".")]
    texts = [project.read_bytes(path) or b"" for path in project.find_modules(name)]
    return bool(texts) and all(_OTHERWISE.search(one) and not _AS_TORCHSCRIPT.search(one) for one in texts)


_RUN = frozenset({"subprocess", "os", "shlex"})
"""The modules whose functions take a command as one string."""


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if string_value(use.node) != _COMMAND:
        around = use.parents[-1]
        text = around if isinstance(around, ast.JoinedStr) else use.node
        assert isinstance(text, ast.expr)
        packed_here = list(command_uses.find_packaged_files(_read_command(text, use, ctx)))
        otherwise = any(
            one.handler and _loads_no_torchscript(one.handler, ctx.project) for one in packed_here
        )
        if packed_here and not otherwise and _is_executed(text, use, ctx):
            yield ctx.finding(use, span=ctx.source.span_of(text))
        return
    listed = use.parents[-1]
    words = listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else getattr(listed, "args", [])
    if words[:1] != [use.node] or any(
        (string_value(word) or "").startswith("--model-file") for word in words
    ):
        return
    packed, handler = _find_packaged_file(words), _find_option("--handler", words)
    if packed is not None and not (handler.endswith(".py") and _loads_no_torchscript(handler, ctx.project)):
        yield ctx.finding(use, span=ctx.source.span_of(packed))


def _read_command(node: ast.expr, use: Use, ctx: Context) -> str:
    """Return the command in a string, with shell variables in place of the unknown values in an f-string."""
    parts = [
        _read_part(one, use, ctx) for one in (node.values if isinstance(node, ast.JoinedStr) else [node])
    ]
    return "".join("${value}" if part is None else part for part in parts)


def _read_part(node: ast.expr, use: Use, ctx: Context) -> str | None:
    if isinstance(node, ast.FormattedValue):
        node = node.value
    if isinstance(node, ast.Name):
        value = ctx.uses.data_flow.find_definition(node, use.place.scope)
        return string_value(value) if value is not None else None
    return string_value(node)


def _is_executed(text: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether a string, or the variable that holds it, is the command that a function runs or splits."""
    try:
        places = list(ctx.uses.data_flow.find_value_places(text, use.place.scope))
    except ValueEscapes:
        return False
    for place in places:
        call = ctx.uses.data_flow.parents.get(place)
        if isinstance(call, ast.Call) and call.args[:1] == [place]:
            resolved = ctx.resolve_node(call.func, use)
            if resolved is not None and resolved.names[0].partition(".")[0] in _RUN:
                return True
    return False


def _find_option(option: str, words: Sequence[ast.expr]) -> str:
    """Return the value of an option among the words of a command; empty where it is not a literal."""
    texts = [string_value(word) or "" for word in words]
    joined = next((text for text in texts if text.startswith(f"{option}=")), "")
    behind = dict(pairwise(texts)).get(option, "")
    return joined.partition("=")[2] or behind


def _find_packaged_file(words: Sequence[ast.expr]) -> ast.expr | None:
    """Return the argument that names the packaged file: on its own, as ``--serialized-file=net.pt``, or a variable."""
    for word, following in zip(words, [*words[1:], None], strict=True):
        option, _, name = (string_value(word) or "").partition("=")
        if option == "--serialized-file":
            file = following if not name else word
            known = name or (string_value(following) if following is not None else None)
            return None if file is None or (known is not None and not parse_model_file(known)) else file
    return None
