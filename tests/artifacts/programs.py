"""Small modules, and the files that torch makes of them: without postponed annotations, which TorchScript cannot read."""

from pathlib import Path
from typing import Any, Dict, NamedTuple, Tuple, cast  # noqa: UP035  TorchScript reads it

import torch
from torch import Tensor, nn


class Two(nn.Module):
    """Two methods, one of which has an argument that may be left out."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Tensor, factor: float = 2.0) -> Tensor:
        return torch.relu(self.linear(x)) * factor

    @torch.jit.export
    def encode(self, x: Tensor) -> Dict[str, Tensor]:  # noqa: UP006
        return {"code": self.linear(x), "mean": x.mean()}


class Until(nn.Module):
    """A loop that ends by the values."""

    def forward(self, x: Tensor) -> Tensor:
        while bool(x.sum() < 100):
            x = x * 2 + 1
        return x


class Counting(nn.Module):
    """An attribute that is no tensor, and changes."""

    calls: int

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x + self.calls


class Sided(nn.Module):
    """A branch on values, whose sides differ."""

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):  # noqa: SIM108
            y = x + 1
        else:
            y = x * 3
        return y


class Boxes(NamedTuple):
    """An output with names."""

    boxes: Tensor
    scores: Tensor


class Detecting(nn.Module):
    """A named tuple as output, and arguments that are no tensors."""

    def forward(self, x: Tensor, scale: float, flip: bool = False) -> Dict[str, Boxes]:  # noqa: UP006
        return {"found": Boxes(-x if flip else x * scale, x.sum(1))}


class Naming(nn.Module):
    """A text as output."""

    def forward(self, x: Tensor) -> Tuple[Tensor, str]:  # noqa: UP006
        return x, "cat" if bool(x.sum() > 0) else "dog"


class Judging(nn.Module):
    """A branch on a number that was read from a tensor."""

    def forward(self, x: Tensor) -> Tensor:
        if x.sum().item() > 0:
            return x
        return x * 2


class Selecting(nn.Module):
    """A branch on how many values were selected."""

    def forward(self, x: Tensor) -> Tensor:
        kept = x[x[:, 0] > 0]
        if kept.size(0) == 0:
            return torch.zeros(1, 4)
        return kept


class Narrow(nn.Module):
    """A size of which the archive takes any value, and which its program fixes."""

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) > 5:
            return x + 1
        return x * 3


class Writing(nn.Module):
    """What TorchScript lets a model do to the disk of its user."""

    def forward(self, x: Tensor) -> Tensor:
        torch.save(x, "/nowhere/ran.pt")
        return x


def write(folder: Path) -> None:
    """Writes a file of every kind."""
    module, jit = Two().eval(), cast("Any", torch.jit)
    scripted = jit.script(module)
    scripted.save(str(folder / "scripted.pt"), _extra_files={"config.json": b"{}"})
    scripted._save_for_lite_interpreter(str(folder / "lite.ptl"))
    jit.trace(module.linear, torch.randn(2, 4)).save(str(folder / "traced.pt"))
    named = {"labels.txt": "cat\ndog", "mean.bin": b"\xff\x00"}
    jit.script(Detecting()).save(str(folder / "detecting.pt"), _extra_files=named)
    for made in (Until, Counting, Sided, Naming, Judging, Selecting, Narrow, Writing):
        jit.script(made()).save(str(folder / f"{made.__name__.lower()}.pt"))
    torch.save(module.state_dict(), folder / "state.pt")
    torch.save(module.state_dict(), folder / "old.pth", _use_new_zipfile_serialization=False)
    torch.save({"model": module.state_dict(), "epoch": 3}, folder / "checkpoint.pt")
    torch.save(module, folder / "module.pt")
    torch.save(module, folder / "oldmodule.pt", _use_new_zipfile_serialization=False)
    batch = torch.export.Dim("batch")
    program = torch.export.export(module.linear, (torch.randn(2, 4),), dynamic_shapes={"input": {0: batch}})
    torch.export.save(program, folder / "exported.pt2")
