"""A TorchScript file is packed for TorchServe.

Why: without a `--model-file`, TorchServe loads the file with `torch.jit.load`: TorchScript, deprecated since torch 2.10. TorchServe
itself is no longer maintained.

    torch-model-archiver --model-name net --version 1.0 --serialized-file net.pt --handler image_classifier

What to do: pack an AOTInductor package instead, with a handler that loads it (`torch._inductor.aoti_load_package`), or the state
dict with a `--model-file`; better, move to a server that is maintained. In Python the command is read from the list of its
arguments, as `subprocess` takes it. A handler that reads the file in a way of its own is not seen here.

Source: https://docs.pytorch.org/serve/getting_started.html, https://github.com/pytorch/serve/blob/master/examples/README.md,
https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.foreign.files import model_file
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


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    listed = use.parents[-1]
    words = listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else getattr(listed, "args", [])
    if words[:1] != [use.node] or any((string(word) or "").startswith("--model-file") for word in words):
        return
    packed = _serialized(words)
    if packed is not None:
        yield ctx.finding(use, span=ctx.source.span(packed))


def _serialized(words: Sequence[ast.expr]) -> ast.expr | None:
    """The argument that names the packed file: by itself, in ``--serialized-file=net.pt``, or unknown, as a variable."""
    for word, following in zip(words, [*words[1:], None], strict=True):
        option, _, name = (string(word) or "").partition("=")
        if option == "--serialized-file":
            file = following if not name else word
            known = name or (string(following) if following is not None else None)
            return None if file is None or (known is not None and not model_file(known)) else file
    return None
