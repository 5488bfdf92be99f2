"""Every system that the release blogs of torch 2.5 and 2.12 present, and what torchmigrate offers its users, with an example.

An example is a command, or a file in which at least one of the codes is reported; nothing, if there is none.
"""

from __future__ import annotations

from typing import NamedTuple

BLOGS = {
    "2.5": "https://pytorch.org/blog/pytorch2-5/",
    "2.12": "https://pytorch.org/blog/pytorch-2-12-release-blog/",
}


class System(NamedTuple):
    """One line of a release blog."""

    name: str
    blog: str
    fact: str
    """Its state today, in one clause; with a link if the blog is not the source."""
    served_by: tuple[str, ...]
    """Codes, prefixes of codes for a whole family, and commands (in lower case); none if no tool can help, as the fact says."""
    example: str
    """The content of a file, or a command."""
    file: str = "example.py"
    """The name under which the file is checked."""

    @property
    def is_command(self) -> bool:
        """Whether the example is a command line."""
        return self.example.startswith("torchmigrate ")


def _system(name: str, blog: str, fact: str, served_by: str, example: str, **more: str) -> System:
    return System(name, blog, fact, tuple(served_by.split()), example, **more)


_DIST = "import torch.distributed as dist\n"
_COMPILED = """import collections, torch

settings = collections.UserDict()

@torch.compile(fullgraph=True, backend="eager")
def scale(x):
    try:
        return x * settings["scale"]
    except KeyError:
        return 2 * x"""

SYSTEMS = (
    _system(
        "TorchScript",
        "2.12",
        "deprecated since 2.10; `torch.export` replaces `script` and `trace`",
        "TS1",
        "import torch\nm = torch.jit.script(model)",
    ),
    _system(
        "Embedded TorchScript runtime (LibTorch, Lite interpreter, mobile packages)",
        "2.12",
        "replaced by ExecuTorch and AOTInductor",
        "ER6 TS171 TS172",
        "import torch\nfrom torch.utils.mobile_optimizer import optimize_for_mobile\nm = optimize_for_mobile(scripted)",
    ),
    _system(
        "TorchScript files",
        "2.12",
        "replaced by exported programs (`.pt2`)",
        "artifacts TS111 TS112 TS113",
        "torchmigrate artifacts list models/",
    ),
    _system(
        "`is_current_stream_capturing`",
        "2.12",
        "superseded by `Stream.is_capturing()`",
        "SC201",
        "import torch\ntorch.cuda.is_current_stream_capturing()",
    ),
    _system(
        "`torch.accelerator.Graph`",
        "2.12",
        "one class for the graphs of CUDA, XPU and other accelerators",
        "AD911 AD912",
        "import torch\ng = torch.cuda.CUDAGraph() if device == 'cuda' else torch.xpu.XPUGraph()",
    ),
    _system(
        "ProcessGroup objects in functional collectives and custom operators",
        "2.12",
        "accepted as well as names of groups",
        "PG3",
        "import torch.distributed._functional_collectives as funcol\n"
        'y = funcol.all_reduce(x, "sum", group.group_name)',
    ),
    _system(
        "torchcomms: eager initialization on one device",
        "2.12",
        "planned for 2.13 and later; the `nccl` backend of 2.15 needs it",
        "TC401 TC402 TC403 TC410",
        f'import torch\n{_DIST}torch.cuda.set_device(rank)\ndist.init_process_group("nccl")',
    ),
    _system(
        "torchcomms: point-to-point operations of a group no longer overlap",
        "2.12",
        "as above",
        "TC404 TC405 TC406",
        f"{_DIST}requests = [dist.isend(part, peer) for peer, part in parts]",
    ),
    _system(
        "torchcomms required, `c10d::Backend` deprecated",
        "2.12",
        "as above",
        "TC407 TC408 CU514 RT029",
        f"{_DIST}b = isinstance(group, dist.ProcessGroupNCCL)",
    ),
    _system(
        "CUDA 12.8 wheels",
        "2.12",
        "deprecated, and no longer published",
        "CU501 CU503 CU506 CU524 RT012",
        "--extra-index-url https://download.pytorch.org/whl/cu128\ntorch>=2.12",
        file="requirements.txt",
    ),
    _system(
        "Wheels of CUDA 12.6, 13.0 and 13.2; Pascal, Volta, Blackwell; drivers",
        "2.12",
        "which wheel runs on which GPU and driver is in `torchmigrate/tables`",
        "probe RT012 RT021 RT022 RT023 CU531",
        "torchmigrate probe --target-version 2.12",
    ),
    _system(
        "`linalg.eigh` on CUDA, MAGMA",
        "2.12",
        "MAGMA is deprecated; cuSOLVER solves a batch up to 100 times as fast",
        "AD901 AD902",
        "import torch\nw = [torch.linalg.eigh(m) for m in a.unbind()]",
    ),
    _system(
        "Adagrad with `fused=True`",
        "2.12",
        "one kernel per step",
        "AD903 AD906",
        "import torch\no = torch.optim.Adagrad(model.parameters())",
    ),
    _system(
        "`torch.cond` inside of CUDA graphs",
        "2.12",
        "needs CUDA 12.4, and the backend `eager` or `cudagraphs`",
        "AD921 RT031",
        "import torch\nwith torch.cuda.graph(g):\n    if x.sum() > 0:\n        y = x + 1",
    ),
    _system(
        "MX formats in `torch.export.save`",
        "2.12",
        "`float8_e8m0fnu` can be saved and loaded; in older versions, this is a KeyError",
        "AD941",
        'import torch\nx = x.to(torch.float8_e8m0fnu)\ntorch.export.save(program, "m.pt2")',
    ),
    _system(
        "FMA in compiled `addcdiv`",
        "2.12",
        "results of compiled optimizers change in the last bits on CUDA and XPU",
        "AD922",
        "import torch\no = torch.optim.Adam(model.parameters())\nstep = torch.compile(o.step)",
    ),
    _system(
        "Profiler events: flow ids, activity types, Python events, `seq_num`",
        "2.12",
        "in `profile.events()`, not only in the exported trace",
        "AD932",
        'import json, torch\nprof.export_chrome_trace("t.json")\nevents = json.load(open("t.json"))["traceEvents"]',
    ),
    _system(
        "FlightRecorder on ncclx, gloo and torchcomms",
        "2.12",
        "the variables `TORCH_FR_…` configure it for all backends",
        "AD931",
        'import os, torch\nos.environ["TORCH_NCCL_TRACE_BUFFER_SIZE"] = "2000"',
    ),
    _system(
        "CUDA graph annotations",
        "2.12",
        "`torch.cuda.graph(…, enable_annotations=True)`",
        "AD933",
        "import torch\nwith torch.cuda.graph(g):\n    with torch.profiler.record_function('mlp'):\n        y = model(x)",
    ),
    _system(
        "CUDA graph annotations: the post-processor of traces",
        "2.12",
        "a module of torch 2.12 to 2.14; since 2.15 `export_chrome_trace` takes the annotations itself",
        "AD933 RM701",
        "from torch.cuda._annotate_cuda_graph_trace import annotate_trace",
    ),
    _system(
        "Green contexts: limits of work queues",
        "2.12",
        "`workqueue_scope`; `set_context` and `pop_context` are deprecated since 2.14",
        "AD934 RM734",
        "from torch.cuda.green_contexts import GreenContext\nc = GreenContext.create(num_sms=32)",
    ),
    _system(
        "ROCm: expandable segments, rocSHMEM, hipSPARSELt, FP8 with 2:4 sparsity, FlexAttention",
        "2.12",
        "segments since ROCm 7.0.2, hipSPARSELt since 7.12, sparsity with FP8 on gfx950",
        "probe RT031 RT035",
        "torchmigrate probe",
    ),
    _system(
        "MPS: Metal 4 shaders",
        "2.12",
        "on macOS 26",
        "probe RT031 RT011",
        "torchmigrate probe",
    ),
    _system(
        "cuDNN in `scaled_dot_product_attention`",
        "2.5",
        "up to 75 % faster than FlashAttention 2 on H100, and chosen automatically",
        "AD926",
        "from torch.nn.attention import SDPBackend, sdpa_kernel\n"
        "from torch.nn.functional import scaled_dot_product_attention\n"
        "with sdpa_kernel(SDPBackend.FLASH_ATTENTION):\n    y = scaled_dot_product_attention(q, k, v)",
    ),
    _system(
        "Regional compilation",
        "2.5",
        "repeated blocks are compiled once",
        "AD923 AD924 AD928",
        "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self, n):\n"
        "        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(8, 2) for _ in range(n)])\n"
        "    def forward(self, x):\n        return self.blocks[0](x)\n\nnet = torch.compile(Net(12))",
    ),
    _system(
        "FlexAttention",
        "2.5",
        "mask patterns written as functions, which are compiled into the kernel",
        "AD925",
        "import torch\nimport torch.nn.functional as F\ni = torch.arange(n)\n"
        "near = (i[:, None] - i[None, :]).abs() < 128\ny = F.scaled_dot_product_attention(q, k, v, attn_mask=near)",
    ),
    _system(
        "Compiled Autograd",
        "2.5",
        "now a setting; `compiled_autograd.enable` was removed in 2.6",
        "RM701",
        "import torch\nwith torch._dynamo.compiled_autograd.enable(torch.compile):\n    loss.backward()",
    ),
    _system(
        "Flight Recorder",
        "2.5",
        "started as a part of the NCCL backend",
        "AD931",
        'import os, torch\nos.environ["TORCH_NCCL_TRACE_BUFFER_SIZE"] = "2000"',
    ),
    _system(
        "Flight Recorder's analyzer",
        "2.5",
        "`torchfrtrace` compares the records of all ranks, since torch 2.10; the page of AD931 shows how to get and read them",
        "AD931",
        'import os, torch\nos.environ["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"] = "/tmp/record_"',
    ),
    _system(
        "Exceptions and `MutableMapping` in Dynamo",
        "2.5",
        "code that is compiled needs no change, and breaks the graph less often; where it does is seen only in a run, "
        "with `TORCH_LOGS=graph_breaks`, so that there is no rule",
        "",
        _COMPILED,
    ),
    _system(
        "`max-autotune` and FP16 on CPUs",
        "2.5",
        "templates for matrix products on CPUs",
        "AD927",
        'import torch\nm = torch.compile(model, mode="max-autotune" if device == "cuda" else "default")',
    ),
    _system(
        "Inductor on Windows",
        "2.5",
        "compiles for CPUs with a C++ compiler",
        "AD914",
        'import sys, torch\nif sys.platform != "win32":\n    model = torch.compile(model)',
    ),
    _system(
        "Autoload of device extensions",
        "2.5",
        "through the entry point `torch.backends`",
        "AD913",
        'import torch\ntorch.utils.rename_privateuse1_backend("acme")',
    ),
    _system(
        "Intel GPUs",
        "2.5",
        "an XPU build of torch",
        "probe AD912 RT035",
        "torchmigrate probe",
    ),
    _system(
        "TorchRec",
        "2.5",
        "needs the torch that it was built for, and blocks the upgrade of torch",
        "CU504 CU511 RT008",
        "torch==2.12.1\ntorchrec==1.9.2",
        file="requirements.txt",
    ),
    _system(
        "TorchFix",
        "2.5",
        "torchmigrate reports the same: see [for users of TorchFix](torchfix.md)",
        "RM7",
        "import torch\nq, r = torch.qr(x)",
    ),
)
