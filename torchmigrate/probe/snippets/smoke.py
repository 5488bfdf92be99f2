"""Runs torch in stages, and reports the outcome of each; the caller enforces every stage's time limit.

Runs in the user's interpreter (Python 3.8 or newer). Each line of the result file is a JSON list: ``["begin", stage]``
before a stage, ``["end", stage, outcome, detail]`` after it. The first failure ends the run: after a device error all later
results would reflect that error.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
import warnings
from typing import Any, Callable, List, Tuple


class SkipError(Exception):
    """This torch or this machine does not have what the stage needs."""


torch: Any = None
"""The module, once the first stage has imported it."""
device: str = "cpu"
"""The device that the second stage chooses for the later ones."""


def get_module() -> Any:
    """Return torch's module for the device: torch.cuda (also for ROCm) or torch.xpu."""
    return getattr(torch, device)


def synchronize_device() -> None:
    if device != "cpu":
        get_module().synchronize()


def import_torch() -> str:
    """Import torch."""
    global torch
    torch = importlib.import_module("torch")
    return "torch {}".format(torch.__version__)


def check_device() -> str:
    """Choose the device, and fail where torch does not see the machine's GPU."""
    global device
    expected = sys.argv[2] == "gpu"
    if torch.cuda.is_available():
        device = "cuda"
    elif hasattr(torch, "xpu") and torch.xpu.is_available():
        device = "xpu"
    elif hasattr(torch.backends, "mps") and torch.backends.mps.is_available():
        device = "mps"
    elif expected:
        if torch.version.cuda or torch.version.hip:
            torch.cuda.init()  # raises, with the reason
        raise RuntimeError("this machine has a GPU, but torch sees none")
    if device == "cpu":
        raise SkipError("no GPU: the following stages run on the CPU")
    if device == "mps":
        return "mps"
    names = [get_module().get_device_name(index) for index in range(get_module().device_count())]
    return "{}: {}".format(device, ", ".join(names))


def allocate_memory() -> str:
    """Allocate memory and fill it."""
    torch.empty(1 << 20, device=device).fill_(1.0)
    synchronize_device()
    return "4 MiB"


def run_kernels() -> str:
    """Run an elementwise kernel and a reduction, and check the result."""
    total = (torch.ones(1 << 16, device=device) * 2 + 1).sum().item()
    if total != 3 * (1 << 16):
        raise RuntimeError("wrong result: {}".format(total))
    return "elementwise and sum"


def multiply_matrices() -> str:
    """Multiply matrices in every precision that the device has, and check the results."""
    done, left = [], []
    for name in ("float32", "float16", "bfloat16", "float64"):
        kind = getattr(torch, name)
        old = name == "bfloat16" and device == "cuda" and not torch.cuda.is_bf16_supported()
        if old or (name == "float64" and device in ("mps", "xpu")):
            left.append(name)
            continue
        a = torch.eye(64, device=device).to(kind)
        b = torch.arange(64 * 64, device=device).remainder(8).reshape(64, 64).to(kind)
        if not torch.equal(a @ b, b):
            raise RuntimeError("wrong result in {}".format(name))
        done.append(name)
    if torch.version.cuda and device == "cuda" and torch.cuda.get_device_capability() >= (8, 9):
        one = torch.ones((), device="cuda")
        a = torch.eye(64, device="cuda").to(torch.float8_e4m3fn)
        product = torch._scaled_mm(a, a.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
        if not torch.equal(product, torch.eye(64, device="cuda", dtype=torch.bfloat16)):
            raise RuntimeError("wrong result in float8_e4m3fn")
        done.append("float8_e4m3fn")
    synchronize_device()
    return ", ".join(done) + (" (without {})".format(", ".join(left)) if left else "")


def decompose_matrices() -> str:
    """Decompose a batch of symmetric matrices, and check the result."""
    if device == "mps":
        raise SkipError("not on mps")
    base = torch.arange(16.0, device=device).reshape(4, 4)
    batch = (base + base.t()).expand(8, 4, 4).contiguous()
    values, vectors = torch.linalg.eigh(batch)
    again = vectors @ torch.diag_embed(values) @ vectors.transpose(-1, -2)
    if not torch.allclose(again, batch, atol=1e-3):
        raise RuntimeError("wrong result")
    return "8 matrices of 4 x 4"


def replay_graph() -> str:
    """Capture a CUDA graph, replay it twice, and check the result."""
    if device != "cuda":
        raise SkipError("no CUDA")
    x = torch.zeros(16, device="cuda")
    seen: List[Any] = []
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        x += 1
        stream = torch.cuda.current_stream()
        seen.append(stream.is_capturing() if hasattr(stream, "is_capturing") else None)
    captured.replay()
    captured.replay()
    torch.cuda.synchronize()
    if x[0].item() != 2:
        raise RuntimeError("wrong result after two replays: {}".format(x[0].item()))
    if seen[0] is False:
        raise RuntimeError("Stream.is_capturing() is False during capture")
    return "captured and replayed" + ("" if seen[0] else "; this torch has no Stream.is_capturing")


def run_cond() -> str:
    """Run both branches of a torch.cond inside a CUDA graph, and check the results."""
    if device != "cuda":
        raise SkipError("no CUDA")
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < (2, 12) or tuple(map(int, (torch.version.cuda or "0").split("."))) < (12, 4):
        raise SkipError("needs torch 2.12 and CUDA 12.4")
    x, flag = torch.ones(16, device="cuda"), torch.tensor(True, device="cuda")

    def run(flag: Any, x: Any) -> Any:
        return torch.cond(flag, lambda v: v + 1, lambda v: v - 1, (x,))

    compiled = torch.compile(run, backend="cudagraphs")
    with torch.no_grad():
        # The first call warms up, the second captures, the third and fourth replay, with either branch.
        for value in (True, True, True, False):
            flag.fill_(value)
            result = compiled(flag, x)[0].item()
            if result != (2.0 if value else 0.0):
                raise RuntimeError("wrong result: {}".format(result))
    return "torch.cond by the cudagraphs backend"


def reduce_in_group(backend: str) -> str:
    """Run an all_reduce in a process group of one, and check the result."""
    dist = torch.distributed
    if not dist.is_available():
        raise SkipError("torch.distributed is not in this build")
    options = {"rank": 0, "world_size": 1, "store": dist.HashStore()}
    if device == "cuda":
        torch.cuda.set_device(0)
        if "device_id" in inspect.signature(dist.init_process_group).parameters:
            options["device_id"] = torch.device("cuda", 0)
    dist.init_process_group(backend=backend, **options)
    try:
        value = torch.ones(4, device=device)
        dist.all_reduce(value)
        synchronize_device()
        if value[0].item() != 1:
            raise RuntimeError("wrong result of all_reduce")
        return "all_reduce by {}".format(dist.get_backend())
    finally:
        dist.destroy_process_group()


def use_default_group() -> str:
    """Run a process group on NCCL, or on gloo without a GPU."""
    if device not in ("cpu", "cuda"):
        raise SkipError("no NCCL and no gloo for this device")
    return reduce_in_group("nccl" if device == "cuda" else "gloo")


def use_nccl2_group() -> str:
    """Run a process group on nccl2."""
    if device != "cuda":
        raise SkipError("no CUDA")
    backends = getattr(torch.distributed.Backend, "backend_list", [])
    if "nccl2" not in backends and not hasattr(torch.distributed.distributed_c10d, "ProcessGroupNCCL2"):
        raise SkipError("this torch has no nccl2")
    return reduce_in_group("nccl2")


def compile_function() -> str:
    """Compile a small function, and check its result."""

    def function(x: Any) -> Any:
        return torch.nn.functional.gelu(x) * 2 + 1

    x = torch.linspace(-1, 1, 256, device=device)
    if not torch.allclose(torch.compile(function)(x), function(x), atol=1e-4):
        raise RuntimeError("wrong result")
    return "a small function by inductor"


STAGES: List[Tuple[str, Callable[[], str]]] = [
    ("import", import_torch),
    ("device", check_device),
    ("allocate", allocate_memory),
    ("kernel", run_kernels),
    ("matmul", multiply_matrices),
    ("eigh", decompose_matrices),
    ("graph", replay_graph),
    ("cond", run_cond),
    ("process group", use_default_group),
    ("nccl2", use_nccl2_group),
    ("compile", compile_function),
]


def main() -> None:
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
    warnings.simplefilter("ignore")
    with open(sys.argv[1], "a", encoding="utf-8") as file:

        def write_line(*words: str) -> None:
            file.write(json.dumps(words) + "\n")
            file.flush()

        for name, stage in STAGES:
            write_line("begin", name)
            try:
                write_line("end", name, "ok", stage())
            except SkipError as reason:
                write_line("end", name, "skipped", str(reason))
            except BaseException as error:
                text = " ".join(str(error).split()) or type(error).__name__
                write_line("end", name, "failed", "{}: {}".format(type(error).__name__, text[:2000]))
                return


main()
