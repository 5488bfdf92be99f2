"""`torch.jit.load` is deprecated.

Why: since torch 2.10 it warns "Please switch to `torch.export`".

    m = torch.jit.load("m.pt", map_location="cuda").eval()
    →
    m = torch.export.load("m.pt2").module().to("cuda")

Fix safety: unsafe, and offered only where the project exports that very file; any other file is still TorchScript, and
`torch.export.load` of it raises RuntimeError. Export the model again, then change the loading code.
- All that saves and loads the file changes in one fix, in whatever modules: all of it or nothing. A file is told by its
  name (`"net.pt"` at the end of any path; the default of an option, or a command that the module shows; a constant of
  another module). A save and a load of the same name in one folder belong together; else those of the whole project do.
- What is loaded is followed through variables, through `self.net` in the methods of its class, and through a function
  that returns it. No fix where another module may reach it, where a data loader gives it batches, where it gets other
  sizes than the example's, or where a load whose path says no name may read the same file.
- A load whose result nothing calls is a check that the file loads, and does not count as its reader.
- `load` has no `map_location`: `.module().to(device)`. Devices written into the graph
  (`torch.zeros(..., device=x.device)`) need `torch.export.passes.move_to_device_pass(program, device)` before
  `.module()`.
- `.module()` has no `.eval()` and `.train()` (NotImplementedError): drop the call; the mode was fixed at export.
- Where only the file is left, `torch._export.converter.TS2EPConverter(torch.jit.load(p), example_args).convert()`
  converts it (private; torch 2.4 and newer).
- `torch.load` of a TorchScript file also goes through `torch.jit.load`.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/, https://docs.pytorch.org/docs/stable/export.html;
torch 2.13 wheel: torch/export/__init__.py, torch/jit/_serialization.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule, Safety

from ._authoring.authoring import LOADING
from ._export.fixes import ASKS, checked, note

rule = Rule(
    code="TS112",
    symbols=LOADING,
    message=(
        "`{symbol}` is deprecated since torch {deprecated}; the file must be exported again before "
        "`torch.export.load(path).module()` can read it"
    ),
    since=(2, 3),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
    asks=ASKS,
    artifact=True,
)
rule.check(checked)
rule.note(note)
