"""Environments: what goes into one Python, which Pythons it may have, and what packages require of torch."""

from __future__ import annotations

import io
import json
import zipfile
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

from tests.support import check_text, fix_text
from tools import read_cuda, read_requirements, read_spack
from torchmigrate.cli.commands import cli
from torchmigrate.documents import leftovers, python_versions
from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import package_conflicts, package_requirements, torch_builds


@pytest.mark.parametrize(
    ("project", "version", "torch", "refusal"),
    [
        ("xformers", "0.0.27.post2", "2.13.0", "it requires torch ==2.4.0"),
        ("vllm", "0.27.0", "2.13.0", ""),
        ("vllm", "0.5.4", "2.13.0", "it requires torch ==2.4.0"),
        (
            "torchcodec",
            "0.17.0",
            "2.13.0",
            "the metadata of torchcodec 0.17.0 does not say which torch it was built for",
        ),
        ("bitsandbytes", "0.43.2", "2.13.0", ""),
        ("numpy", "1.26.4", "2.13.0", ""),
        ("flash-attn", "2.6.3", "2.13.0", "it is unclear which torch flash-attn 2.6.3 supports"),
        ("gunicorn", "22.0.0", "2.13.0", ""),
        ("pyyaml", "5.1", "2.13.0", ""),
        ("numpy", "99.0", "2.13.0", "it is unclear which torch numpy 99.0 supports"),
        ("nobodys-package", "1.0", "2.13.0", "it is unclear which torch nobodys-package 1.0 supports"),
    ],
)
def test_what_a_release_requires_of_torch(project: str, version: str, torch: str, refusal: str) -> None:
    assert package_requirements.explain_refusal(project, version, torch) == refusal


@pytest.mark.parametrize(
    ("version", "python", "has"),
    [("1.26.4", "3.12", True), ("1.26.4", "3.13", False), ("1.21.0", "3.11", False)],
)
def test_wheels_of_numpy(version: str, python: str, has: bool) -> None:
    assert package_requirements.has_wheel("numpy", version, python) is has


def test_of_releases_for_one_torch_each_one_for_the_new_torch_is_known() -> None:
    found = package_requirements.find_release_for("vllm", "2.13.0")
    assert found is not None
    assert package_requirements.explain_refusal("vllm", found, "2.13.0") == ""
    assert package_requirements.find_release_for("vllm", "2.12.0") is None
    assert package_requirements.find_release_for("nobodys-package", "2.13.0") is None


def test_only_wheels_with_compiled_code_are_built_for_a_torch() -> None:
    text = "a @ file:///x/a-1.0-py2.py3-none-any.whl\nb @ file:///x/b-1.0-cp38-cp38-linux_x86_64.whl\n"
    assert [*leftovers.find_built_files(text)] == ["file:///x/b-1.0-cp38-cp38-linux_x86_64.whl"]


def test_what_torch_requires_itself() -> None:
    assert "sympy>=1.13.3" in map(str, package_requirements.find_requirements("torch", "2.13.0"))
    assert package_requirements.find_requirements("torch", "1.0") == []


def test_every_row_says_where_it_is_from() -> None:
    for name in ("requirements.json", "compiled.json", "cuda_code.json", "failing.json"):
        rows = json.loads((resources.files("torchmigrate.tables") / "data" / name).read_text("utf-8"))
        assert [row["project"] for row in rows] == sorted({row["project"] for row in rows})
        assert all(row["source"] and row["evidence"] in ("wheel", "documented") for row in rows)


def test_every_page_of_wheels_says_where_it_is_shown() -> None:
    for row in torch_builds.load_table("page_wheels"):
        assert row["source"].startswith("https://")
        assert {torch_builds.get_minor(one) for one in row["torch"]} == {
            torch_builds.get_minor(row["torch"][0])
        }


def test_what_is_unrelated_to_torch_is_in_no_other_table() -> None:
    tables = resources.files("torchmigrate.tables") / "data"
    told = [
        row["project"]
        for name in ("requirements.json", "compiled.json")
        for row in json.loads((tables / name).read_text("utf-8"))
    ]
    table = json.loads((tables / "unrelated.json").read_text("utf-8"))
    assert table["source"]
    assert table["projects"] == sorted(set(table["projects"]) - set(told))
    assert [name for name in table["projects"] if "torch" in name or "tensorflow" in name] == []


RECIPE = """
class PyDemo(PythonPackage):
    pypi = "Demo_Project/demo-1.0.tar.gz"

    depends_on("py-setuptools@:60", type="build")
    with default_args(type=("build", "run")):
        depends_on("{required}", when="@1:")
"""


@pytest.mark.parametrize(
    ("required", "is_free"),
    [
        ("py-numpy@1.20:", True),
        ("py-torch@1.8:", False),
        ("cuda@12:", False),
        ("py-typing-extensions@4:", True),
        ("py-typing-extensions@3.7:4.5", False),
        ("py-typing-extensions@:4", True),
    ],
)
def test_recipes_of_spack(required: str, is_free: bool) -> None:
    recipe = read_spack.read(RECIPE.format(required=required))
    assert (recipe.project, recipe.is_free) == ("demo-project", is_free)


def test_what_requires_something_that_requires_torch_is_related() -> None:
    recipes = {
        "py-a": read_spack.Recipe("a", {"py-b"}),
        "py-b": read_spack.Recipe("b", {"py-torch"}, is_free=False),
        "py-c": read_spack.Recipe("c", {"py-d"}),
        "py-d": read_spack.Recipe("d"),
    }
    assert read_spack.unrelated(recipes, {"d": True}) == {"c"}


@pytest.mark.parametrize(
    ("image", "python"),
    [
        ("python:3.12-slim", ("3.12", True)),
        ("docker.io/library/python:3.9", ("3.9", True)),
        ("nvidia/cuda:12.4.1-devel-ubuntu22.04", ("3.10", False)),
        ("debian:bookworm-slim", ("3.11", False)),
        ("registry.example.org/base:1", (None, False)),
    ],
)
def test_the_python_of_an_image(image: str, python: tuple[str | None, bool]) -> None:
    assert python_versions.find_image_python(image) == python


@pytest.mark.parametrize(
    ("requires", "left"),
    [
        (">=3.11", {11, 12, 13, 14}),
        (">=3.8", set()),
        ("==3.12.*", {12}),
        ("~=3.12", {12, 13, 14}),
        ("^3.11", {11, 12, 13, 14}),
    ],
)
def test_the_pythons_that_a_project_leaves(requires: str, left: set[int]) -> None:
    text = f'[project]\nname = "torch-x"\nrequires-python = "{requires}"\n'
    references = ProjectDocument.decode_source("pyproject.toml", text.encode()).references
    assert (
        python_versions.find_possible_minors(references, ("3.11", "3.14"), references[0].unit.environment)
        == left
    )


def test_the_stages_of_an_image_are_environments_of_their_own() -> None:
    text = "FROM a AS x\nRUN pip install torch\nFROM b AS y\nRUN pip install torch\nFROM x\nRUN pip install torch\n"
    found = [
        r
        for r in ProjectDocument.decode_source("Dockerfile", text.encode()).references
        if r.sort is Sort.REQUIREMENT
    ]
    first, second, third = (reference.unit.environment for reference in found)
    assert first is third
    assert first is not second


def test_a_variable_of_a_job_wins_over_that_of_all() -> None:
    text = "variables:\n  V: '2.4.0'\none:\n  variables:\n    V: '2.5.0'\n  script:\n    - pip install torch==$V\n"
    text += "two:\n  script:\n    - pip install torch==$V\n"
    found = ProjectDocument.decode_source(".gitlab-ci.yml", text.encode()).references
    assert [r.text for r in found if r.sort is Sort.REQUIREMENT] == ["==2.5.0", "==2.4.0"]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("pip install torch==2.4.0\n", False),
        ("pip install torch==2.4.0 && echo 'pip install torch'\n", False),
        ('[ -n "$A" ] && pip install torch==2.4.0\n', True),
        ("true || pip install torch==2.4.0\n", True),
        ("for x in a b; do pip install torch==2.4.0; done\n", True),
        ("install() {\n  pip install torch==2.4.0\n}\n", True),
        ("if a; then b; fi\npip install torch==2.4.0\n", False),
        ("python3.9 -m pip install torch==2.4.0\n", True),
    ],
)
def test_nothing_moves_in_a_branch(text: str, held: bool) -> None:
    flags = ("--target-version", "2.13", "--unsafe", "--select", "CU")
    assert (fix_text(text, *flags, path="run.sh") == text) is held


@pytest.mark.parametrize(
    ("bound", "fits"),
    [("<1.12", False), ("~=1.11.0", False), ("~=1.11", True), ("<=1.26.0", True), ("==1.11.*", False)],
)
def test_what_is_bounded_needs_a_wheel(bound: str, fits: bool) -> None:
    text = f"torch==2.4.0\nonnxruntime{bound}\n"
    (finding,) = check_text(text, "--select", "CU504", "--target-version", "2.13", path="requirements.txt")
    assert (finding.fix is not None) is fits
    assert fits or "no wheel" in (finding.withheld or "")


@pytest.mark.parametrize(
    ("project", "version", "cuda", "refusal"),
    [
        ("bitsandbytes", "0.47.0", "13.0", "not for 13.0"),
        ("bitsandbytes", "0.47.0", "12.8", ""),
        ("bitsandbytes", "0.43.3", "12.6", "not for 12.6"),
        ("bitsandbytes", "0.36.0", "13.0", "do not say which CUDA"),
        ("bitsandbytes", "99.0", "13.0", "do not say which CUDA"),
        ("bitsandbytes", "", "13.2", ""),
        ("onnxruntime-gpu", "1.20.0", "13.0", "do not say which CUDA"),
        ("onnxruntime-gpu", "1.22.0", "13.0", "built for CUDA 12, not for 13.0"),
        ("onnxruntime-gpu", "1.27.0", "13.0", ""),
        (
            "faster-whisper",
            "1.1.0",
            "13.0",
            "it uses ctranslate2: ctranslate2 4.8.5 is built for CUDA 12",
        ),
        ("cupy-cuda12x", "", "13.0", "built for CUDA 12, not for 13.0"),
        ("spconv-cu120", "2.3.6", "12.6", ""),
        ("numpy", "2.0.0", "13.0", ""),
    ],
)
def test_what_is_made_for_one_cuda(project: str, version: str, cuda: str, refusal: str) -> None:
    reason = package_conflicts.explain_cuda_conflict(project, version, cuda)
    assert refusal in reason
    assert bool(refusal) is bool(reason)


@pytest.mark.parametrize(
    ("asked", "fails"),
    [
        ("ultralytics==8.2.63", True),
        ("ultralytics==8.2.64", False),
        ("ultralytics<8.2.64", True),
        ("ultralytics", False),
        ("basicsr>=1.4", True),
        ("speechbrain<1.1", True),
        ("speechbrain<1.1.2", False),
        ("torch-xla==2.4.0", True),
        # Of the releases that require one torch each, an installer takes the one for this torch.
        ("vllm", False),
    ],
)
def test_what_fails_though_its_metadata_lets_torch_in(asked: str, fails: bool) -> None:
    text = f"torch==2.4.0\ntorchvision==0.19.0\n{asked}\n"
    (finding,) = check_text(text, "--select", "CU504", "--target-version", "2.13", path="requirements.txt")
    assert (finding.fix is None) is fails
    assert package_conflicts.explain_failure("ultralytics", "8.2.63", "2.5.1") == ""


@pytest.mark.parametrize(
    ("beside", "holds"),
    [
        ("bitsandbytes==0.43.3", True),
        ("bitsandbytes", False),
        ("bitsandbytes<0.48", True),
        ("faster-whisper", True),
        ("cupy-cuda12x", True),
        ("onnxruntime-gpu==1.27.0", False),
    ],
)
def test_code_of_another_cuda_holds_back(beside: str, holds: bool) -> None:
    text = f"torch==2.4.0\n{beside}\n"
    (finding,) = check_text(text, "--select", "CU504", "--target-version", "2.13", path="requirements.txt")
    assert (finding.fix is None) is holds
    assert not holds or "not for 13.0" in (finding.withheld or "")


def test_on_the_cpu_no_cuda_holds_back() -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/cpu\ntorch==2.4.0+cpu\nbitsandbytes==0.43.3\n"
    (finding,) = check_text(text, "--select", "CU504", "--target-version", "2.13", path="requirements.txt")
    assert finding.fix is not None


def test_the_cuda_of_a_wheel_is_read_in_names_and_libraries() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in ("b/libb_cuda118.so", "b/libb_cuda130.so", "b/libb_cpu.so"):
            made.writestr(name, "")
        made.writestr("b.libs/libb-1.so.4", b"\0libcublas.so.12\0libcudnn.so.9\0")
    wheel = zipfile.ZipFile(file)
    assert read_cuda.names(wheel, "") == ["11.8", "13.0"]
    assert read_cuda.opened(wheel, "") == ["12"]


def test_a_missing_list_is_named() -> None:
    (finding,) = check_text("-r other.txt\ntorch==2.4.0\n", "--select", "CU504", path="requirements.txt")
    assert (finding.withheld or "").startswith("it is unclear what `other.txt` installs; --relax")


def test_an_image_that_installs_a_list_holds_it_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.4.0\n")
    (tmp_path / "Dockerfile").write_text("FROM python:3.9\nRUN pip -q install -r requirements.txt\n")
    monkeypatch.chdir(tmp_path)
    options = [
        "--select",
        "CU504",
        "--target-version",
        "2.13",
        "--isolated",
        "--no-cache",
        "--output-format",
        "full",
    ]
    result = CliRunner().invoke(cli, ["check", ".", *options], standalone_mode=False)
    assert "`python:3.9` (Dockerfile) is required" in result.output
    (tmp_path / "Dockerfile").write_text("FROM python:3.12\nRUN pip -q install -r requirements.txt\n")
    result = CliRunner().invoke(cli, ["check", ".", *options], standalone_mode=False)
    assert "Use torch 2.13.0" in result.output


def test_requirements_are_those_of_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        lines = "Requires-Dist: torch==2.4.0; extra == 'srt'\nRequires-Dist: six; sys_platform == 'win32'\n"
        made.writestr("x-1.dist-info/METADATA", f"Name: x\n{lines}Requires-Dist: numpy>=1\n")
    monkeypatch.setattr(read_requirements, "open_wheel", lambda url, chunk: zipfile.ZipFile(file))
    asked = read_requirements.requirements("")
    assert read_requirements.applying(asked) == [Requirement("numpy>=1")]
    assert len(read_requirements.applying(asked, extras=True)) == 2
    assert read_requirements.torch_of("x", "") is None
    assert read_requirements.torch_of("sglang", "") == "==2.4.0"


def test_equal_ends_of_a_range_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from packaging.version import Version

    found = {Version(f"1.{n}"): str(n) for n in range(20)}
    read: list[str] = []

    def torch_of(project: str, url: str) -> str:
        read.append(url)
        return ">=2" if int(url) >= 7 else ">=1"

    monkeypatch.setattr(read_requirements, "wheels", lambda project, since: found)
    monkeypatch.setattr(read_requirements, "torch_of", torch_of)
    assert read_requirements.ranges("x", "2023", each=False) == [("1.0", ">=1"), ("1.7", ">=2")]
    assert len(read) < 20
    read.clear()
    read_requirements.ranges("x", "2023", each=True)
    assert len(read) == 20


@pytest.mark.parametrize(
    ("files", "is_copy"),
    [
        ({"encoder/README.md": "", "encoder/LICENSE": "of others"}, True),
        ({"encoder/README.md": "", "encoder/LICENSE": "of all", "encoder/CONTRIBUTING.md": ""}, True),
        ({"encoder/README.md": "", "encoder/LICENSE": "of all"}, False),
        ({"encoder/README.md": ""}, False),
    ],
)
def test_a_folder_under_another_licence_is_a_copy_of_another_project(
    files: dict[str, str], is_copy: bool, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "encoder").mkdir()
    files |= {"LICENSE": "of all", "requirements.txt": "torch==2.4.0\n"}
    files |= {"encoder/requirements.txt": "torch==2.0.0\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    flags = ("--select", "CU504", "--unsafe", "--target-version", "2.13")
    done = CliRunner().invoke(cli, ["fix", *flags, str(tmp_path)])
    assert "+torch==2.13.0" in done.output
    assert ("-torch==2.0.0" not in done.output) is is_copy
    assert "would have to change too" not in done.output


def test_a_script_of_windows_names_lists_with_backslashes(tmp_path: Path) -> None:
    (tmp_path / "install.bat").write_text("pip install -r .\\requirements.txt\npip install torch==2.4.0\n")
    (tmp_path / "requirements.txt").write_text("numpy\n")
    flags = ("--select", "CU504", "--unsafe", "--target-version", "2.13")
    done = CliRunner().invoke(cli, ["fix", *flags, str(tmp_path)])
    assert "+pip install torch==2.13.0" in done.output
    assert "not in the project" not in done.output


def test_any_python_of_3_is_raised_to_one_that_torch_supports(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(
        'from setuptools import setup\n\nsetup(python_requires=">=3", install_requires=["torch==2.1.0"])\n'
    )
    flags = ("--select", "CU", "--unsafe", "--relax", "--target-version", "2.13")
    done = CliRunner().invoke(cli, ["fix", *flags, str(tmp_path)])
    assert '+setup(python_requires=">=3.10", install_requires=["torch==2.13.0"])' in done.output


def test_the_builds_to_choose_from_are_printed_with_their_options(tmp_path: Path) -> None:
    url = "https://download.pytorch.org/whl/cu128"
    (tmp_path / "requirements.txt").write_text(f"--extra-index-url {url}\ntorch==2.8.0\ntorchaudio==2.8.0\n")
    flags = ("--select", "CU504", "--unsafe", "--target-version", "2.13")
    done = CliRunner().invoke(cli, ["fix", *flags, str(tmp_path)])
    assert "blocked: it is unclear whether torchaudio has a cu129 build too\n" in done.output
    assert "or: --cuda cu126 (driver 525" in done.output
    moved = CliRunner().invoke(cli, ["fix", *flags, "--cuda", "cu126", str(tmp_path)])
    assert "+torch==2.13.0" in moved.output
