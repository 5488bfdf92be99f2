"""`--smoke`: each stage with its own limit, and the first that fails explained."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from torchmigrate.probe import smoke
from torchmigrate.probe.collect import collect
from torchmigrate.probe.facts import Facts, Gpu, Platform, Python
from torchmigrate.probe.saying import error

NO_GPU = Facts(Platform("Linux", "x86_64"), Python("3.12.3"))
ONE_GPU = Facts(Platform("Linux", "x86_64"), Python("3.12.3"), gpus=(Gpu("NVIDIA H200", capability="9.0"),))
SHORT = {**smoke.LIMITS, "import": 1.0, "device": 1.0}

TORCH = """
__version__ = "2.12.1"
class version: cuda = None; hip = None
class cuda: is_available = staticmethod(lambda: False)
class backends: pass
def empty(*args, **kwargs): %s
"""


def test_the_stages_have_limits_in_the_order_in_which_they_run() -> None:
    from torchmigrate.probe import ask

    text = ask.snippet("smoke")
    order = [text.index(f'    ("{name}", ') for name in smoke.LIMITS]
    assert order == sorted(order)
    assert text.count('\n    ("') == len(smoke.LIMITS)


@pytest.mark.parametrize(
    ("code", "outcome", "detail"),
    [
        ("raise ImportError('bad')", "failed", "ImportError: bad"),
        ("import time; time.sleep(60)", "hung", "timed out after 1 s"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed", "SIGSEGV"),
        ("import os; os._exit(7)", "failed", "the interpreter ended with status 7"),
        ('print(\'["end", "import", "ok", ""]\'); raise ImportError(\'bad\')', "failed", "ImportError: bad"),
    ],
)
def test_an_import_that_fails_ends_the_run(
    code: str, outcome: str, detail: str, environ: dict[str, str], fake_torch: Callable[..., str]
) -> None:
    begin = time.monotonic()
    stages = smoke.smoke(fake_torch(code), NO_GPU, environ, SHORT if outcome == "hung" else smoke.LIMITS)
    assert time.monotonic() - begin < 40
    assert stages == [smoke.Stage("import", outcome, detail)]


def test_the_stage_that_kills_the_interpreter_is_named(
    environ: dict[str, str], fake_torch: Callable[..., str]
) -> None:
    python = fake_torch(TORCH % "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    stages = smoke.smoke(python, NO_GPU, environ, smoke.LIMITS)
    assert [(s.name, s.outcome) for s in stages] == [
        ("import", "ok"),
        ("device", "skipped"),
        ("allocate", "killed"),
    ]


def test_the_stage_that_hangs_is_named_and_later_ones_have_their_own_time(
    environ: dict[str, str], fake_torch: Callable[..., str]
) -> None:
    python = fake_torch(TORCH % "import time; time.sleep(60)")
    stages = smoke.smoke(python, NO_GPU, environ, {**smoke.LIMITS, "allocate": 0.5})
    assert stages[-1] == smoke.Stage("allocate", "hung", "timed out after 0.5 s")


def test_a_gpu_that_torch_does_not_see(environ: dict[str, str], fake_torch: Callable[..., str]) -> None:
    stages = smoke.smoke(fake_torch(TORCH % "pass"), ONE_GPU, environ, smoke.LIMITS)
    assert stages[-1].name == "device"
    assert "torch sees none" in stages[-1].detail


@pytest.mark.parametrize(
    ("detail", "code", "cause"),
    [
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "RT021",
            "no kernels for this GPU",
        ),
        (
            "RuntimeError: The NVIDIA driver on your system is too old (found version 12080)",
            "RT012",
            "older than the build",
        ),
        (
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility",
            "RT016",
            "cuda-compat",
        ),
        ("RuntimeError: Error 802: system not yet initialized", "RT017", "Fabric Manager"),
        ("ImportError: libtorch_cuda.so: undefined symbol: ncclCommResume", "RT006", "overwrite each other"),
        ("AssertionError: Torch not compiled with CUDA enabled", "RT027", "does not use this GPU"),
        ("RuntimeError: something else", "RT003", ""),
    ],
)
def test_a_failure_is_explained_and_mended_by_the_verdict_on_the_facts(
    detail: str, code: str, cause: str
) -> None:
    stages = [smoke.Stage("import", "ok", ""), smoke.Stage("kernel", "failed", detail)]
    (finding,) = smoke.findings(
        stages, (error("RT999", "another", "no"), error(code, "the cause", "the command"))
    )
    assert finding.code == "RT040"
    assert finding.message.startswith("smoke stage kernel fails")
    assert cause in finding.message
    assert detail in finding.message
    assert finding.hint == ("the command" if cause else None)


def test_stages_that_all_pass_are_no_finding() -> None:
    assert (
        smoke.findings([smoke.Stage("import", "ok", ""), smoke.Stage("graph", "skipped", "no CUDA")], ())
        == []
    )


def test_a_real_torch_on_this_machine(environ: dict[str, str]) -> None:
    pytest.importorskip("torch")
    import os

    everything = dict(os.environ)
    facts = collect(sys.executable, everything, limit=60)
    stages = smoke.smoke(sys.executable, facts, everything)
    assert [stage for stage in stages if stage.failed] == []
    assert [stage.name for stage in stages] == list(smoke.LIMITS)
    done = {stage.name for stage in stages if stage.outcome == "ok"}
    assert {"import", "allocate", "kernel", "matmul", "eigh", "process group", "compile"} <= done


def test_the_smoke_snippet_names_no_stage_twice() -> None:
    assert len(set(smoke.LIMITS)) == len(smoke.LIMITS)


def test_a_path_in_a_failure_is_cut_to_its_name(
    environ: dict[str, str], fake_torch: Callable[..., str], tmp_path: Path
) -> None:
    python = fake_torch(f"raise ImportError('{tmp_path}/lib/libc10.so: bad')")
    (stage,) = smoke.smoke(python, NO_GPU, environ, SHORT)
    assert stage.detail == "ImportError: libc10.so: bad"
