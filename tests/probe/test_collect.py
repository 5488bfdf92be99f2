"""What is there: broken torch packages, fake drivers, strange `nvidia-smi`, and interpreters of all kinds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.probe.conftest import WHOLE
from torchmigrate.probe.collector import collect_facts, find_python
from torchmigrate.probe.machine_facts import DriverSource, MachineFacts, OperatingSystem, facts_to_json
from torchmigrate.probe.system_files import (
    find_apple_gpus,
    find_device_files,
    find_intel_gpus,
    find_shadowing_libraries,
)
from torchmigrate.probe.verdict import judge_machine

PATIENT = 30
"""Seconds that nothing takes but what hangs, on a machine that may be busy."""

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="fakes are Linux programs and libraries")


def codes(facts: MachineFacts) -> list[str]:
    return [finding.code for finding in judge_machine(facts).findings if finding.severity.value != "info"]


def elsewhere(folder: Path) -> Path:
    """A root without ``/sys`` and ``/proc``, so that the real machine's driver is not found."""
    (folder / "root").mkdir(exist_ok=True)
    return folder / "root"


# --- torch ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "outcome", "detail", "finding"),
    [
        ("raise ImportError('libfoo.so: bad')", "raised", "ImportError: libfoo.so: bad", "RT003"),
        ("import sys; sys.exit(3)", "raised", "SystemExit: 3", "RT003"),
        ("import os; os._exit(0)", "raised", "the process ended without an answer", "RT003"),
        ("import time; time.sleep(60)", "hung", "timed out after 1 s", "RT004"),
        ("while True: print('x' * 4096)", "hung", "timed out after 1 s", "RT004"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed", "SIGSEGV", "RT005"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed", "SIGKILL", "RT005"),
        ("", "raised", "the imported module has no __version__", "RT003"),
    ],
)
def test_a_broken_torch_is_a_finding_and_not_an_end(
    code: str,
    outcome: str,
    detail: str,
    finding: str,
    environ: dict[str, str],
    fake_torch: Callable[..., str],
    tmp_path: Path,
) -> None:
    python = fake_torch(code)
    begin = time.monotonic()
    facts = collect_facts(python, environ, elsewhere(tmp_path), limit=1 if outcome == "hung" else PATIENT)
    assert time.monotonic() - begin < PATIENT
    assert facts.torch is not None
    assert facts.torch.version == "2.12.1+cu130"
    assert (facts.torch.imported.outcome, facts.torch.imported.detail) == (outcome, detail)
    assert finding in codes(facts)


def test_a_package_that_crashes_without_torch_is_to_blame(
    environ: dict[str, str], fake_torch: Callable[..., str], tmp_path: Path
) -> None:
    python = fake_torch("import numpy")
    (tmp_path / "numpy.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGBUS)")
    facts = collect_facts(
        python, {**environ, "PYTHONPATH": str(tmp_path)}, elsewhere(tmp_path), limit=PATIENT
    )
    assert facts.torch is not None
    assert (facts.torch.imported.detail, facts.torch.imported.guilty) == ("SIGBUS", "numpy")


def test_an_intel_python_on_apple_silicon_has_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "platform.version", lambda: "Darwin Kernel Version 24.1.0: root:xnu-11215/RELEASE_ARM64_T6000"
    )
    assert find_apple_gpus(OperatingSystem("Darwin", "x86_64"))
    monkeypatch.setattr(
        "platform.version", lambda: "Darwin Kernel Version 22.6.0: root:xnu-8796/RELEASE_X86_64"
    )
    assert not find_apple_gpus(OperatingSystem("Darwin", "x86_64"))


def test_an_import_that_leaves_a_child_behind_does_not_hold_the_probe(
    environ: dict[str, str], fake_torch: Callable[..., str], tmp_path: Path
) -> None:
    python = fake_torch("import subprocess, sys, time; subprocess.Popen(['sleep', '30']); time.sleep(30)")
    begin = time.monotonic()
    collect_facts(python, environ, elsewhere(tmp_path), limit=0.5)
    assert time.monotonic() - begin < 25


def test_what_an_import_prints_does_not_reach_the_facts(
    environ: dict[str, str], fake_torch: Callable[..., str], tmp_path: Path
) -> None:
    noise = """
import sys, warnings
print('{"version": "9.9"}'); sys.stderr.write("\\x1b[31mnoise\\xff")
warnings.warn("the driver in /home/someone/lib is old")
"""
    facts = collect_facts(fake_torch(noise + WHOLE), environ, elsewhere(tmp_path))
    assert facts.torch is not None
    assert facts.torch.imported.outcome == "ok"
    assert facts.torch.compiled == ("sm_80", "sm_90")
    assert facts.torch.imported.warnings == ("the driver in lib is old",)


def test_a_torch_in_the_current_folder_is_not_the_users_torch(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    facts = collect_facts(sys.executable, environ, elsewhere(tmp_path))
    assert facts.torch is None or facts.torch.imported.detail != "SystemExit"


def test_no_torch_at_all(environ: dict[str, str], tmp_path: Path) -> None:
    import venv

    venv.create(tmp_path / "empty", with_pip=False)
    python = str(tmp_path / "empty" / "bin" / "python")
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert facts.torch is None
    assert facts.python.pip is False
    assert codes(facts) == ["RT002"]


def test_packages_and_extensions_are_read_from_their_metadata(
    environ: dict[str, str],
    fake_torch: Callable[..., str],
    fake_library: Callable[[str, str], None],
    tmp_path: Path,
) -> None:
    python, site = fake_torch("raise ImportError"), tmp_path / "site"
    for name in ("nvidia_nccl_cu12-2.27.5", "torchvision-0.27.1+cu130", "Flask-3.0.0"):
        (site / f"{name}.dist-info").mkdir()
    info = site / "some_kernels-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-kernels\nRequires-Dist: torch>=2.0\n")
    (info / "RECORD").write_text("some_kernels/_C.so,,\n")
    (site / "some_kernels").mkdir()
    fake_library("libcudart.so.12", "int cudaGetDevice(void) { return 0; }")
    source, runtime = tmp_path / "c.c", tmp_path / "lib" / "libcudart.so.12"
    source.write_text("int cudaGetDevice(void); int f(void) { return cudaGetDevice(); }")
    library = site / "some_kernels" / "_C.so"
    named = [
        f"-Wl,-soname,{runtime.name}",
        "-shared",
        "-fPIC",
        "-o",
        str(runtime),
        str(tmp_path / "libcudart.so.12.c"),
    ]
    subprocess.run(["gcc", *named], check=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source), str(runtime)], check=True)
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert facts.packages["nvidia-nccl-cu12"] == "2.27.5"
    assert facts.packages["torchvision"] == "0.27.1+cu130"
    assert "flask" not in facts.packages
    assert [(e.distribution, e.version, e.cuda) for e in facts.extensions] == [("some-kernels", "1.2", "12")]


def test_the_architectures_are_read_in_the_library_where_importing_fails(
    environ: dict[str, str], fake_torch: Callable[..., str], tmp_path: Path
) -> None:
    python = fake_torch("raise ImportError('libcuda.so.1')")
    library = tmp_path / "site" / "torch" / "lib"
    library.mkdir()
    (library / "libtorch_python.so").write_bytes(b"\0sm_99\0 code for sm_80 \0sm_75 sm_80 compute_80\0")
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert facts.torch is not None
    assert facts.torch.compiled == ("sm_75", "sm_80", "compute_80")


NEW_ERROR = "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
OLD_ERROR = "_ZN3c105ErrorC2ENS_14SourceLocationESs"


@pytest.mark.parametrize(
    ("called", "version", "abi", "missing"),
    [
        (NEW_ERROR, "1.2", True, ()),
        (OLD_ERROR, "1.2+cu12torch2.4cxx11abifalse", False, (OLD_ERROR,)),
        ("_ZN2at4_ops4goneEv", "1.2+pt211cu130", None, ("_ZN2at4_ops4goneEv",)),
        ("_ZN2at4_ops5otherEv", "1.2", None, ()),
    ],
)
def test_the_symbols_that_an_extension_calls_are_looked_for_in_torchs_libraries(
    called: str,
    version: str,
    abi: bool | None,
    missing: tuple[str, ...],
    environ: dict[str, str],
    fake_torch: Callable[..., str],
    tmp_path: Path,
) -> None:
    """The extension says nothing of torch in its metadata: it is one by the libraries that it is linked with."""
    if not shutil.which("gcc"):
        pytest.skip("no C compiler")
    python, site = fake_torch("raise ImportError"), tmp_path / "site"
    libc10 = site / "torch" / "lib" / "libc10.so"
    libc10.parent.mkdir()
    # What another library of the same extension defines is there as well.
    for library, source, options in (
        (libc10, f'void f(void) __asm__("{NEW_ERROR}"); void f(void) {{}}', ["-Wl,-soname,libc10.so"]),
        (
            site / "_C.so",
            f'void g(void) __asm__("{called}"); void h(void) {{ g(); }}',
            ["-Wl,--no-as-needed", str(libc10)],
        ),
        (site / "_other.so", 'void f(void) __asm__("_ZN2at4_ops5otherEv"); void f(void) {}', []),
    ):
        file = tmp_path / f"{library.name}.c"
        file.write_text(source)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(file), *options], check=True)
    info = site / f"some_kernels-{version}.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("_C.so,,\n_other.so,,\nbroken.so,,\n")
    (site / "broken.so").write_bytes(b"\x7fELF\2\1 libc10.so and no more")
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert facts.torch is not None
    assert facts.torch.new_abi is True
    (extension,) = facts.extensions
    assert extension.linked
    assert (extension.new_abi, extension.missing) == (abi, missing)
    assert extension.torch == {"1.2+cu12torch2.4cxx11abifalse": "2.4", "1.2+pt211cu130": "2.11"}.get(version)


def test_what_packages_require_of_torch_and_who_installed_it(
    environ: dict[str, str], fake_torch: Callable[..., str], tmp_path: Path
) -> None:
    python, site = fake_torch("raise ImportError"), tmp_path / "site"
    metadata = {
        "xformers-0.0.30": "Requires-Dist: torch (==2.7.0)\nRequires-Dist: numpy\n\nRequires-Dist: torch<1",
        "someday-1.0": 'Requires-Dist: torch<2; extra == "old"\nRequires-Dist: torch-scatter==2.0',
        "torch-2.12.1+cu130": "Requires-Dist: nvidia-nccl-cu13==2.29.7; platform_system == 'Linux'\nRequires-Dist: jinja2",
    }
    for name, text in metadata.items():
        (site / f"{name}.dist-info").mkdir()
        (site / f"{name}.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\n{text}\n")
    (site / "torch-2.12.1+cu130.dist-info" / "INSTALLER").write_text("uv\n")
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert facts.requires == {"xformers": "torch (==2.7.0)"}
    assert facts.packages["xformers"] == "0.0.30"
    assert facts.torch is not None
    assert facts.torch.installer == "uv"
    assert facts.torch.requires == ("nvidia-nccl-cu13==2.29.7; platform_system == 'Linux'",)


def test_an_environment_of_poetrys(
    environ: dict[str, str], fake_torch: Callable[..., str], tmp_path: Path
) -> None:
    python = fake_torch("raise ImportError")
    info = tmp_path / "site" / "other-1.0.dist-info"
    info.mkdir()
    (info / "INSTALLER").write_text("poetry 1.8.3")
    assert collect_facts(python, environ, elsewhere(tmp_path)).python.manager == "poetry"


# --- the system ----------------------------------------------------------------------------------------------------


def test_device_files_and_cards_by_the_systems_own_files(tmp_path: Path) -> None:
    root, linux = tmp_path / "root", OperatingSystem("Linux", "x86_64")
    for slot, vendor, kind, device in (
        ("0000:00:02.0", "0x8086", "0x030000", "0xa780"),
        ("0000:03:00.0", "0x8086", "0x030000", "0xe20b"),
        ("0000:04:00.0", "0x8086", "0x020000", "0x1533"),
    ):
        folder = root / "sys/bus/pci/devices" / slot
        folder.mkdir(parents=True)
        for name, text in (("vendor", vendor), ("class", kind), ("device", device)):
            (folder / name).write_text(f"{text}\n")
    assert [gpu.name for gpu in find_intel_gpus(root)] == ["Intel GPU (0xe20b)"]
    assert find_device_files(root, linux, nvidia=True, amd=True) == []
    (root / "dev/dri").mkdir(parents=True)
    for name in ("nvidiactl", "dri/renderD128"):
        (root / "dev" / name).touch()
    found = [(d.name, d.state) for d in find_device_files(root, linux, nvidia=True, amd=True)]
    assert found == [("nvidia-uvm", "missing"), ("kfd", "missing")]
    assert find_device_files(root, OperatingSystem("Linux", "x86_64", wsl=True), nvidia=True, amd=False) == []


def test_cuda_libraries_on_the_library_path(tmp_path: Path) -> None:
    for name in (
        "lib/libcudnn.so.9",
        "lib/libcudnn_ops.so.9",
        "lib/libfoo.so.1",
        "lib/libcuda.so.1",
        "stubs/libcuda.so",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    path = f"{tmp_path / 'lib'}:{tmp_path / 'stubs'}:{tmp_path / 'none'}:"
    assert find_shadowing_libraries({"LD_LIBRARY_PATH": path}) == [
        "libcudnn.so.9",
        "libcudnn_ops.so.9",
        "stubs/libcuda.so",
    ]
    assert find_shadowing_libraries({}) == []


# --- interpreters --------------------------------------------------------------------------------------------------


def interpreters() -> list[Path]:
    """Other Pythons on this machine, as pyenv and the system keep them."""
    folders = [Path.home() / ".pyenv/versions", Path("/opt/python")]
    return sorted(p for folder in folders for p in folder.glob("3.*/bin/python3") if p.exists())


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_an_old_or_new_interpreter_answers(version: str, environ: dict[str, str], tmp_path: Path) -> None:
    found = [path for path in interpreters() if path.parent.parent.name.startswith(f"{version}.")]
    if not found:
        pytest.skip(f"there is no Python {version} here")
    facts = collect_facts(str(found[0]), environ, elsewhere(tmp_path))
    assert facts.python.version is not None
    assert facts.python.version.startswith(f"{version}.")


def test_python_3_8_without_pip(environ: dict[str, str], tmp_path: Path) -> None:
    found = [path for path in interpreters() if path.parent.parent.name.startswith("3.8.")]
    if not found:
        pytest.skip("there is no Python 3.8 here")
    subprocess.run([str(found[0]), "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    facts = collect_facts(str(tmp_path / "venv/bin/python"), environ, elsewhere(tmp_path))
    assert facts.python.pip is False
    assert facts.python.failure is None
    verdict = judge_machine(facts, "2.15")
    assert [(f.code, f.hint) for f in verdict.findings] == [
        ("RT002", None),
        (
            "RT010",
            "uv venv --python 3.11 && uv pip install torch==2.15.0+cpu --index-url https://download.pytorch.org/whl/cpu",
        ),
    ]


@pytest.mark.parametrize("script", ["exit 1", "sleep 30", "echo Python 3.12", "kill -SEGV $$"])
def test_an_interpreter_that_is_none(
    script: str, environ: dict[str, str], fake_program: Callable[..., Path], tmp_path: Path
) -> None:
    program = fake_program("python3", script)
    begin = time.monotonic()
    facts = collect_facts(str(program), environ, elsewhere(tmp_path), limit=1)
    assert time.monotonic() - begin < 25
    assert codes(facts) == ["RT001"]


def test_a_missing_interpreter(environ: dict[str, str], tmp_path: Path) -> None:
    facts = collect_facts(str(tmp_path / "nowhere"), environ, elsewhere(tmp_path))
    assert facts.python.failure == "No such file or directory"


def test_the_users_interpreter_is_found_in_order(
    environ: dict[str, str], fake_program: Callable[..., Path], tmp_path: Path
) -> None:
    project = tmp_path / "project" / "deep"
    project.mkdir(parents=True)
    on_path = fake_program("python3", "")
    assert find_python(None, environ, project) == str(on_path)
    environment = tmp_path / "project" / ".venv" / "bin"
    environment.mkdir(parents=True)
    (environment / "python").touch()
    assert find_python(None, environ, project) == str(environment / "python")
    environ["CONDA_PREFIX"] = "/conda"
    assert find_python(None, environ, project) == "/conda/bin/python"
    environ["VIRTUAL_ENV"] = "/venv"
    assert find_python(None, environ, project) == "/venv/bin/python"
    assert find_python("/mine", environ, project) == "/mine"
    assert find_python("../.venv/bin/python", environ, project) == str(environment / "python")
    assert find_python("python3", environ, project) == str(on_path)


# --- the driver ----------------------------------------------------------------------------------------------------

NVML = """
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory;
int nvmlInit_v2(void) { return 0; }
int nvmlInitWithFlags(unsigned f) { return 0; }
int nvmlSystemGetDriverVersion(char *v, unsigned n) { strncpy(v, "580.159.04", n); return 0; }
int nvmlDeviceGetCount_v2(int *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = (void *)(unsigned long)(i + 1); return 0; }
int nvmlDeviceGetName(void *h, char *v, unsigned n) { strncpy(v, h == (void *)1 ? "NVIDIA H200" : "Tesla T4", n); return 0; }
int nvmlDeviceGetCudaComputeCapability(void *h, int *a, int *b) { *a = h == (void *)1 ? 9 : 7; *b = h == (void *)1 ? 0 : 5; return 0; }
int nvmlDeviceGetMemoryInfo(void *h, memory *m) { m->total = 150754820096ULL; return 0; }
int nvmlDeviceGetMigMode(void *h, int *a, int *b) { if (h != (void *)1) return 3; *a = 1; *b = 1; return 0; }
"""

CUDA = """
#include <unistd.h>
int cuInit(unsigned f) { %s }
int cuDriverGetVersion(int *v) { *v = 13010; return 0; }
int cuDeviceGetCount(int *n) { *n = 0; return 0; }
"""

SMI = """case "$*" in
  *compute_cap*) echo "NVIDIA H200, 9.0, 143771, Disabled, 580.159.04" ;;
  *query-gpu*) echo "NVIDIA H200, 143771, 580.159.04" ;;
  *) echo "| NVIDIA-SMI 610.43    KMD Version: 610.43    CUDA UMD Version: 13.4 |" ;;
esac"""


@LINUX
@pytest.mark.parametrize("package", ["as installed", "missing"])
def test_nvml_names_the_driver_and_every_gpu_with_and_without_nvidia_ml_py(
    package: str,
    environ: dict[str, str],
    python: str,
    fake_library: Callable[[str, str], None],
    tmp_path: Path,
) -> None:
    if package == "missing":
        (tmp_path / "site" / "pynvml.py").write_text("raise ImportError")
    fake_library("libnvidia-ml.so.1", NVML)
    fake_library("libcuda.so.1", CUDA % "return 0;")
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert facts.driver.version == "580.159.04"
    assert facts.driver.cuda == "13.1"
    assert facts.driver.init == 0
    assert [(g.name, g.capability, g.memory_mib, g.mig) for g in facts.gpus] == [
        ("NVIDIA H200", "9.0", 143771, True),
        ("Tesla T4", "7.5", 143771, None),
    ]


@LINUX
@pytest.mark.parametrize(
    ("body", "init", "failure", "code"),
    [
        ("return 804;", 804, None, "RT016"),
        ("return 802;", 802, None, "RT017"),
        ("return 999;", 999, None, "RT018"),
        ("sleep(60); return 0;", None, "timed out after 3 s", "RT018"),
        ("*(volatile int *)0 = 1; return 0;", None, "SIGSEGV", "RT018"),
    ],
)
def test_the_driver_may_fail_hang_or_crash(
    body: str,
    init: int | None,
    failure: str | None,
    code: str,
    environ: dict[str, str],
    python: str,
    fake_library: Callable[[str, str], None],
    tmp_path: Path,
) -> None:
    fake_library("libnvidia-ml.so.1", NVML)
    fake_library("libcuda.so.1", CUDA % body)
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert (facts.driver.init, facts.driver.init_failure) == (init, failure)
    assert code in codes(facts)


@LINUX
@pytest.mark.parametrize("body", ["return 18;", "sleep(60); return 0;", "__builtin_trap();"])
def test_nvml_may_fail_hang_or_crash(
    body: str, environ: dict[str, str], python: str, fake_library: Callable[[str, str], None], tmp_path: Path
) -> None:
    fake_library(
        "libnvidia-ml.so.1",
        f"#include <unistd.h>\nint nvmlInit_v2(void) {{ {body} }}\nint nvmlInitWithFlags(int f) {{ {body} }}",
    )
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    (nvml,) = facts.driver.sources
    assert nvml.version is None
    assert nvml.failure in ("error 18", "timed out after 3 s", "SIGILL", "SIGTRAP")
    assert ("RT013" in codes(facts)) is (nvml.failure == "error 18")


@LINUX
def test_nvidia_smi_is_asked_and_its_banner_is_not_read(
    environ: dict[str, str], python: str, fake_program: Callable[..., Path], tmp_path: Path
) -> None:
    fake_program("nvidia-smi", SMI)
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert facts.driver.version == "580.159.04"
    assert [(g.name, g.capability, g.mig) for g in facts.gpus] == [("NVIDIA H200", "9.0", False)]


@LINUX
def test_an_r610_that_only_prints_its_banner_is_no_source(
    environ: dict[str, str], python: str, fake_program: Callable[..., Path], tmp_path: Path
) -> None:
    fake_program(
        "nvidia-smi", 'echo "| NVIDIA-SMI 610.43    KMD Version: 610.43    CUDA UMD Version: 13.4 |"'
    )
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert facts.driver.version is None
    assert "RT015" in codes(facts)


@LINUX
def test_an_old_nvidia_smi_does_not_know_the_newer_fields(
    environ: dict[str, str], python: str, fake_program: Callable[..., Path], tmp_path: Path
) -> None:
    script = """case "$*" in
      *compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2 ;;
      *) echo "Tesla V100-SXM2-16GB, 16160, 450.80.02" ;; esac"""
    fake_program("nvidia-smi", script)
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert facts.driver.version == "450.80.02"
    assert [(g.name, g.capability, g.memory_mib) for g in facts.gpus] == [
        ("Tesla V100-SXM2-16GB", None, 16160)
    ]


@LINUX
def test_a_german_locale(
    environ: dict[str, str], python: str, fake_program: Callable[..., Path], tmp_path: Path
) -> None:
    environ.update(LANG="de_DE.UTF-8", LC_ALL="de_DE.UTF-8", LC_NUMERIC="de_DE.UTF-8", LANGUAGE="de")
    german = 'echo "NVIDIA H200, 9,0, 143.771, Aktiviert, 580,159,04"'
    fake_program("nvidia-smi", f'if [ "$LC_ALL" = C ] && [ -z "$LANGUAGE" ]; then\n{SMI}\nelse {german}; fi')
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert facts.driver.version == "580.159.04"
    assert facts.gpus[0].capability == "9.0"


@LINUX
@pytest.mark.parametrize(
    ("script", "mode", "failure"),
    [
        ("sleep 60", 0o755, "timed out after 3 s"),
        ("exit 0", 0o755, "it printed nothing"),
        ("exit 0", 0o644, "Permission denied"),
        ("echo 'No devices were found'; exit 6", 0o755, "No devices were found"),
        ("kill -SEGV $$", 0o755, "SIGSEGV"),
    ],
)
def test_a_strange_nvidia_smi_beside_a_sound_library(
    script: str,
    mode: int,
    failure: str,
    environ: dict[str, str],
    python: str,
    fake_program: Callable[..., Path],
    fake_library: Callable[[str, str], None],
    tmp_path: Path,
) -> None:
    fake_program("nvidia-smi", script, mode)
    fake_library("libnvidia-ml.so.1", NVML)
    begin = time.monotonic()
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert time.monotonic() - begin < PATIENT
    assert facts.driver.version == "580.159.04"
    assert DriverSource("nvidia-smi", None, failure) in facts.driver.sources
    silent = [f for f in judge_machine(facts).findings if f.code == "RT015"]
    assert [(f.severity.value, failure in f.message) for f in silent] == [("info", True)]


@LINUX
def test_an_nvidia_smi_of_another_version_than_the_library(
    environ: dict[str, str],
    python: str,
    fake_program: Callable[..., Path],
    fake_library: Callable[[str, str], None],
    tmp_path: Path,
) -> None:
    fake_program("nvidia-smi", SMI.replace("580.159.04", "570.86.10"))
    fake_library("libnvidia-ml.so.1", NVML)
    facts = collect_facts(python, environ, elsewhere(tmp_path))
    assert facts.driver.version == "580.159.04"
    assert "RT014" in codes(facts)


def test_what_the_kernel_says(environ: dict[str, str], python: str, tmp_path: Path) -> None:
    root = elsewhere(tmp_path)
    files = {
        "sys/module/nvidia/version": "580.95.05\n",
        "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n",
        "proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA GeForce RTX 3090\nIRQ: 1\nGPU UUID: GPU-x\n",
        "sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
        "sys/bus/pci/devices/0000:01:00.0/class": "0x030000\n",
        "sys/bus/pci/devices/0000:01:00.1/vendor": "0x10de\n",
        "sys/bus/pci/devices/0000:01:00.1/class": "0x040300\n",
        "proc/version": "Linux version 5.15.153.1-microsoft-standard-WSL2\n",
        "etc/nv_tegra_release": "# R36 (release), REVISION: 4.0, GCID: 1\n",
        "sys/class/kfd/kfd/topology/nodes/0/properties": "gfx_target_version 0\n",
        "sys/class/kfd/kfd/topology/nodes/1/properties": "simd_count 1\ngfx_target_version 90402\n",
        "opt/rocm/.info/version": "7.1.0\n",
    }
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    facts = collect_facts(python, environ, root)
    assert [(s.name, s.version) for s in facts.driver.sources] == [
        ("sys", "580.95.05"),
        ("proc", "580.95.05"),
    ]
    assert facts.driver.bus_devices == 1
    assert [(g.name, g.vendor, g.capability) for g in facts.gpus] == [
        ("NVIDIA GeForce RTX 3090", "nvidia", None),
        ("AMD GPU (gfx942)", "amd", "gfx942"),
    ]
    assert facts.platform.wsl
    assert facts.platform.jetson == "R36.4.0"
    assert facts.rocm == "7.1.0"


@LINUX
def test_cuda_compat_on_the_library_path(environ: dict[str, str], python: str, tmp_path: Path) -> None:
    compat = tmp_path / "cuda" / "compat"
    compat.mkdir(parents=True)
    (compat / "libcuda.so.1").touch()
    assert collect_facts(python, environ, elsewhere(tmp_path)).driver.compat is False
    environ["LD_LIBRARY_PATH"] = f"/usr/lib:{compat}"
    assert collect_facts(python, environ, elsewhere(tmp_path)).driver.compat is True


def test_the_facts_name_no_person_machine_gpu_or_path(
    environ: dict[str, str], fake_torch: Callable[..., str], tmp_path: Path
) -> None:
    import json
    import platform

    environ["CUDA_VISIBLE_DEVICES"] = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"
    python = fake_torch(
        f"raise ImportError('{tmp_path}/site/torch/lib/libc10.so: cannot open shared object file')"
    )
    text = json.dumps(facts_to_json(collect_facts(python, environ, elsewhere(tmp_path))))
    assert "libc10.so: cannot open shared object file" in text
    for secret in (str(tmp_path), platform.node(), "GPU-8932", os.path.expanduser("~")):
        assert secret not in text
