"""A TorchScript file is packed for TorchServe.

Why: without a `--model-file`, TorchServe loads the file with `torch.jit.load`: TorchScript, deprecated since torch 2.10. TorchServe
itself is no longer maintained.

    torch-model-archiver --model-name net --version 1.0 --serialized-file net.pt --handler image_classifier

What to do: pack an AOTInductor package instead, with a handler that loads it (`torch._inductor.aoti_load_package`), or the state
dict with a `--model-file`; better, move to a server that is maintained. In Python the command is read from the list of its
arguments, as `subprocess` takes it, and from the text that a shell is given. A handler that reads the file in a way of its own is not seen here.

Source: https://docs.pytorch.org/serve/getting_started.html, https://github.com/pytorch/serve/blob/master/examples/README.md,
https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.foreign import commands
from torchmigrate.foreign.files import model_file
from torchmigrate.semantics.dataflow import Escape
from torchmigrate.semantics.resolve import string

from ._linking.loading import ASKS, checked, note

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_COMMAND = "torch-model-archiver"

rule = Rule(
    code="ER642",
    symbols=(f"${_COMMAND}",),
    kinds=frozenset({Kind.STRING}),
    foreign=(_COMMAND,),
    asks=ASKS,
    message="TorchServe loads this file as TorchScript, deprecated since torch {deprecated}; pack an AOTInductor package with a handler that "
    "calls `torch._inductor.aoti_load_package`",
    since=(2, 6),
    deprecated=(2, 10),
    recipe="TorchServe is no longer maintained: consider a server that is",
    artifact=True,
)
rule.check_foreign(checked)
rule.note(note)


_RUN = frozenset({"subprocess", "os", "shlex"})
"""The modules whose functions take a command as a text."""


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if string(use.node) != _COMMAND:
        around = use.parents[-1]
        text = around if isinstance(around, ast.JoinedStr) else use.node
        assert isinstance(text, ast.expr)
        if any(commands.archived(_text(text))) and _is_run(text, use, ctx):
            yield ctx.finding(use, span=ctx.source.span(text))
        return
    listed = use.parents[-1]
    words = listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else getattr(listed, "args", [])
    if words[:1] != [use.node] or any((string(word) or "").startswith("--model-file") for word in words):
        return
    packed = _serialized(words)
    if packed is not None:
        yield ctx.finding(use, span=ctx.source.span(packed))


def _text(node: ast.expr) -> str:
    """The command that a string holds, with shell variables for the values in an f-string."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(part if (part := string(one)) is not None else "${value}" for one in parts)


def _is_run(text: ast.expr, use: Use, ctx: Context) -> bool:
    """Whether a string, or the variable that holds it, is the command that a function runs or splits."""
    try:
        places = list(ctx.uses.flow.places(text, use.place.scope))
    except Escape:
        return False
    for place in places:
        call = ctx.uses.flow.parents.get(place)
        if isinstance(call, ast.Call) and call.args[:1] == [place]:
            resolved = ctx.resolve(call.func, use)
            if resolved is not None and resolved.names[0].partition(".")[0] in _RUN:
                return True
    return False


def _serialized(words: Sequence[ast.expr]) -> ast.expr | None:
    """The argument that names the packed file: by itself, in ``--serialized-file=net.pt``, or unknown, as a variable."""
    for word, following in zip(words, [*words[1:], None], strict=True):
        option, _, name = (string(word) or "").partition("=")
        if option == "--serialized-file":
            file = following if not name else word
            known = name or (string(following) if following is not None else None)
            return None if file is None or (known is not None and not model_file(known)) else file
    return None
