"""The cost of `torchmigrate record`: the CPU time of a training loop alone, and recorded.

``python -m benchmarks.recording`` prints both; it needs torch. Runs alternate, and the fastest of each kind counts, since other
programs only ever make a run slower.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 5
LOOP = """
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(6)))

    def forward(self, x):
        return self.layers(x)


@torch.jit.script
def scale(x: torch.Tensor):
    return torch.tanh(x) * 0.5


net = torch.jit.trace(Net(), torch.randn(64, 256))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
data = torch.randn(64, 256)


def step():
    optimizer.zero_grad()
    loss = scale(net(data)).square().mean()
    loss.backward()
    optimizer.step()


for _ in range(50):
    step()
begin = time.process_time()
for _ in range(1000):
    step()
print(time.process_time() - begin)
"""


def measure(command: list[str], folder: Path) -> float:
    """Return the CPU seconds that the loop prints."""
    done = subprocess.run(
        [*command, sys.executable, "loop.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> None:
    """Measure and print."""
    recorded = [sys.executable, "-m", "torchmigrate", "record", "-q", "--"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "loop.py").write_text(LOOP)
        pairs = [(measure([], Path(folder)), measure(recorded, Path(folder))) for _ in range(RUNS)]
    alone, watched = (min(times) for times in zip(*pairs, strict=True))
    print(f"alone {alone:.3f} s, recorded {watched:.3f} s: {watched / alone - 1:+.1%}")


if __name__ == "__main__":
    main()
