"""A machine that the command line describes: names of GPUs, drivers, Pythons."""

from __future__ import annotations

import sys

import pytest

from torchmigrate.cli import commands
from torchmigrate.probe.described_machine import describe_machine, find_gpu
from torchmigrate.probe.machine_facts import FactsError


@pytest.mark.parametrize(
    ("text", "vendor", "capability"),
    [
        ("V100", "nvidia", "7.0"),
        ("Tesla V100-SXM2-32GB", "nvidia", "7.0"),
        ("NVIDIA A100-PCIe-40GB", "nvidia", "8.0"),
        ("a10g", "nvidia", "8.6"),
        ("GeForce RTX 3060 Ti", "nvidia", "8.6"),
        ("RTX 4090", "nvidia", "8.9"),
        ("NVIDIA GeForce RTX 5090 Laptop GPU", "nvidia", "12.0"),
        ("H100 80GB HBM3", "nvidia", "9.0"),
        ("Jetson Orin Nano", "nvidia", "8.7"),
        ("7.5", "nvidia", "7.5"),
        ("sm_90", "nvidia", "9.0"),
        ("sm_120", "nvidia", "12.0"),
        ("MI300X", "amd", "gfx942"),
        ("AMD Radeon RX 6700 XT", "amd", "gfx1031"),
        ("gfx90a", "amd", "gfx90a"),
    ],
)
def test_a_gpu_is_known_by_its_name_or_its_architecture(text: str, vendor: str, capability: str) -> None:
    gpu = find_gpu(text)
    assert (gpu.vendor, gpu.capability) == (vendor, capability)


@pytest.mark.parametrize("text", ["", "V1000", "RTX", "8.4", "sm_1", "gfx", "A100 or so"])
def test_another_one_is_unknown(text: str) -> None:
    with pytest.raises(FactsError, match="this GPU is unknown"):
        find_gpu(text)


def test_a_jetson_has_the_cuda_of_its_jetpack() -> None:
    facts = describe_machine(["Orin"], None, None)
    assert (facts.platform.machine, facts.platform.jetson, facts.driver.cuda) == ("aarch64", "R36", "12.6")


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (
            ["--gpu", "V100", "--driver", "535"],
            1,
            "pip install torch==2.14.1+cu126 --index-url https://download.pytorch.org/whl/cu126\n",
        ),
        (
            ["--gpu", "V100", "--python", "3.8"],
            1,
            "uv venv --python 3.10 && uv pip install torch==2.14.1+cu126",
        ),
        (
            ["--gpu", "H200", "--driver", "580.65.06", "--target-version", "2.13"],
            0,
            "RT032 info: torch 2.13 (cu130) supports H200 (9.0) (sm_90)\n  pip install torch==2.13.0\n",
        ),
        (
            ["--gpu", "P100", "--gpu", "RTX 5090", "--target-version", "2.14"],
            1,
            "no single build of torch 2.14 supports every GPU here",
        ),
        (["--gpu", "unknown"], 2, "this GPU is unknown"),
        (["--gpu", "T4", "--python", "python3"], 2, "with --gpu, a version is expected"),
        (["--gpu", "T4", "--driver", "new"], 2, "with --gpu, a version is expected"),
        (["--driver", "535"], 2, "--driver requires --gpu"),
        (["--gpu", "T4", "--smoke"], 2, "cannot be used with --gpu"),
        (["--gpu", "T4", "--facts", "facts.json"], 2, "--facts and --gpu cannot be used together"),
    ],
)
def test_the_program_judges_it(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    text: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["torchmigrate", "probe", "--color", "never", *arguments])
    with pytest.raises(SystemExit) as done:
        commands.main()
    assert text in "".join(capsys.readouterr())
    assert done.value.code == status
