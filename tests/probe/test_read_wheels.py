"""The script that reads the tables in published wheels, on a wheel made here."""

from __future__ import annotations

import io
import zipfile

import pytest

from tools import read_wheels

METADATA = """Metadata-Version: 2.4
Name: torch
Version: 2.15.0
Requires-Python: >=3.11
Requires-Dist: filelock
Requires-Dist: nvidia-nccl-cu13==2.30.7; platform_system == "Linux"
Requires-Dist: triton~=3.9.0; platform_system == "Linux" and python_version < "3.16"
Requires-Dist: optree>=0.13.0; extra == "optree"
"""


@pytest.fixture
def wheel() -> zipfile.ZipFile:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("torch-2.15.0.dist-info/METADATA", METADATA)
        made.writestr(
            "torch/version.py",
            "__version__ = '2.15.0+cu132'\ncuda: Optional[str] = '13.2'\nhip: Optional[str] = None\n",
        )
        # The string lies across the border of two reads.
        padding = b"sm_70 \0" + b"x" * ((1 << 20) - 20)
        made.writestr("torch/lib/libtorch_python.so", padding + b"\0sm_75 sm_80 compute_80\0")
    return zipfile.ZipFile(file)


def test_requirements_are_those_of_the_platform(wheel: zipfile.ZipFile) -> None:
    linux, mac = read_wheels.metadata(wheel), read_wheels.metadata(wheel, "macosx_arm64")
    assert linux == {
        "requires_python": ">=3.11",
        "pins": {"filelock": "", "nvidia-nccl-cu13": "==2.30.7", "triton": "~=3.9.0"},
    }
    assert mac["pins"] == {"filelock": ""}


def test_the_build_is_read_and_not_executed(wheel: zipfile.ZipFile) -> None:
    assert read_wheels.version_file(wheel) == {"cuda": "13.2", "hip": None}


def test_the_architecture_string_is_found_across_reads(wheel: zipfile.ZipFile) -> None:
    assert read_wheels.architectures(wheel) == ["sm_75", "sm_80", "compute_80"]


@pytest.mark.parametrize(
    ("tag", "platform"),
    [
        ("manylinux_2_28_x86_64", ("linux_x86_64", "2.28")),
        ("manylinux2014_aarch64", ("linux_aarch64", "2.17")),
        ("macosx_14_0_arm64", ("macosx_arm64", "14.0")),
        ("win_amd64", ("win_amd64", None)),
        ("macosx_10_9_x86_64", None),
    ],
)
def test_platform_tags(tag: str, platform: tuple[str, str | None] | None) -> None:
    assert read_wheels.platform_of(tag) == platform
