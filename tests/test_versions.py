"""Versions, the severity that follows from them, and the minimum that a project's metadata states."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchmigrate.documents.minimum import Minimum, Minimums
from torchmigrate.gates import kinds
from torchmigrate.model import versions
from torchmigrate.model.versions import Version
from torchmigrate.model.vocabulary import Severity


@pytest.mark.parametrize(
    "text", ["2.12", "2.12.1", " 2.12 ", "2.12.0+cu130", "2.12.0a0+git1234", "v2.12", "2.12rc1"]
)
def test_a_version_is_its_minor_version(text: str) -> None:
    assert versions.parse(text) == (2, 12)


@pytest.mark.parametrize("text", ["", "2", "two", "2.", ".1", "2.1 2.2", "2.12345678", "2.1\n;", ">=2.1"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a version such as 2\.12"):
        versions.parse(text)


@pytest.mark.parametrize(
    ("deprecated", "breaks", "expected"),
    [
        (None, None, Severity.INFO),
        ((2, 12), None, Severity.WARNING),
        ((2, 13), None, Severity.INFO),
        (None, (2, 12), Severity.ERROR),
        (None, (2, 11), Severity.ERROR),
        (None, (2, 13), Severity.WARNING),
        ((2, 10), (2, 12), Severity.ERROR),
        ((2, 13), (2, 14), Severity.WARNING),
    ],
)
def test_severity_follows_from_what_the_target_does(
    deprecated: Version | None, breaks: Version | None, expected: Severity
) -> None:
    assert versions.severity((2, 12), deprecated, breaks) is expected


def project(root: Path, **files: str) -> Minimum:
    """The minimum of a project with these files; ``__`` in a name stands for a dot, ``_`` for a hyphen."""
    (root / ".git").mkdir(exist_ok=True)
    for name, text in files.items():
        (root / name.replace("__", ".")).write_text(text)
    return Minimums().of(str(root))


def pyproject(*dependencies: str) -> str:
    return (
        "[project]\nname = 'x'\ndependencies = [\n"
        + "".join(f'  "{line}",\n' for line in dependencies)
        + "]\n"
    )


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("torch>=2.4", (2, 4)),
        ("torch >= 2.4.1, < 3", (2, 4)),
        ("torch~=2.4", (2, 4)),
        ("torch~=2.4.0", (2, 4)),
        ("torch==2.4.*", (2, 4)),
        ("torch==2.4.1+cu121", (2, 4)),
        ("torch===2.4.1", (2, 4)),
        ("torch>2.4", (2, 4)),
        ("torch>=2", (2, 0)),
        ("torch>=1.13", (1, 13)),
        ("torch>=2.1,>=2.4,!=2.5.0", (2, 4)),
        ("torch>=2.10.0.dev20251001", (2, 10)),
        ("Torch[opt-einsum]>=2.4; python_version >= '3.10'", (2, 4)),
    ],
)
def test_the_lower_bound_of_a_requirement(tmp_path: Path, requirement: str, expected: Version) -> None:
    minimum = project(tmp_path, pyproject__toml=pyproject("numpy", requirement))
    assert minimum.version == expected
    assert minimum.bounded
    assert minimum.source is not None
    assert minimum.source.endswith("pyproject.toml:5")


@pytest.mark.parametrize(
    "requirement", ["torch", "torch<3", "torch!=2.1", "torch @ https://example.org/torch.whl"]
)
def test_a_requirement_without_a_lower_bound_says_so(tmp_path: Path, requirement: str) -> None:
    minimum = project(tmp_path, pyproject__toml=pyproject(requirement), requirements__txt="torch==2.9.1\n")
    assert (minimum.version, minimum.bounded) == (versions.OLDEST, False)
    assert minimum.source is not None
    assert minimum.source.endswith("pyproject.toml:4")


@pytest.mark.parametrize(
    "other", ["torchvision>=0.20", "torch-geometric>=2.5", "torch_scatter>=2.1", "torchx", "Torch.x"]
)
def test_packages_whose_names_begin_alike_are_none(tmp_path: Path, other: str) -> None:
    assert project(tmp_path, pyproject__toml=pyproject(other)) == Minimum(versions.OLDEST)


def test_the_lowest_of_alternatives_is_the_minimum(tmp_path: Path) -> None:
    minimum = project(
        tmp_path,
        pyproject__toml=pyproject("torch>=2.6; python_version>='3.13'", "torch>=2.3; python_version<'3.13'"),
    )
    assert minimum.version == (2, 3)
    assert minimum.source is not None
    assert minimum.source.endswith("pyproject.toml:5")


def test_what_is_always_installed_comes_before_what_is_optional(tmp_path: Path) -> None:
    optional = '[project.optional-dependencies]\ngpu = ["torch>=2.1"]\n'
    assert project(tmp_path, pyproject__toml=pyproject("torch>=2.5") + optional).version == (2, 5)
    assert project(tmp_path, pyproject__toml=pyproject("numpy") + optional).version == (2, 1)


@pytest.mark.parametrize(
    "text",
    [
        '[dependency-groups]\ndev = ["torch>=2.4", {include-group = "x"}]\n',
        '[tool.poetry.dependencies]\ntorch = "^2.4"\n',
        '[tool.poetry.dependencies]\ntorch = "~2.4.1"\n',
        '[tool.poetry.dependencies]\ntorch = "2.4.*"\n',
        '[tool.poetry.dependencies]\ntorch = ">=2.4,<3.0"\n',
        '[tool.poetry.dependencies]\ntorch = "^2.4 || ^2.6"\n',
        '[tool.poetry.dependencies]\ntorch = {version = "^2.4", optional = true}\n',
        '[tool.poetry.dependencies]\ntorch = [{version = "^2.6", python = ">3.12"}, {version = "^2.4"}]\n',
        '[tool.poetry.group.dev.dependencies]\ntorch = ">=2.4"\n',
    ],
)
def test_other_tables_of_pyproject(tmp_path: Path, text: str) -> None:
    minimum = project(tmp_path, pyproject__toml=text)
    assert minimum.version == (2, 4)
    assert minimum.source is not None
    assert minimum.source.endswith("pyproject.toml:2")


def test_setup_cfg(tmp_path: Path) -> None:
    required = "[options]\ninstall_requires =\n    numpy\n    torch>=2.4  \n"
    extra = "[options.extras_require]\ngpu =\n    torch>=2.2; python_version < '3.13'\n"
    assert project(tmp_path, setup__cfg=required + extra).version == (2, 4)
    assert project(tmp_path, setup__cfg=extra) == Minimum((2, 2), str(tmp_path / "setup.cfg:3"))


def test_setup_py_is_read_and_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"open({str(mark)!r}, 'w')\nREQUIRES = ['numpy', 'torch>=2.4']\nsetup(name='torch', install_requires=REQUIRES)\n"
    assert project(tmp_path, setup__py=script) == Minimum((2, 4), str(tmp_path / "setup.py:2"))
    assert not mark.exists()


def test_setup_py_without_a_lower_bound(tmp_path: Path) -> None:
    minimum = project(tmp_path, setup__py="setup(install_requires=['torch', *more()], x='torch is fine')\n")
    assert minimum == Minimum(versions.OLDEST, str(tmp_path / "setup.py:1"), bounded=False)


def test_requirements_files(tmp_path: Path) -> None:
    text = "--extra-index-url https://example.org/torch>=9\n-r more.txt\ntorch>=2.4 \\\n  --hash=sha256:00 # old\n"
    assert project(tmp_path, requirements__txt=text) == Minimum((2, 4), str(tmp_path / "requirements.txt:3"))


def test_the_plain_requirements_file_comes_before_its_variants(tmp_path: Path) -> None:
    (tmp_path / "requirements-dev.txt").write_text("torch==2.9.0\n")
    (tmp_path / "requirements_gpu.txt").write_text("torch==2.8.0\n")
    assert project(tmp_path).version == (2, 8)
    assert project(tmp_path, requirements__txt="torch>=2.1\n").version == (2, 1)


PINNED = "torch==2.9.1\n"
LOCKED = '[[package]]\nname = "torch"\nversion = "2.9.1"\n'
NEEDS_NO_TORCH = "[project]\nname = 'x'\ndependencies = ['numpy']\n"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("requirements/base.txt", PINNED, 1),
        ("requirements/gpu.in", PINNED, 1),
        ("requirements.in", PINNED, 1),
        ("constraints.txt", PINNED, 1),
        ("constraints-cu128.txt", PINNED, 1),
        ("environment.yml", "name: x\ndependencies:\n  - pytorch=2.9.1\n", 3),
        ("environment.yaml", "name: x\ndependencies:\n  - pip:\n    - torch>=2.9\n", 4),
        (
            "environment-gpu.yml",
            "dependencies:\n  - python=3.11\n  - conda-forge::pytorch-gpu>=2.9\nname: x\n",
            3,
        ),
        ("pixi.toml", '[dependencies]\npytorch = "2.9.*"\n', 2),
        ("pixi.toml", '[pypi-dependencies]\ntorch = { version = ">=2.9" }\n', 2),
        ("pixi.toml", '[feature.gpu.dependencies]\npytorch = ">=2.9"\n', 2),
        ("Pipfile", '[packages]\ntorch = "~=2.9"\n', 2),
        ("Pipfile", '[packages]\ntorch = {version = "==2.9.1", index = "pytorch"}\n', 2),
        ("pyproject.toml", '[tool.pixi.pypi-dependencies]\ntorch = ">=2.9"\n', 2),
        ("pyproject.toml", '[tool.pdm.dev-dependencies]\ntest = ["torch>=2.9"]\n', 2),
        ("pyproject.toml", '[tool.hatch.envs.default]\ndependencies = ["torch>=2.9"]\n', 2),
        ("setup.py", "setup(install_requires=['torch>=2.9'])", 1),
        ("setup.cfg", "[options]\ninstall_requires =\n  torch>=2.9", 3),
        ("uv.lock", "version = 1\n" + LOCKED, 4),
        ("poetry.lock", LOCKED, 3),
        ("pdm.lock", LOCKED, 3),
        ("pylock.toml", '[[packages]]\nname = "torch"\nversion = "2.9.1+cu128"\n', 3),
        ("Pipfile.lock", '{\n "default": {\n  "torch": {\n   "version": "==2.9.1"\n  }\n }\n}', 4),
        ("requirements.txt", "# This file was autogenerated by uv\ntorch==2.9.1\n", 2),
        ("Dockerfile", "FROM python:3.12\nRUN pip install torch==2.9.1\n", 2),
        ("Dockerfile.gpu", "FROM pytorch/pytorch:2.9.1-cuda12.8-cudnn9-runtime\n", 1),
    ],
)
def test_every_file_that_says_what_is_installed_is_read(
    tmp_path: Path, name: str, text: str, line: int
) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert project(tmp_path) == Minimum((2, 9), f"{file}:{line}")


@pytest.mark.parametrize(
    ("pyproject", "expected"),
    [
        ('[project]\ndynamic = ["dependencies"]\n[tool.setuptools.dynamic]\ndependencies = {file = ["reqs/run.txt"]}\n', (2, 9)),
        ('[project]\ndynamic = ["dependencies"]\n[tool.setuptools.dynamic.dependencies]\nfile = "reqs/run.txt"\n', (2, 9)),
        ('[project]\ndynamic = ["dependencies"]\n[tool.hatch.metadata.hooks.requirements_txt]\nfiles = ["reqs/run.txt"]\n', (2, 9)),
        ('[project]\ndynamic = ["optional-dependencies"]\n[tool.setuptools.dynamic.optional-dependencies]\ngpu = {file = ["reqs/run.txt"]}\n', (2, 9)),
        ('[project]\ndynamic = ["optional-dependencies"]\n[tool.setuptools.dynamic.optional-dependencies]\ndev = {file = ["reqs/run.txt"]}\n', (2, 0)),
        ('[project]\ndynamic = 3\n[tool.setuptools]\ndynamic = [{file = 1}]\n', (2, 0)),
    ],
)  # fmt: skip
def test_dependencies_that_lie_in_another_file(tmp_path: Path, pyproject: str, expected: Version) -> None:
    (tmp_path / "reqs").mkdir()
    (tmp_path / "reqs" / "run.txt").write_text("-r more.txt\n")
    (tmp_path / "reqs" / "more.txt").write_text("-r run.txt\ntorch>=2.9\n")
    assert project(tmp_path, pyproject__toml=pyproject).version == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", NEEDS_NO_TORCH + "[project.optional-dependencies]\ndev = ['torch==2.9.1']\n"),
        ("pyproject.toml", NEEDS_NO_TORCH + "[project.optional-dependencies]\ntest = ['torch==2.9.1']\n"),
        ("pyproject.toml", NEEDS_NO_TORCH + "[dependency-groups]\ndocs = ['torch==2.9.1']\n"),
        ("pyproject.toml", NEEDS_NO_TORCH + "[build-system]\nrequires = ['torch==2.9.1']\n"),
        ("pyproject.toml", NEEDS_NO_TORCH + "[tool.uv]\nconstraint-dependencies = ['torch==2.9.1']\n"),
        ("pyproject.toml", "[tool.poetry.dependencies]\npython='^3.10'\n[tool.poetry.group.dev.dependencies]\ntorch='2.9.1'\n"),
        ("setup.cfg", "[options.extras_require]\ntesting =\n  torch==2.9.1\n"),
        ("setup.py", "setup(extras_require={'dev': ['torch==2.9.1']}, tests_require=['torch==2.9.1'])"),
        ("setup.py", "extras = {}\nextras['dev'] = ['torch==2.9.1']\nsetup(extras_require=extras)"),
        ("requirements-dev.txt", PINNED),
        ("dev-requirements.txt", PINNED),
        ("requirements/test.txt", PINNED),
        ("requirements/docs.in", PINNED),
        ("environment-dev.yml", "dependencies:\n  - pytorch=2.9.1\nname: x\n"),
    ],
)  # fmt: skip
def test_what_developers_pin_is_no_minimum_of_what_is_run(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "requirements.txt").write_text("numpy\n")
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert project(tmp_path) == Minimum(versions.OLDEST)


def test_what_developers_pin_counts_where_nothing_else_is_stated(tmp_path: Path) -> None:
    assert project(tmp_path, pyproject__toml="[dependency-groups]\ndev = ['torch>=2.9']\n").version == (2, 9)


@pytest.mark.parametrize("stronger", ["requirements.in", "setup.py", "environment.yml"])
def test_ranges_come_before_what_is_installed_now(tmp_path: Path, stronger: str) -> None:
    stating = {
        "requirements.in": "torch>=2.4\n",
        "setup.py": "setup(install_requires=['torch>=2.4'])",
        "environment.yml": "dependencies:\n  - pytorch>=2.4\nname: x\n",
    }
    compiled = "# This file is autogenerated by pip-compile\ntorch==2.9.1\n"
    (tmp_path / stronger).write_text(stating[stronger])
    found = project(
        tmp_path, requirements__txt=compiled, uv__lock=LOCKED, Dockerfile="RUN pip install torch==2.1"
    )
    assert found.version == (2, 4)
    (tmp_path / stronger).unlink()
    assert project(tmp_path).source == str(tmp_path / "uv.lock:3")
    (tmp_path / "uv.lock").unlink()
    assert project(tmp_path).source == str(tmp_path / "requirements.txt:2")
    (tmp_path / "requirements.txt").unlink()
    assert project(tmp_path).source == str(tmp_path / "Dockerfile:1")


def test_a_range_further_up_comes_before_a_lock_beside_the_file(tmp_path: Path) -> None:
    project(tmp_path, pyproject__toml=pyproject("torch>=2.4"))
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "uv.lock").write_text(LOCKED)
    assert Minimums().of(str(inner)).version == (2, 4)


def test_the_nearest_file_that_names_torch_decides(tmp_path: Path) -> None:
    project(tmp_path, pyproject__toml=pyproject("torch>=2.2"))
    inner = tmp_path / "packages" / "one"
    inner.mkdir(parents=True)
    assert Minimums().of(str(inner)).version == (2, 2)
    (inner / "pyproject.toml").write_text(pyproject("numpy"))
    assert Minimums().of(str(inner)).version == (2, 2)
    (inner / "requirements.txt").write_text("torch>=2.7")
    assert Minimums().of(str(inner)).version == (2, 7)


def test_the_search_ends_at_the_root_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch>=2.2")
    inner = tmp_path / "repository"
    (inner / ".git").mkdir(parents=True)
    assert Minimums().of(str(inner)) == Minimum(versions.OLDEST)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pyproject.toml", b"torch = "),
        ("pyproject.toml", b"torch = " + b"[" * 100_000),
        ("pyproject.toml", b"project = 'torch'\ntool = ['torch']\n"),
        ("pyproject.toml", b"[project]\ndependencies = {torch = 1}\noptional-dependencies = ['torch']\n"),
        ("pyproject.toml", b"[tool.poetry]\ndependencies = {torch = 2}\ngroup = {a = 'torch'}\n"),
        ("setup.cfg", b"torch without a section"),
        ("setup.py", b"install_requires = ['torch>=2.4'"),
        ("setup.py", b"x = " + b"(" * 100_000 + b" 'torch>=2.4'"),
        ("setup.py", b"\0 torch"),
        ("requirements.txt", b"\xff\xfet\0o\0r\0c\0h\0torch"),
        ("requirements.txt", b"#" * kinds.MAX_METADATA_BYTES + b"\ntorch>=2.4\n"),
    ],
)
def test_metadata_that_cannot_be_used_is_passed_over(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_bytes(content)
    assert Minimums().of(str(tmp_path)) == Minimum(versions.OLDEST)


def test_places_are_shown_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, requirements__txt="torch>=2.4\n")
    monkeypatch.chdir(tmp_path)
    assert Minimums().of(".").source == "requirements.txt:1"
