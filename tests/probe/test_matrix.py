"""What fits: every architecture on every build of 2.10 to 2.15, the rules, and the tables themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchmigrate.model.torch_versions import parse_version
from torchmigrate.probe.build_fit import judge_fit
from torchmigrate.probe.machine_facts import Gpu, Interpreter, MachineFacts, NvidiaDriver, OperatingSystem
from torchmigrate.tables import build_selection, torch_builds

OLD = "5.0 5.2 6.0 6.1 7.0 7.5 8.0 8.6 8.9 9.0"
"""CUDA 12.6: 50 60 70 75 80 86 90."""
NEW = "7.5 8.0 8.6 8.9 9.0 10.0 10.3 12.0 12.1"
"""75 80 86 90 100 120."""
NEW_AND_VOLTA = f"7.0 {NEW}"
UNIFIED = f"{NEW} 8.7"
"""As NEW; CUDA 13.2 lets code for 8.0 and 8.6 run on Orin."""
ARM_12 = "8.0 8.6 8.9 9.0"
"""80 90."""
ARM_128 = "8.0 8.6 8.9 9.0 10.0 10.3 12.0 12.1"
"""80 90 100 120."""
ARM = "8.0 8.6 8.9 9.0 10.0 10.1 10.3 11.0 12.0 12.1"
"""80 90 100 110 120; 10.1 is Thor's name in CUDA 12."""
ARM_UNIFIED = f"{ARM} 8.7"

WINDOWS: dict[str, dict[str, str]] = {
    "2.10": {"cu126": OLD, "cu128": NEW_AND_VOLTA, "cu130": NEW},
    "2.11": {"cu126": OLD, "cu128": NEW, "cu130": NEW},
    "2.12": {"cu126": OLD, "cu130": NEW, "cu132": UNIFIED},
    "2.13": {"cu126": OLD, "cu130": NEW, "cu132": UNIFIED},
    "2.14": {"cu126": OLD, "cu130": NEW, "cu132": UNIFIED},
    "2.15": {"cu130": NEW, "cu132": UNIFIED, "cu134": UNIFIED},
}
X86: dict[str, dict[str, str]] = {
    **WINDOWS,
    "2.10": {**WINDOWS["2.10"], "cu129": NEW_AND_VOLTA},
    **{torch: {**WINDOWS[torch], "cu129": NEW} for torch in ("2.11", "2.12", "2.13")},
    "2.14": {**WINDOWS["2.14"], "cu134": UNIFIED},
}
AARCH64: dict[str, dict[str, str]] = {
    "2.10": {"cu126": ARM_12, "cu128": ARM_128, "cu130": ARM},
    "2.11": {"cu126": ARM_12, "cu128": ARM_128, "cu130": ARM},
    "2.12": {"cu126": ARM_12, "cu130": ARM, "cu132": ARM_UNIFIED},
    "2.13": {
        "cu126": ARM_12,
        "cu129": ARM_128,
        "cu130": ARM,
        "cu132": ARM_UNIFIED,
    },
    "2.14": {"cu126": ARM_12, "cu130": ARM, "cu132": ARM_UNIFIED, "cu134": ARM_UNIFIED},
    "2.15": {"cu130": ARM, "cu132": ARM_UNIFIED, "cu134": ARM_UNIFIED},
}
TABLES = {"linux_x86_64": X86, "win_amd64": WINDOWS, "linux_aarch64": AARCH64}
MACHINES = {
    "linux_x86_64": ("Linux", "x86_64"),
    "win_amd64": ("Windows", "AMD64"),
    "linux_aarch64": ("Linux", "aarch64"),
}

CASES = [
    (platform, torch, variant)
    for platform, releases in TABLES.items()
    for torch, variants in releases.items()
    for variant in variants
]


def machine(platform: str, driver: str = "600.10", cuda: str = "13.4") -> MachineFacts:
    """A machine whose driver is in no build's way."""
    system, processor = MACHINES[platform]
    return MachineFacts(
        OperatingSystem(system, processor), Interpreter("3.12.3"), driver=NvidiaDriver(driver, cuda, init=0)
    )


@pytest.mark.parametrize(("platform", "torch", "variant"), CASES)
def test_each_architecture_on_each_build(platform: str, torch: str, variant: str) -> None:
    build = next(b for b in torch_builds.find_builds(torch, platform) if b.variant == variant)
    expected = TABLES[platform][torch][variant]
    for capability in torch_builds.load_architectures():
        runs = judge_fit(Gpu("GPU", capability=capability), build, machine(platform)).runs
        assert runs is (capability in expected.split()), capability


@pytest.mark.parametrize("platform", TABLES)
@pytest.mark.parametrize("torch", X86)
def test_the_tables_have_no_other_cuda_build(platform: str, torch: str) -> None:
    there = {b.variant for b in torch_builds.find_builds(torch, platform) if b.cuda}
    assert there == set(TABLES[platform][torch])


PUBLISHED = {
    "2.0": "cu117 cu118",
    "2.1": "cu118 cu121",
    "2.2": "cu118 cu121",
    "2.3": "cu118 cu121",
    "2.4": "cu118 cu121 cu124",
    "2.5": "cu118 cu121 cu124",
    "2.6": "cu118 cu124 cu126",
    "2.7": "cu118 cu126 cu128",
    "2.8": "cu126 cu128 cu129",
    "2.9": "cu126 cu128 cu129 cu130",
    "2.10": "cu126 cu128 cu129 cu130",
    "2.11": "cu126 cu128 cu129 cu130",
    "2.12": "cu126 cu129 cu130 cu132",
    "2.13": "cu126 cu129 cu130 cu132",
    "2.14": "cu126 cu130 cu132",
    "2.15": "cu132",
}
"""What the index has for Linux on x86_64. Up to 2.11: `torch_compatibility.json` of replicate/cog, which is made from the
index's pages; cu129 of 2.9.1 and 2.10.0: lists of the index, and logs of installations; later ones: the releases' notes.
"""


MATRIX = json.loads((Path(__file__).parents[1] / "data" / "release_matrix.json").read_text("utf-8"))


@pytest.mark.parametrize("torch", MATRIX)
def test_the_tables_have_what_the_release_was_built_for(torch: str) -> None:
    """Torch's own matrix of each release; what was published apart from the release stands in `PUBLISHED` alone."""

    def there(platform: str, kind: str) -> set[str]:
        builds = [
            b for b in torch_builds.find_builds(torch, platform) if not b.apart and b.evidence != "named"
        ]
        return {b.variant.removeprefix(kind) for b in builds if b.variant.startswith(kind)}

    built = MATRIX[torch]
    assert {b.version for b in torch_builds.find_builds(torch, "linux_x86_64")} == {built["version"]}
    assert there("linux_x86_64", "rocm") == set(built["rocm"])
    apart = {"129"} if torch in ("2.9", "2.10") else set()
    assert there("linux_x86_64", "cu") - apart == {cuda.replace(".", "") for cuda in built["cuda"]}
    arm = there("linux_aarch64", "cu") - apart
    assert arm == {cuda.replace(".", "") for cuda in built["aarch64"]}


def test_no_variant_comes_back_after_a_release_without_it() -> None:
    for variant in {
        b.variant
        for b in torch_builds.load_builds()
        if b.platform == build_selection.PLATFORM and b.variant.startswith(("cu", "rocm"))
    }:
        with_it = [
            build_selection.find_build(parse_version(torch), variant) is not None
            for torch in torch_builds.list_versions()
        ]
        first, last = with_it.index(True), len(with_it) - with_it[::-1].index(True)
        assert all(with_it[first:last]), variant


@pytest.mark.parametrize("torch", PUBLISHED)
def test_the_tables_have_what_the_index_has(torch: str) -> None:
    there = {
        b.variant for b in torch_builds.find_builds(torch, "linux_x86_64") if b.cuda and b.evidence != "named"
    }
    assert there == set(PUBLISHED[torch].split())


@pytest.mark.parametrize(
    ("variant", "last"),
    [
        ("cu118", (2, 7)),
        ("cu121", (2, 5)),
        ("cu124", (2, 6)),
        ("cu126", (2, 14)),
        ("cu128", (2, 11)),
        ("cu129", (2, 13)),
        ("cu130", None),
        ("cu134", None),
        ("cu117", (2, 0)),
        ("cu116", None),
        ("rocm6.1", (2, 6)),
        ("rocm7.14", None),
    ],
)
def test_the_last_release_that_has_a_variant(variant: str, last: tuple[int, int] | None) -> None:
    assert build_selection.find_last_release(variant) == last


@pytest.mark.parametrize(
    ("driver", "cuda", "runs"),
    [
        ("450.80.02", "11.8", True),
        ("449.99", "11.8", False),
        ("525.60.13", "12.9", True),
        ("525.60.12", "12.4", False),
        ("535.104.05", "13.0", False),
        ("579.99", "13.2", False),
        ("580.65.06", "13.2", True),
        ("610.43", "12.6", True),
    ],
)
def test_a_driver_runs_every_build_of_its_cuda_major(driver: str, cuda: str, runs: bool) -> None:
    from torchmigrate.probe.build_fit import is_driver_enough

    assert (
        is_driver_enough(
            cuda,
            MachineFacts(
                OperatingSystem("Linux", "x86_64"), Interpreter("3.12"), driver=NvidiaDriver(driver)
            ),
        )
        is runs
    )


def test_windows_has_minimum_drivers_of_its_own() -> None:
    assert torch_builds.find_minimum_driver("12.6", "Windows") == "528.33"
    assert torch_builds.find_minimum_driver("12.6", "Linux") == "525.60.13"


@pytest.mark.parametrize(
    ("code", "device", "runs"),
    [
        ("sm_90", "9.0", True),
        ("sm_90", "10.0", False),
        ("sm_90a", "9.0", True),
        ("sm_100a", "10.3", False),
        ("sm_100f", "10.3", True),
        ("sm_86", "8.0", False),
        ("sm_80", "8.7", False),
        ("sm_87", "8.9", False),
        ("sm_101", "11.0", True),
        ("sm_110", "10.1", True),
        ("sm_100", "10.1", False),
        ("compute_80", "12.0", True),
        ("compute_90", "8.0", False),
        ("compute_90a", "10.0", False),
    ],
)
def test_machine_code_runs_on_its_major_and_ptx_on_everything_newer(
    code: str, device: str, runs: bool
) -> None:
    assert (torch_builds.find_gpu_code((code,), device, "13.0") is not None) is runs


def test_machine_code_goes_before_ptx() -> None:
    assert torch_builds.find_gpu_code(
        ("compute_80", "sm_80", "compute_86"), "8.9", "12.8"
    ) == torch_builds.GpuCode("sm_80", ptx=False)


def test_ptx_needs_the_driver_of_its_toolkit_and_machine_code_does_not() -> None:
    from torchmigrate.probe.build_fit import judge_code

    gpu, old = Gpu("GPU", capability="9.0"), machine("linux_x86_64", driver="560.28.03", cuda="12.6")
    assert judge_code(gpu, ("sm_90",), "12.8", old).runs is True
    assert judge_code(gpu, ("compute_90",), "12.8", old).runs is False
    assert judge_code(gpu, ("compute_90",), "12.6", old).runs is True


def test_every_row_says_where_it_is_from() -> None:
    for build in torch_builds.load_builds():
        assert build.source
        assert build.evidence in ("wheel", "documented", "named")


def test_a_release_has_one_default_build_for_each_platform() -> None:
    for torch in torch_builds.list_versions():
        for platform in ("linux_x86_64", "linux_aarch64", "win_amd64", "macosx_arm64"):
            assert len([b for b in torch_builds.find_builds(torch, platform) if b.default]) == 1, (
                torch,
                platform,
            )
            variants = [b.variant for b in torch_builds.find_builds(torch, platform)]
            assert len(variants) == len(set(variants)), (torch, platform)


def test_the_tables_end_where_the_known_versions_end() -> None:
    from torchmigrate.model import torch_versions

    assert torch_builds.list_versions()[-1] == torch_versions.render_version(torch_versions.NEWEST)


@pytest.mark.parametrize(
    ("project", "torch", "version"),
    [
        ("torchvision", "2.13", "0.28.0"),
        ("torchvision", "2.14", "0.29.2"),
        ("torchvision", "2.15", "0.29.2"),
        ("torchaudio", "2.10", "2.10.0"),
        ("torchaudio", "2.15", "2.11.0"),
        ("torchaudio", "2.0", "2.0.2"),
        ("torchaudio", "1.13", None),
    ],
)
def test_companions(project: str, torch: str, version: str) -> None:
    assert torch_builds.find_companion_release(project, torch) == version
