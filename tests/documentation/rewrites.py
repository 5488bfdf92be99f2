"""One example of each kind of rewrite for the README: a small file each, and the result of fixing it."""

from __future__ import annotations

import difflib
import textwrap
from functools import cached_property
from typing import NamedTuple

from tests.support import fixed, settings_of
from torchmigrate.model.vocabulary import Safety
from torchmigrate.run.multi_file import FixResult

FLAGS = ("--min-version", "2.12", "--unsafe")


class Lines(NamedTuple):
    """The lines that a rewrite removes from a file, and the lines that it adds."""

    before: list[str]
    after: list[str]


class Rewrite:
    """A file before it is fixed, and the reason why its fixes need a review, if any."""

    def __init__(self, text: str, unsafe: str = "", *, path: str = "case.py") -> None:
        self.text = textwrap.dedent(text).lstrip()
        self.unsafe = unsafe
        """Completes "not safe: …"; empty for a fix that is safe."""
        self.path = path

    @cached_property
    def result(self) -> FixResult:
        """What fixing does, in a project that needs no torch older than 2.12."""
        settings, minimum = settings_of(FLAGS)
        return fixed({self.path: self.text.encode()}, settings, minimum)[self.path]

    @property
    def codes(self) -> list[str]:
        """The rules whose fixes are made, in the order of the file."""
        return list(dict.fromkeys(finding.code for finding in self.result.applied))

    @property
    def safe(self) -> bool:
        """Whether every one of these fixes is safe."""
        fixes = [finding.fix for finding in self.result.applied]
        return all(fix is not None and fix.safety is Safety.SAFE for fix in fixes)

    @property
    def lines(self) -> Lines:
        """The lines that differ, without their common indentation."""
        after = (self.result.after or self.text.encode()).decode()
        compared = list(difflib.ndiff(self.text.splitlines(), after.splitlines()))
        return Lines(_marked(compared, "- "), _marked(compared, "+ "))


def _marked(compared: list[str], mark: str) -> list[str]:
    lines = [line.removeprefix(mark) for line in compared if line.startswith(mark)]
    return textwrap.dedent("\n".join(lines)).splitlines()


REWRITES = (
    Rewrite(
        """
        import torch

        def publish(model, x, batch):
            traced = torch.jit.trace(model, (x,))
            traced.save("m.pt")
            scores = torch.jit.load("m.pt")(batch)
        """,
        "a size of 1 in the example becomes fixed, and the file has to be exported again",
    ),
    Rewrite(
        """
        import torch

        @torch.jit.script
        def gelu(x):
            return x * torch.sigmoid(1.702 * x)
        """,
        "the first call compiles",
    ),
    Rewrite(
        """
        import torch

        def publish(m, x):
            torch.onnx.export(torch.jit.script(m), (x,), "m.onnx")
        """,
        "a different exporter creates a different graph",
    ),
    Rewrite(
        """
        from torch.jit import Final
        width: Final = 16
        """
    ),
    Rewrite(
        """
        import torch

        if torch.cuda.is_available():
            busy = torch.cuda.is_current_stream_capturing()
        """
    ),
    Rewrite(
        """
        import torch.distributed as dist
        import torch.distributed._functional_collectives as funcol

        def total(x):
            group = dist.new_group()
            y = funcol.all_reduce(x, "sum", group.group_name)
        """
    ),
    Rewrite(
        """
        import torch.distributed as dist

        def gather(out, x):
            dist._all_gather_base(out, x)
        """
    ),
    Rewrite(
        """
        import torch

        def solve(x):
            q, r = torch.qr(x)
        """
    ),
    Rewrite(
        """
        import torch

        with torch.cuda.amp.autocast(True, torch.float16):
            pass
        """
    ),
    Rewrite(
        """
        from torch.nn import functional as F

        def loss(x, y):
            e = F.mse_loss(x, y, size_average=False)
        """
    ),
    Rewrite(
        """
        from torch.utils.checkpoint import checkpoint

        def forward(layer, x):
            x = checkpoint(layer, x)
        """
    ),
    Rewrite(
        """
        import os
        import torch

        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:native"
        """,
        "scripts, and torch before 2.9, only support the old name",
    ),
    Rewrite(
        """
        torch==2.10.0
        torchvision==0.25.0
        """,
        "a different torch is installed; that is the upgrade",
        path="requirements.txt",
    ),
    Rewrite(
        """
        FROM nvidia/cuda:12.6.3-cudnn-devel-ubuntu24.04
        RUN pip install torch
        """,
        "the new image needs a newer driver on the host",
        path="Dockerfile",
    ),
)
"""In the order of the README's table."""
