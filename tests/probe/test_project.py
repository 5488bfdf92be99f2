"""`torchmigrate probe --project`: what a project's files would install, on recorded machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.probe.conftest import FIXTURES
from torchmigrate.cli.probe import probe
from torchmigrate.cli.probed_project import judge_files
from torchmigrate.probe.fleet import read_machines

CU126 = "https://download.pytorch.org/whl/cu126"
EXACT = ("requirements.txt", "torch==2.15.0\n")
OLDER = ("requirements.txt", f"--index-url {CU126}\ntorch==2.14.1\n")
BESIDE = ("requirements.txt", f"--extra-index-url {CU126}\ntorch>=2.12\n")
RANGE = ("pyproject.toml", '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch>=2.5"]\n')
GONE = ("requirements.txt", f"--index-url {CU126}\ntorch==2.15.0\n")
LOCK = ("uv.lock", 'version = 1\n[[package]]\nname = "torch"\nversion = "2.12.1+cu126"\n')
LOCK_13 = ("uv.lock", 'version = 1\n[[package]]\nname = "torch"\nversion = "2.12.1+cu130"\n')
LOCKED = """
[[package]]
name = "torch"
version = "{version}"
source = {{ registry = "{index}" }}
resolution-markers = ["{marker}"]
"""
PYPI = "https://pypi.org/simple"
EXTRAS = (
    "uv.lock",
    "version = 1\n"
    + LOCKED.format(version="2.12.1", index=PYPI, marker="sys_platform == 'darwin'")
    + LOCKED.format(version="2.12.1+cpu", index=CU126[:-5] + "cpu", marker="extra == 'extra-1-x-cpu'")
    + LOCKED.format(
        version="2.12.1+cu126",
        index=CU126,
        marker="sys_platform == 'linux' and extra != 'extra-1-x-cpu' and extra == 'extra-1-x-cu126'",
    ),
)
IMAGE = ("Dockerfile", "FROM pytorch/pytorch:2.12.0-cuda12.6-cudnn9-runtime\n")
OLD_IMAGE = ("Dockerfile", "FROM pytorch/pytorch:1.13.1-cuda11.6-cudnn8-runtime\n")
HOPPERLESS = ("Dockerfile", "FROM pytorch/pytorch:2.0.1-cuda11.7-cudnn8-runtime\n")
OWN_IMAGE = ("Dockerfile", "FROM nvcr.io/nvidia/pytorch:25.01-py3\n")
CONDA = ("environment.yml", "name: x\ndependencies:\n  - pytorch=2.5\n  - python=3.11\n")
TWO = ("requirements.txt", f"--extra-index-url {CU126}\n--extra-index-url {CU126[:-3]}130\ntorch==2.12.1\n")
EITHER = (
    "pyproject.toml",
    RANGE[1].replace("torch>=2.5", "numpy")
    + '[project.optional-dependencies]\na = ["torch==2.14.1"]\nb = ["torch==2.13.0"]\n',
)
OLD = ("requirements.txt", "torch==1.9.1\n")
OF_MAC = ("requirements.txt", "torch==2.14.1; sys_platform == 'darwin'\n")
WHEELS = (
    "requirements.txt",
    "".join(
        f"torch @ {CU126}/torch-2.14.1%2Bcu126-{tags}.whl\n"
        for tags in (
            "cp311-cp311-win_amd64",
            "cp311-cp311-manylinux_2_28_x86_64",
            "cp312-cp312-manylinux_2_28_x86_64",
        )
    ),
)
OLD_WHEEL = ("requirements.txt", f"{CU126[:-3]}117/torch-1.13.1%2Bcu117-cp312-cp312-linux_x86_64.whl\n")
OF_TESTS = ("tox.ini", "[testenv]\ndeps = torch==2.5.0\n")


def said(folder: Path, machine: str, *files: tuple[str, str]) -> list[tuple[str, str]]:
    """The code and the message of each verdict on a project on a machine."""
    for name, text in files:
        (folder / name).write_text(text, encoding="utf-8")
    [(_, facts)] = read_machines(FIXTURES / f"{machine}.facts.json")
    return [(finding.code, finding.message) for finding in judge_files([str(folder)], facts)]


@pytest.mark.parametrize(
    ("machine", "file", "code", "words"),
    [
        ("03-v100-cu130", EXACT, "RT021", "torch 2.15.0+cu132 has no kernels for Tesla V100"),
        (
            "03-v100-cu130",
            OLDER,
            "RT032",
            "torch 2.14.1 (cu126, documented but not verified) supports Tesla V100-SXM2-16GB (7.0) (sm_70)",
        ),
        ("03-v100-cu130", IMAGE, "RT032", "torch 2.12.0 (cu126, documented but not verified) supports"),
        ("20-h200", EXACT, "RT032", "torch 2.15.0 (cu132) supports NVIDIA H200 (9.0) (sm_90)"),
        ("20-h200", BESIDE, "RT032", "torch 2.15.0 (cu132) supports"),
        ("20-h200", GONE, "RT011", "torch 2.15.0 was not published for cu126"),
        ("20-h200", CONDA, "RT031", "conda's builds are not in the tables"),
        ("20-h200", OWN_IMAGE, "RT031", "which build the image contains is unknown"),
        ("20-h200", TWO, "RT031", "the build may be any of cu126, cu130"),
        ("20-h200", EITHER, "RT031", "the version may be any of `==2.14.1`, `==2.13.0`"),
        ("20-h200", OLD_IMAGE, "RT031", "but `1.13.1-cuda11.6-cudnn8-runtime` is required"),
        ("20-h200", HOPPERLESS, "RT021", "torch 2.0.1+cu117 has no kernels for NVIDIA H200 (9.0)"),
        ("20-h200", OLD, "RT031", "but `==1.9.1` is required"),
        ("20-h200", WHEELS, "RT032", "torch 2.14.1 (cu126, documented but not verified) supports"),
        ("15-windows-cpu-wheel", WHEELS, "RT031", "no file here requires torch"),
        ("20-h200", OLD_WHEEL, "RT031", "but `1.13.1+cu117` is required"),
        ("20-h200", OF_MAC, "RT031", "no file here requires torch"),
        ("20-h200", ("requirements.txt", "numpy\n"), "RT031", "no file here requires torch"),
        ("01-driver-too-old", LOCK, "RT032", "torch 2.12.1 (cu126, documented but not verified) supports"),
        ("01-driver-too-old", LOCK_13, "RT012", "built for CUDA 13.0 and needs driver 580 or newer"),
        ("22-cpu-machine", EXACT, "RT032", "torch 2.15.0 (cu132) supports this machine, which has no GPU"),
        ("27-glibc-2.17", EXACT, "RT011", "torch 2.15 needs glibc 2.28 or newer"),
        ("27-glibc-2.17", RANGE, "RT032", "torch 2.6.0 (cu124) supports"),
        ("25-python-3.10", RANGE, "RT032", "torch 2.14.1 (cu130) supports"),
        ("26-python-3.16", EXACT, "RT010", "this is Python 3.16"),
        ("64-mi300-cuda-wheel", EXACT, "RT035", "built for CUDA 13.2, but this machine has AMD GPU"),
        ("15-windows-cpu-wheel", EXACT, "RT027", "torch 2.15.0+cpu is a CPU build"),
        ("15-windows-cpu-wheel", IMAGE, "RT031", "images do not run directly on Windows"),
    ],
)
def test_one_verdict_for_an_environment(
    tmp_path: Path, machine: str, file: tuple[str, str], code: str, words: str
) -> None:
    [(found, message)] = said(tmp_path, machine, file)
    assert (found, words in message) == (code, True), message


def test_each_torch_of_a_lock_has_its_own(tmp_path: Path) -> None:
    found = said(tmp_path, "20-h200", EXTRAS)
    assert [code for code, _ in found] == ["RT027", "RT032"]
    assert "torch 2.12.1 (cu126, documented but not verified) supports" in found[1][1]


def test_each_environment_has_its_own_and_what_tests_install_is_counted(tmp_path: Path) -> None:
    found = said(tmp_path, "03-v100-cu130", EXACT, LOCK, OF_TESTS)
    assert sorted(code for code, _ in found) == ["RT021", "RT031", "RT032"]
    assert found[-1][1].startswith("1 place where tests")


@pytest.mark.parametrize(("machine", "status"), [("03-v100-cu130", 1), ("22-cpu-machine", 0)])
def test_the_status_tells_whether_all_fits(tmp_path: Path, machine: str, status: int) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.15.0\n")
    arguments = ["--project", str(tmp_path), "--facts", str(FIXTURES / f"{machine}.facts.json")]
    done = CliRunner().invoke(probe, arguments, standalone_mode=False)
    assert done.return_value == status, done.output
    assert "requirements.txt:1: RT" in done.output
    done = CliRunner().invoke(probe, [*arguments, "--output-format", "json"], standalone_mode=False)
    assert "requirements.txt" in done.output
    assert json.loads(done.output)


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = said(tmp_path, "20-h200", EXACT, ("pyproject.toml", "[project\ntorch"))
    assert [code for code, _ in found] == ["RT032"]
    assert "pyproject.toml" in capsys.readouterr().err


@pytest.mark.parametrize("other", ["--json", "--smoke", "--ray"])
def test_it_goes_with_nothing_that_judges_no_single_machine(tmp_path: Path, other: str) -> None:
    assert CliRunner().invoke(probe, ["--project", str(tmp_path), other]).exit_code == 2


MEMBER = """
[[package]]
name = "member"
version = "0.1.0"
source = {{ editable = "packages/member" }}
"""
RANGE_OF_MEMBER = RANGE[1].replace('"x"', '"member"')


def test_a_lock_above_stands_for_the_range_of_a_member(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    member = tmp_path / "packages" / "member"
    other = tmp_path / "other"
    for folder, name in ((member, "member"), (other, "other")):
        folder.mkdir(parents=True)
        (folder / "pyproject.toml").write_text(RANGE_OF_MEMBER.replace("member", name))
    (tmp_path / "uv.lock").write_text(LOCK[1] + MEMBER.format())
    (locked,) = said(member, "20-h200")
    assert "2.12.1" in locked[1]
    (free,) = said(other, "20-h200")
    assert "2.15.0" in free[1]
    assert sorted(said(tmp_path, "20-h200")) == sorted([locked, free])


def test_of_a_range_the_release_of_the_target_is_taken(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"--extra-index-url {CU126}\ntorch>=2.12\n")
    (tmp_path / "Dockerfile").write_text("FROM python:3.12\nRUN pip install torch==2.9.0\n")
    [(_, facts)] = read_machines(FIXTURES / "20-h200.facts.json")
    messages = [one.message for one in judge_files([str(tmp_path)], facts, target="2.13")]
    assert any("2.13.0" in message for message in messages)
    assert "1 place does not allow torch 2.13" in messages


def test_the_fixed_project_is_judged_without_being_written(tmp_path: Path) -> None:
    text = f"--index-url {CU126[:-3]}124\ntorch==2.5.1\ntorchvision==0.20.1\n"
    (tmp_path / "requirements.txt").write_text(text)
    (tmp_path / "uv.lock").write_text(LOCK[1])
    [(_, facts)] = read_machines(FIXTURES / "20-h200.facts.json")
    (found,) = judge_files([str(tmp_path)], facts, target="2.13", after_fix=True)
    assert found.code == "RT032"
    assert "2.13.0" in found.message
    assert (tmp_path / "requirements.txt").read_text() == text


def test_what_the_fix_cannot_move_is_said(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\ntorchtext==0.18.0\n")
    [(_, facts)] = read_machines(FIXTURES / "20-h200.facts.json")
    found = judge_files([str(tmp_path)], facts, target="2.13", after_fix=True)
    assert found[-1].message == "1 place does not allow torch 2.13"
    assert "fix --unsafe --relax" in (found[-1].hint or "")


def test_commands_name_the_companions_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(
        f"--index-url {CU126[:-5]}cpu\ntorch==2.12.1\ntorchvision==0.27.1\n"
    )
    [(_, facts)] = read_machines(FIXTURES / "20-h200.facts.json")
    (found,) = judge_files([str(tmp_path)], facts)
    assert "torchvision==" in (found.hint or "")


def test_entries_of_a_lock_that_come_to_the_same_are_one_finding(tmp_path: Path) -> None:
    entries = "".join(
        LOCKED.format(
            version="2.12.1", index=PYPI, marker=f"sys_platform == 'linux' and extra == 'extra-1-x-{name}'"
        )
        for name in "abc"
    )
    assert len(said(tmp_path, "20-h200", ("uv.lock", "version = 1\n" + entries))) == 1
