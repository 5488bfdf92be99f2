"""Project files: what is read from them, what is left alone, and how they go together with code."""

from __future__ import annotations

import ast
import contextlib
import json
import random
import re
import time
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from click.testing import CliRunner
from hypothesis import given

from tests.support import check_text, fix_text, fixed, settings_of
from torchmigrate.cli.commands import cli
from torchmigrate.documents.document_verification import verify_document
from torchmigrate.documents.expanded_values import expand_variables
from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.documents.references import InstallRole, Reference, VersionStyle
from torchmigrate.documents.toml_files import find_strings
from torchmigrate.model import torch_versions
from torchmigrate.model.findings import Edit, Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.prefilter import foreign_languages
from torchmigrate.prefilter.project_file_kinds import KINDS, find_kind, kind_of, may_concern_rules
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import runner
from torchmigrate.run.cache import Cache
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.selection import RuleSelection
from torchmigrate.run.tree import Tree, is_of_interest
from torchmigrate.tables import build_selection, torch_builds
from torchmigrate.text.source_text import SourceError
from torchmigrate.text.text_edits import VerifyError, apply_edits
from torchmigrate.text.toml_reader import parse_toml

CU128 = "--extra-index-url https://download.pytorch.org/whl/cu128\n"
FIXTURES = Path(__file__).parents[1] / "fixtures" / "cuda_wheels"


def references(text: str, path: str, *sorts: Sort) -> list[Reference]:
    found = ProjectDocument.decode_source(path, text.encode()).references
    return [reference for reference in found if reference.sort in (sorts or Sort)]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("requirements.txt", "requirements"),
        ("requirement.txt", "requirements"),
        ("requirements-dev.txt", "requirements"),
        ("gpu_requirements.txt", "requirements"),
        ("requirements/cuda.txt", "requirements"),
        ("constraints.txt", "requirements"),
        ("docs/notes.txt", None),
        ("pyproject.toml", "toml"),
        ("uv.lock", "lock"),
        ("Dockerfile", "docker"),
        ("Dockerfile.cuda", "docker"),
        ("docker/train.Dockerfile", "docker"),
        (".github/workflows/ci.yml", "yaml"),
        ("environment.yaml", "yaml"),
        ("install.sh", "shell"),
        ("Makefile", "make"),
        ("setup.py", "python"),
        ("train.py", None),
        ("README.md", "markdown"),
        ("README.MD", "markdown"),
        ("Dockerfile.md", "markdown"),
        ("Dockerfile.dockerignore", None),
        ("wandb/run-20220118_174034-2lxvl1qh/files/requirements.txt", None),
        ("a/wandb/offline-run-1/files/conda-environment.yaml", None),
        ("mlruns/0/4a5b/artifacts/model/requirements.txt", None),
        ("wandb/requirements.txt", "requirements"),
    ],
)
def test_project_files_are_told_by_their_names(path: str, kind: str | None) -> None:
    assert kind_of(path) == kind


def test_a_file_without_the_tokens_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(ProjectDocument, "decode_source", fail)
    assert not check_text("numpy==2\n", path="requirements.txt")
    assert not may_concern_rules("toml", b"[project]\nname = 'x'\n")
    assert may_concern_rules("requirements", "--index-url x\r\ntorch".encode("utf-16"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${CUDA}", "12.8.1"),
        ("$CUDA", "12.8.1"),
        ("$(CUDA)", "12.8.1"),
        ("${{ env.CUDA }}", "12.8.1"),
        ("{{ CUDA }}", "12.8.1"),
        ("{env:CUDA}", "12.8.1"),
        ("${CUDA//./}", "1281"),
        ("${CUDA%.*}", "12.8"),
        ("cu$(echo $CUDA | cut -d. -f1,2 | tr -d '.')", "cu128"),
        ("cu$(echo ${CUDA} | cut -d '.' -f 1-2 | sed 's/\\.//g')", "cu128"),
        ("${OTHER:-cu126}", "cu126"),
        ("{env:OTHER:cu124}", "cu124"),
    ],
)
def test_variables_are_followed_to_the_values_in_the_file(text: str, value: str) -> None:
    view = f"CUDA=12.8.1 {text}"
    found = expand_variables(view, Span(12, len(view)), lambda name: [Span(5, 11)] if name == "CUDA" else [])
    assert isinstance(found, list)
    assert [one.text for one in found] == [value]


@pytest.mark.parametrize(
    "text", ["$NO", "${NO}", "${CUDA^^}", "$(nvcc --version)", "${{ matrix.no }}", "<version>"]
)
def test_what_is_not_in_the_file_stays_undecided(text: str) -> None:
    found = expand_variables(text, Span(0, len(text)), lambda name: [])
    assert isinstance(found, str)


def test_variables_that_lead_back_to_themselves_end() -> None:
    text = "A=$B\nB=$A\npip install torch --index-url https://download.pytorch.org/whl/$A\n"
    (index,) = references(text, "a.sh", Sort.INDEX)
    assert index.undecided


TOML = """
a.b = "one" # no "string"
[t."x.y"]
'k' = 'lit' \r
n = [1, 2.0, "s", { z = "in", m = [ 'q' ] }, 1979-05-27T07:32:00Z]
empty = ""
[[list]]
v = "v0"
[list.sub]
w = "w0"
[[list]]
v = '''multi
line'''
u = \"\"\"more \"quotes\" here\"\"\"
"""


def test_every_string_of_a_toml_file_is_found_where_it_stands() -> None:
    def flat(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
        if isinstance(value, str):
            return {path: value}
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        return {key: text for k, v in items for key, text in flat(v, (*path, str(k))).items()}

    found = {path: TOML[span.start : span.end] for path, span in find_strings(TOML)}
    assert found == flat(parse_toml(TOML))


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("requirements.txt", "torch==2.10 numpy\n", "not a requirement"),
        ("requirements.txt", b"torch\xff\n", "not valid UTF-8"),
        ("pyproject.toml", "[project\nname='torch'\n", "not valid TOML"),
        ("uv.lock", "[[package]\nname = 'torch'\n", "not valid TOML"),
        ("setup.cfg", "install_requires = torch\n", "not a valid INI file"),
        ("setup.py", "setup(install_requires=['torch']\n", "never closed"),
        ("run.sh", "pip install torch\0\n", "a null byte"),
    ],
)
def test_a_malformed_file_is_one_error_and_left_alone(path: str, text: str | bytes, message: str) -> None:
    data = text.encode() if isinstance(text, str) else text
    settings, minimum = settings_of(["--unsafe", "--target-version", "2.12", "--select", "CU"])
    (result,) = runner.check_tree(Tree([InputFile(path, data)], create_uniform_profile(settings, minimum)))
    assert [message in error.message for error in result.errors] == [True]
    assert not result.findings
    assert not fixed({path: data}, settings, minimum)[path].applied


YAML_SPELLINGS = [
    "- torch==2.3.1",
    '- "torch==2.3.1"',
    "- 'torch==2.3.1'",
    "- >-\n  torch==2.3.1",
    "- |\n  torch==2.3.1",
    "- &pin torch==2.3.1 # the pin",
    "- {{ extra }}\n- torch==2.3.1",
    "{% if gpu %}\n- torch==2.3.1\n{% endif %}",
]


@pytest.mark.parametrize("spelling", YAML_SPELLINGS)
@pytest.mark.parametrize("head", ["dependencies:\n", "name: x\ndependencies:\n- python=3.10\n- pip:\n  "])
def test_a_pin_is_read_in_every_spelling_of_yaml(head: str, spelling: str) -> None:
    indent = "\n" + head.rpartition("\n")[2]
    text = head + spelling.replace("\n", indent) + "\n"
    (pin,) = [one for one in references(text, "environment.yml", Sort.REQUIREMENT) if one.name == "torch"]
    assert text[pin.span.start : pin.span.end] == "torch==2.3.1"
    assert not pin.unit.environment.unread


@pytest.mark.parametrize(
    "text",
    [
        "dependencies: [python=3.10, torch==2.3.1]\n",
        "dependencies: [\n  python=3.10,\n  torch==2.3.1\n]\n",
        "dependencies:\n- {pip: [torch==2.3.1]}\n",
        "dependencies:\n- pip: ['torch==2.3.1', numpy]\n",
        '{"dependencies": ["python=3.10", {"pip": ["torch==2.3.1"]}]}\n',
        '{\n\t"dependencies": [\n\t\t"torch==2.3.1"\n\t]\n}\n',
        '# été\n"dependencies":\n- torch==2.3.1\n',
        "---\nname: x\n---\ndependencies:\r\n- torch==2.3.1\r\n",
    ],
)
def test_a_pin_is_read_in_brackets_and_json(text: str) -> None:
    (pin,) = [one for one in references(text, "environment.yml", Sort.REQUIREMENT) if one.name == "torch"]
    assert text.encode()[pin.span.start : pin.span.end] == b"torch==2.3.1"


def test_a_key_of_conda_in_another_file_makes_no_conda_file_of_it() -> None:
    text = "build:\n  run:\n  - pip install torch==2.3.1 --index-url https://download.pytorch.org/whl/cu121\n"
    assert [one.sort for one in references(text, "cog.yaml")] == [Sort.REQUIREMENT, Sort.INDEX]
    recipe = "package:\n  name: x\nrequirements:\n  run:\n  - pytorch =2.3\n"
    assert [one.style for one in references(recipe, "meta.yaml")] == [VersionStyle.CONDA]


MATRIX = """
jobs:
  test:
    strategy:
      matrix:
        cuda: ["11.8", "12.1"]
        torch: [2.1.0, 2.2.0]
        include:
          - { version: "2.3.0", index: cu121 }
    steps:
      - uses: setup/cuda@v1
        with: { cuda: "${{ matrix.cuda }}.1" }
      - run: pip install torch==${{ matrix.torch }} --index-url https://download.pytorch.org/whl/cu${CUDA//./}
        env: { CUDA: "${{ matrix.cuda }}" }
      - run: >-
          pip install torch==${{ matrix.version }}
          --index-url https://download.pytorch.org/whl/${{ matrix.index }}
"""


def test_each_value_of_a_matrix_is_read() -> None:
    found = references(MATRIX, ".github/workflows/test.yml", Sort.REQUIREMENT, Sort.INDEX)
    assert not [one for one in found if one.undecided]
    assert [one.text.rpartition("/")[2] for one in found] == [
        "==2.1.0", "==2.2.0", "cu118", "cu121", "==2.3.0", "cu121"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "text", "unread"),
    [
        ("Dockerfile", "FROM python\nRUN pip install torch==2.3.1\nINSTALL torch\n", "INSTALL torch"),
        ("Dockerfile", "odd\nFROM python\nRUN pip install torch==2.3.1\n", ""),
        ("environment.yml", "dependencies:\n- torch==2.3.1\n\t- numpy\n", "- numpy"),
        ("environment.yml", "channels: [a, b\ndependencies:\n- torch==2.3.1\n", "channels: [a, b"),
        ("environment.yml", "name: 'x\ndependencies:\n- torch==2.3.1\n- @b\n", "name: 'x"),
        (
            "environment.yml",
            "<<<<<<< HEAD\ndependencies:\n=======\n- torch==2.3.1\n>>>>>>> a\n",
            "<<<<<<< HEAD",
        ),
        ("ci.yml", "]" * 50 + "\n- run: pip install torch==2.3.1\n", "]" * 50),
        ("ci.yml", ("a: b: c\n" * 50) + "- run: pip install torch==2.3.1\n", ""),
    ],
)
def test_a_malformed_line_hides_nothing_around_it(path: str, text: str, unread: str) -> None:
    (pin,) = [one for one in references(text, path, Sort.REQUIREMENT) if one.name == "torch"]
    assert pin.text == "==2.3.1"
    assert pin.unit.environment.unread == unread


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("Dockerfile.notes", "How to build torch\nand more\n"),
        (
            "requirements.txt",
            "# $ conda create --name x --file this\ntorch=2.15.0=pypi_0\nnonsense here too\n",
        ),
        ("data.yml", '{\n\t"torch": 1\n}\n'),
        ("Dockerfile.j2", "FROM python\n{% if gpu %}\nRUN pip install torch\n{% endif %}\n"),
    ],
)
def test_what_only_has_the_name_of_a_project_file_is_no_error(path: str, text: str) -> None:
    assert not check_text(text, "--select", "CU", "--target-version", "2.12", path=path)


def test_a_lock_file_is_never_edited() -> None:
    text = '[[package]]\nname = "torch"\nversion = "2.10.0"\n'
    (finding,) = check_text(text, "--target-version", "2.12", path="uv.lock")
    assert finding.fix is None
    assert finding.withheld
    assert "lock file" in finding.withheld
    assert fix_text(text, "--target-version", "2.12", "--unsafe", path="uv.lock") == text


def test_entries_of_a_lock_file_with_one_version_are_one_finding() -> None:
    entry = '[[package]]\nname = "torch"\nversion = "2.10.0"\nresolution-markers = ["{}"]\n'
    platforms = ("sys_platform == 'linux'", "sys_platform == 'win32'", "sys_platform == 'darwin'")
    text = "".join(map(entry.format, platforms))
    (finding,) = check_text(text, "--target-version", "2.12", "--select", "CU504", path="uv.lock")
    assert finding.location is not None
    assert finding.location.line == 3


@pytest.mark.parametrize(
    ("pin", "safety"),
    [
        ("torch>=2.12", "safe"),
        ("torch==2.13.0", "safe"),
        ("torch>=2.11", "unsafe"),
        ("torch", "unsafe"),
        ("torch<3,>=2.13", "safe"),
    ],
)
def test_the_fix_of_an_index_is_safe_where_nothing_can_be_installed_from_it(pin: str, safety: str) -> None:
    findings = check_text(f"{CU128}{pin}\n", "--target-version", "2.13", path="requirements.txt")
    (finding,) = [finding for finding in findings if finding.code == "CU501"]
    assert finding.fix is not None
    assert finding.fix.safety.value == safety


def test_an_index_older_than_the_tables_may_well_give_an_old_torch() -> None:
    text = CU128.replace("cu128", "cu113") + "torch>=1.10\n"
    (finding,) = check_text(text, "--target-version", "2.13", path="requirements.txt")
    assert finding.fix is not None
    assert finding.fix.safety.value == "unsafe"


def test_no_fix_touches_a_line_that_is_to_be_left_alone() -> None:
    text = f"# torchmigrate: ignore CU501 -- the mirror\n{CU128}torch==2.10.0\n"
    (finding,) = check_text(text, "--target-version", "2.13", path="requirements.txt")
    assert finding.code == "CU504"
    assert finding.fix is None


def test_what_is_installed_together_changes_together() -> None:
    text = f"{CU128}torch==2.10.0+cu128\ntorchvision==0.25.0+cu128\n"
    findings = check_text(text, "--target-version", "2.12", path="requirements.txt")
    assert len({finding.fix for finding in findings}) == 1
    assert len(findings) == 3


def test_an_edit_that_takes_a_command_apart_is_refused() -> None:
    before = ProjectDocument.decode_source("run.sh", b"pip install torch==2.10 \\\n  torchvision==0.25\n")
    edit = Edit(24, 25, "")  # the continuation
    after = ProjectDocument.decode_source("run.sh", apply_edits(before.text, [edit]))
    with pytest.raises(VerifyError):
        verify_document(before, after, [edit])


def test_several_gpus_of_different_age_leave_one_build() -> None:
    text = CU128 + "torch>=2.12\n"
    flags = ("--target-version", "2.12", "--gpu-architectures")
    assert "whl/cu126" in fix_text(text, *flags, "7.0,9.0", path="requirements.txt")
    assert "whl/cu129" in fix_text(text, *flags, "9.0,12.0", path="requirements.txt")
    (finding,) = check_text(text, *flags, "7.0,12.0", path="requirements.txt")
    assert finding.withheld
    assert "no known build of torch 2.12 has kernels for 7.0, 12.0" in finding.withheld


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text("import torch\n\ntorch.jit.script(f)\n")
    (tmp_path / "requirements.txt").write_text(CU128 + "torch>=2.12\n")
    (tmp_path / "Dockerfile").write_text("FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, [*arguments, "--isolated"], standalone_mode=False)
    return int(result.return_value), result.output


def test_one_run_covers_code_and_project_files(project: Path) -> None:
    status, output = run("check", ".", "--target-version", "2.15", "--output-format", "json", "-q")
    report = json.loads(output)
    codes = {finding["path"]: finding["code"] for finding in report["findings"]}
    assert codes["requirements.txt"] == "CU501"
    assert codes["Dockerfile"] == "CU521"
    assert codes["train.py"].startswith("TS")
    assert status == 1


def test_select_cu_alone_parses_no_python(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(ast, "parse", fail)
    status, output = run(
        "check", ".", "--select", "CU", "--target-version", "2.12", "--output-format", "json", "-q"
    )
    assert {finding["code"][:2] for finding in json.loads(output)["findings"]} == {"CU"}
    assert status == 1


def test_without_a_rule_for_them_project_files_are_not_looked_for(project: Path) -> None:
    settings, _ = settings_of(["--select", "TS"])
    sorts = RuleSelection([settings]).get_file_sorts(Cache(None))
    assert sorts.includes_path("train.py")
    assert not sorts.includes_path("requirements.txt")
    settings, _ = settings_of(["--select", "CU"])
    sorts = RuleSelection([settings]).get_file_sorts(Cache(None))
    assert not sorts.modules
    assert sorts.includes_path("install.py")
    assert not sorts.includes_path("train.pyi")
    assert sorts.includes_path("requirements.txt")


def test_no_broken_project_file_breaks_the_run() -> None:
    choose = random.Random(0)
    settings, minimum = settings_of(["--unsafe", "--target-version", "2.12", "--select", "CU"])
    for path in sorted(FIXTURES.rglob("*")):
        if not path.is_file() or kind_of(str(path)) is None:
            continue
        data = bytearray(path.read_bytes())
        for _ in range(choose.randrange(1, 4)):
            at = choose.randrange(len(data))
            data[at : at + choose.randrange(4)] = choose.choice(
                [b"", b'"', b"$(", b"\\", b"\n", b"{", b"[", b"\xc3", b"'"]
            )
        result = fixed({str(path): bytes(data)}, settings, minimum)[str(path)]
        if result.applied:  # else a second run is the first one
            again = fixed({str(path): result.after}, settings, minimum)[str(path)]
            assert not again.applied, path


def test_utf16_is_written_back_as_it_was() -> None:
    settings, minimum = settings_of(["--target-version", "2.12"])
    data = (CU128 + "torch>=2.12\n").encode("utf-16")
    result = fixed({"requirements.txt": data}, settings, minimum)["requirements.txt"]
    assert result.after == (CU128.replace("cu128", "cu129") + "torch>=2.12\n").encode("utf-16")


def test_a_document_that_cannot_be_decoded_says_so() -> None:
    with pytest.raises(SourceError, match="UTF-16"):
        ProjectDocument.decode_source("requirements.txt", b"\xff\xfet\x00\xd8")


def test_every_fact_about_images_and_packages_has_a_source() -> None:
    images = torch_builds.load_table("images")
    rows = [
        *images["ngc"],
        *images["pytorch"],
        *images["cuda"],
        *torch_builds.load_table("ended"),
        torch_builds.load_table("pytorch_index"),
    ]
    for row in rows:
        assert row["source"]
        assert row["evidence"] in ("wheel", "documented", "named")
    releases = [row["release"] for row in images["ngc"]]
    assert releases == sorted(releases)
    assert [row["torch"] for row in images["ngc"]] == sorted(
        (row["torch"] for row in images["ngc"]),
        key=lambda version: torch_versions.parse_version(version.partition("a")[0]),
    )


@pytest.mark.parametrize(
    ("target", "variant", "published"),
    [
        ((2, 11), "cu128", True),
        ((2, 12), "cu128", False),
        ((2, 14), "cu126", True),
        ((2, 15), "cu126", False),
        ((2, 15), "cu130", None),
        ((2, 12), "cu118", False),
        ((2, 5), "cu118", True),
        ((2, 5), "cu117", False),
        ((2, 3), "cu118", True),
        ((2, 0), "cu121", False),
        ((1, 13), "cu117", None),
        ((2, 13), "cu129", True),
        ((2, 14), "cu129", False),
        ((2, 12), "rocm6.4", False),
        ((2, 9), "rocm6.4", True),
        ((2, 15), "rocm6.4", False),
        ((2, 15), "rocm7.2", None),
        ((2, 12), "cpu", None),
    ],
)
def test_a_build_is_called_missing_only_where_the_table_is_complete(
    target: tuple[int, int], variant: str, published: bool | None
) -> None:
    assert build_selection.is_published(target, variant) is published


@pytest.mark.parametrize(
    ("target", "architectures", "variant"),
    [
        ((2, 12), (), "cu130"),
        ((2, 15), (), "cu132"),
        ((2, 12), ("7.0",), "cu126"),
        ((2, 14), ("6.1", "9.0"), "cu126"),
        ((2, 15), ("7.0",), None),
        ((2, 11), ("12.0",), "cu130"),
        ((2, 10), (), "cu128"),
        ((2, 12), ("7.0", "10.0"), None),
    ],
)
def test_the_build_follows_the_gpus(
    target: tuple[int, int], architectures: tuple[str, ...], variant: str | None
) -> None:
    chosen = build_selection.choose_build(target, architectures)
    assert (chosen and chosen.variant) == variant


@pytest.mark.parametrize(
    "path", ["requirements.txt", "Dockerfile", "ci.yml", "run.sh", "Makefile", "README.md", "setup.cfg"]
)
@pytest.mark.parametrize("shape", [" ", "- ", "a/", "a.b:1/", "$(", "${", "\\\n", "`", "'\"", "a:"])
def test_the_time_to_read_a_line_grows_with_its_length_only(path: str, shape: str) -> None:
    text = f"torch{shape * 20_000}\n".encode()
    begin = time.process_time()
    with contextlib.suppress(SourceError):
        assert ProjectDocument.decode_source(path, text).references is not None
    assert time.process_time() - begin < 10


NAMES = st.sampled_from(
    [
        "requirements",
        "constraints",
        "requirements-dev.txt",
        "dev_requirements.in",
        "pyproject.toml",
        "Dockerfile",
        "Dockerfile.gpu",
        "a.dockerfile",
        "Dockerfile.py",
        "ci.yml",
        "a.sh",
        "Makefile",
        "a.mk",
        "README.md",
        "setup.py",
        "setup.cfg",
        "tox.ini",
        "uv.lock",
        "pylock.x.toml",
        "a.py",
        "a.pyi",
        "a.ipynb",
        "notes.txt",
        "cpu.txt",
        "cu.in",
        "gpu.def",
        "constraint.txt",
        "justfile",
        "a.cpp",
        "a.gradle.kts",
        "Cargo.toml",
        "Podfile",
        "a.podspecs",
        ".py",
        "x.txt.py",
    ]
)


@given(st.lists(NAMES, min_size=1, max_size=4), st.text("a./-_", max_size=3))
def test_hooks_are_given_the_files_that_a_run_over_the_folder_looks_at(names: list[str], prefix: str) -> None:
    path = "/".join([*names[:-1], prefix + names[-1]])
    wanted = is_of_interest(path)
    assert bool(re.search(foreign_languages.path_pattern(), path)) is wanted


def test_every_kind_of_project_file_has_a_fixture() -> None:
    found = {find_kind(path.as_posix()) for path in FIXTURES.parent.rglob("*") if path.is_file()}
    assert not [kind.name for kind in KINDS if kind not in found]


@pytest.mark.parametrize(
    ("place", "role"),
    [
        ("ci/repository/requirements.txt", InstallRole.INSTALL),
        ("ci/repository/ci/requirements.txt", InstallRole.TEST),
    ],
)
def test_folders_above_a_repository_tell_nothing(tmp_path: Path, place: str, role: InstallRole) -> None:
    (tmp_path / "ci" / "repository" / ".git").mkdir(parents=True)
    (reference,) = ProjectDocument.decode_source(tmp_path / place, b"torch==2.9\n").references
    assert reference.unit.role is role
