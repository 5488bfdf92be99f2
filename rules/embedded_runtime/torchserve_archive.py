"""A TorchScript file is packed for TorchServe.

Why: without a `--model-file`, TorchServe loads the file with `torch.jit.load`: TorchScript, deprecated since torch 2.10. TorchServe
itself is no longer maintained.

    torch-model-archiver --model-name net --version 1.0 --serialized-file net.pt --handler image_classifier

What to do: pack an AOTInductor package instead, with a handler that loads it (`torch._inductor.aoti_load_package`), or the state
dict with a `--model-file`; better, move to a server that is maintained. A handler that reads the file in a way of its own is not
seen here.

Source: https://docs.pytorch.org/serve/getting_started.html, https://github.com/pytorch/serve/blob/master/examples/README.md,
https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

from torchmigrate.api import Rule

from ._linking.loading import ASKS, checked, note

rule = Rule(
    code="ER642",
    foreign=("torch-model-archiver",),
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
