"""Files in other languages in a run: without their grammars, with suppression comments, in any encoding, beside Python."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support import settings_of
from tools.read_headers import find_lost
from torchmigrate.cli.commands import cli
from torchmigrate.engine.foreign_file import ForeignFile
from torchmigrate.engine.registry import load_rules
from torchmigrate.engine.rule_set import RuleSet
from torchmigrate.foreign import grammars
from torchmigrate.foreign.foreign_readers import read_contents
from torchmigrate.foreign.foreign_source import ForeignSource
from torchmigrate.foreign.foreign_use import UNREAD
from torchmigrate.model.findings import Edit, FileResult
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.prefilter.foreign_languages import MODULES, language_of
from torchmigrate.project.file_search import InputFile
from torchmigrate.project.project_facts import Project
from torchmigrate.run import fingerprint, runner
from torchmigrate.run.cache import Cache
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree
from torchmigrate.run.unread import CODE
from torchmigrate.text.text_edits import VerifyError
from torchmigrate.text.toml_reader import parse_toml

GRAMMARS = pytest.mark.skipif(find_spec("tree_sitter_cpp") is None, reason="the grammars are not installed")

LOAD = b'auto module = torch::jit::load("net.pt");\n'
KOTLIN = b'import org.pytorch.Module\nval module = Module.load("net.pt")\n'


def checked(
    root: Path, files: dict[str, bytes], *flags: str, others: tuple[str, ...] = (), cache: Cache | None = None
) -> list[FileResult]:
    """What is said of these files, of which ``others`` are not named."""
    settings, minimum = settings_of(flags)
    for name, data in files.items():
        (root / name).write_bytes(data)
    inputs = [InputFile(str(root / name)) for name in files if name not in others]
    beside = [InputFile(str(root / name)) for name in others]
    tree = Tree(inputs, create_uniform_profile(settings, minimum), beside, str(root))
    return list(runner.check_tree(tree, cache=cache))


def said(results: list[FileResult]) -> list[tuple[str, str]]:
    """The code and the file's name of each finding."""
    assert not [error for result in results for error in result.errors]
    return [(one.code, Path(one.path).name) for result in results for one in result.findings]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No grammar is installed."""
    monkeypatch.setattr(grammars, "_load_parser", lambda language: None)


@GRAMMARS
def test_the_grammars_are_part_of_what_results_depend_on() -> None:
    assert any("tree_sitter_cpp" in line for line in grammars.describe_installed())


def test_a_commented_dependency_is_none() -> None:
    line = b'implementation("ai.djl.pytorch:pytorch-engine:0.20.0")\n'
    assert read_contents("build.gradle", b"dependencies {\n " + line + b"}\n").uses
    assert not read_contents("build.gradle", b"dependencies {\n // " + line + b"}\n").uses


def test_a_manifest_of_vcpkg_without_dependencies(tmp_path: Path) -> None:
    assert said(checked(tmp_path, {"vcpkg.json": b'{"overrides": [{"name": "libtorch"}]}\n'})) == []


@GRAMMARS
def test_the_file_of_a_swift_class_is_the_one_that_is_given() -> None:
    text = b'let other = "b.pt"\nlet module = Bridge(fileAtPath: "a.pt")\n'
    uses = read_contents("a.swift", b"import LibTorch\n" + text).uses
    assert [(use.name, use.file, use.calls) for use in uses] == [
        ("import LibTorch", "", True),
        ("class Bridge", "a.pt", True),
    ]


@GRAMMARS
def test_a_verbatim_string_names_the_file() -> None:
    text = b'using TorchSharp;\nvar module = torch.jit.load(@"net.pt");\n'
    assert [name for name, _ in read_contents("a.cs", text).files] == ["net.pt"]


@pytest.mark.usefixtures("bare")
def test_what_cannot_be_read_is_said_once(tmp_path: Path) -> None:
    files = {
        "a.cpp": LOAD,
        "b.cpp": LOAD,
        "c.kt": KOTLIN,
        "d.cpp": b"int main() {}\n",
        "Podfile": b"pod 'LibTorch'\n",
    }
    results = checked(tmp_path, files, others=("a.cpp",))
    assert said(results) == [("ER600", "b.cpp"), ("ER614", "Podfile")]
    [finding] = [one for result in results for one in result.findings if one.code == CODE]
    expected = "1 C++ file, 1 Kotlin file may use TorchScript, but could not be read without a grammar"
    assert finding.message == expected
    assert "torchmigrate[embedded]" in (finding.hint or "")


@pytest.mark.usefixtures("bare")
def test_one_file_that_cannot_be_read_is_said_of_itself(tmp_path: Path) -> None:
    results = checked(tmp_path, {"a.cpp": LOAD})
    [finding] = [one for result in results for one in result.findings]
    assert finding.message == "1 C++ file may use TorchScript, but could not be read without a grammar"
    assert finding.span is not None
    assert LOAD[finding.span.start : finding.span.end] == b"jit"


@pytest.mark.parametrize(
    "command", [["check"], ["check", "--output-format", "json"], ["fix"], ["fix", "--apply"]]
)
def test_a_run_warns_of_files_whose_grammar_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    parser = grammars._load_parser
    monkeypatch.setattr(
        grammars, "_load_parser", lambda one: None if one in ("kotlin", "go") else parser(one)
    )
    for name, data in {
        "a.kt": KOTLIN,
        "b.kt": KOTLIN,
        "c.go": b'import "github.com/sugarme/gotch/ts"\n',
        "d.java": b"import org.pytorch.Module;\n",
        "e.kt": b"fun main() {}\n",
    }.items():
        (tmp_path / name).write_bytes(data)
    done = CliRunner().invoke(cli, [*command, "--no-cache", str(tmp_path)], standalone_mode=False)
    warning = (
        "warning: 2 Kotlin files, 1 Go file may use TorchScript, but could not be read without a grammar"
    )
    assert f"{warning}; run `pip install 'torchmigrate[embedded]'` to read them" in done.stderr
    assert "ER600" in done.stdout or command == ["fix"]


def test_no_grammar_is_missing_in_a_default_installation() -> None:
    project = parse_toml((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert any(one.startswith("tree-sitter-cpp") for one in project["dependencies"])
    extra = project["optional-dependencies"]["embedded"]
    listed = {re.split(r"[>=]", one)[0].replace("-", "_") for one in (*project["dependencies"], *extra)}
    assert set(MODULES.values()) <= listed


def test_the_code_of_what_cannot_be_read_is_that_of_its_rule() -> None:
    assert load_rules()[CODE].foreign == (UNREAD,)


def test_results_depend_on_the_grammars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint.compute_fingerprint.__wrapped__()
    monkeypatch.setattr(grammars, "describe_installed", lambda: iter(["another grammar"]))
    assert fingerprint.compute_fingerprint.__wrapped__() != before


@GRAMMARS
def test_a_second_run_finds_the_same(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    cache = Cache(str(tmp_path / "kept"))
    files = {"a.cpp": LOAD, "CMakeLists.txt": b"find_package(Torch)\n"}
    first = said(checked(tmp_path / "p", files, cache=cache))
    assert first == [("ER601", "a.cpp"), ("ER611", "CMakeLists.txt")]
    assert said(checked(tmp_path / "p", files, cache=cache)) == first
    cache.close()


@GRAMMARS
@pytest.mark.parametrize(
    "text",
    [
        b"// \xc4\xe3\xba\xc3\n" + LOAD,  # a comment in GBK
        b"\xef\xbb\xbf" + LOAD,
        LOAD.replace(b"\n", b"\r\n"),
        b"int x = {{{;\n" + LOAD,
        b"#if A\nvoid f() {\n#else\nvoid f(int x) {\n#endif\n" + LOAD + b"}\n",
    ],
)
def test_any_source_is_read(tmp_path: Path, text: bytes) -> None:
    assert said(checked(tmp_path, {"a.cc": text})) == [("ER601", "a.cc")]


@GRAMMARS
def test_comments_silence(tmp_path: Path) -> None:
    files = {
        "a.cpp": b"// torchmigrate: ignore-file ER6 -- waits for the server\n" + LOAD,
        "b.kt": KOTLIN.replace(b"\n", b"  // torchmigrate: ignore ER622\n", 1),
        "c.gradle": b"implementation 'org.pytorch:pytorch_android:1.10' /* torchmigrate: ignore ER613 */\n",
        "pom.xml": b"<dependency><groupId>org.pytorch</groupId><artifactId>pytorch_android</artifactId></dependency>"
        b"<!-- torchmigrate: ignore ER613 -->\n",
        "d.cpp": b"// torchmigrate: ignore ER6\nint x;\n" + LOAD,
    }
    assert said(checked(tmp_path, files)) == [("ER621", "b.kt"), ("XX001", "d.cpp"), ("ER601", "d.cpp")]


@GRAMMARS
def test_python_is_asked_where_only_the_family_is_selected(tmp_path: Path) -> None:
    export = b'import torch\n\ntorch.jit.trace(m, x).save("out/net.pt")\n'
    results = checked(tmp_path, {"export.py": export, "a.cpp": LOAD}, "--select", "ER")
    [finding] = [one for result in results for one in result.findings]
    assert finding.message.endswith(f"`net.pt` is written at {tmp_path}/export.py:3")


@GRAMMARS
def test_no_other_rule_takes_a_use_whose_rule_is_not_selected(tmp_path: Path) -> None:
    files = {"a.cpp": LOAD, "CMakeLists.txt": b"find_package(Torch REQUIRED)\n"}
    linked = [("ER611", "CMakeLists.txt")]
    assert said(checked(tmp_path, files, "--select", "ER602")) == []
    assert said(checked(tmp_path, files, "--select", "ER", "--ignore", "ER601")) == linked
    assert said(checked(tmp_path, files, "--select", "ER611")) == linked


@GRAMMARS
def test_one_finding_names_all_its_lines(tmp_path: Path) -> None:
    silenced = LOAD + LOAD.replace(b";", b";  // torchmigrate: ignore ER601", 1) + LOAD
    (result,) = checked(tmp_path, {"a.cpp": LOAD * 9})
    assert [one.message.rpartition("; ")[2] for one in result.findings] == [
        "also in lines 2, 3, 4, 5, 6, 7 and 2 more"
    ]
    (result,) = checked(tmp_path, {"a.cpp": silenced})
    assert [one.message.rpartition("; ")[2] for one in result.findings] == ["also in line 3"]


@GRAMMARS
def test_a_comment_that_goes_is_proved(tmp_path: Path) -> None:
    text = b"int x;  // torchmigrate: ignore ER601\n" + LOAD
    (tmp_path / "a.cpp").write_bytes(text)
    settings, minimum = settings_of([])
    [fixed] = runner.fix_tree(
        Tree(
            [InputFile(str(tmp_path / "a.cpp"))],
            create_uniform_profile(settings, minimum),
            root=str(tmp_path),
        )
    )
    assert fixed.after == b"int x;\n" + LOAD


@GRAMMARS
def test_offsets_are_those_of_the_text() -> None:
    text = '/* größer */ auto m = torch::jit::load("ü.pt");\n'.encode()
    [use] = ForeignSource.decode_source("a.cpp", text).contents.uses
    assert text[use.span.start : use.span.end] == b"torch::jit::load"


@GRAMMARS
class TestHeaders:
    """What a C++ source has from a header of the project."""

    ALIASES = b"""
        namespace rt = torch::jit;
        namespace app { using Module = torch::jit::script::Module; using torch::jit::load; }
    """

    @pytest.mark.parametrize(
        ("source", "codes"),
        [
            (b'#include "x/names.h"\nrt::Module m = rt::load(p);', ["ER602", "ER601"]),
            (b"#include <names.h>\nnamespace app { Module m(load(p)); }", ["ER602", "ER601"]),
            (b'#include "all.h"\napp::Module m;', ["ER602"]),
            (b'#include "names.h"\nModule m = load(p); other::load(p); n.load(p);', []),
            (b'#include "names.h"\nnamespace app { int load(int); struct S { void load(int); }; }', []),
            (b'#include "names.h"\n// rt::load(p)\nconst char* s = "rt::load";', []),
            (b'#include "other/names.h"\nrt::Module m = rt::load(p);', []),
            (b"rt::Module m = rt::load(p);", []),
        ],
    )
    def test_aliases_are_followed(self, tmp_path: Path, source: bytes, codes: list[str]) -> None:
        (tmp_path / "x").mkdir()
        files = {"x/names.h": self.ALIASES, "all.h": b'#include "x/names.h"\n', "a.cpp": source}
        found = said(checked(tmp_path, files, others=("x/names.h",)))
        assert found == [(code, "a.cpp") for code in codes]

    @pytest.mark.parametrize(
        ("source", "codes"),
        [
            (b"Module m = load(p);", ["ER602", "ER601"]),
            (b"namespace app { script::Module m; }", ["ER602"]),
            (b"namespace app { Module m; Graph g; }", []),  # they may be the namespace's own
        ],
    )
    def test_everything_of_a_namespace(self, tmp_path: Path, source: bytes, codes: list[str]) -> None:
        files = {"names.h": b"using namespace torch::jit;\n", "a.cpp": b'#include "names.h"\n' + source}
        assert said(checked(tmp_path, files)) == [(code, "a.cpp") for code in codes]

    def test_a_later_run_follows_what_has_changed(self, tmp_path: Path) -> None:
        cache = Cache(str(tmp_path / "cache"))
        files = {"names.h": self.ALIASES, "a.cpp": b'#include "names.h"\nint x;\n'}
        assert said(checked(tmp_path, files, others=("names.h",), cache=cache)) == []
        files["a.cpp"] = b'#include "names.h"\nauto m = rt::load(p);\n'
        assert said(checked(tmp_path, files, others=("names.h",), cache=cache)) == [("ER601", "a.cpp")]
        assert said(checked(tmp_path, files, others=("names.h",), cache=cache)) == [("ER601", "a.cpp")]
        files["names.h"] = b"namespace rt = mine;\n"
        assert said(checked(tmp_path, files, others=("names.h",), cache=cache)) == []


@GRAMMARS
def test_a_typedef_names_its_last_word(tmp_path: Path) -> None:
    text = b"typedef torch::jit::Module Net;\nvoid f() {\n  int Module;\n  Net net;\n}\n"
    (result,) = checked(tmp_path, {"a.cpp": text})
    [finding] = result.findings
    assert finding.location is not None
    assert finding.location.line == 1
    assert finding.message.endswith("; also in line 4")


def test_lost_headers_are_those_that_the_newest_release_lacks() -> None:
    releases = {
        (1, 0): {"THC/THC.h", "ATen/ATen.h"},
        (1, 1): {"ATen/ATen.h", "ATen/Old.h"},
        (1, 2): {"ATen/ATen.h"},
    }
    assert find_lost(releases) == {"1.0": ["THC/THC.h"], "1.1": ["ATen/Old.h"]}


@pytest.mark.parametrize(
    "path",
    [
        "third_party/pytorch/torch/csrc/api/a.cpp",
        "vendor/ATen/ATen.h",
        "c10/util/Exception.h",
        "x/include/torch/script.h",
    ],
)
def test_copies_of_torch_are_not_read(path: str) -> None:
    assert language_of(path) is None


@GRAMMARS
def test_a_fix_that_touches_other_names_is_refused() -> None:
    source = b"#include <torch/extension.h>\nvoid f(at::Tensor x) { AT_CHECK(x.data<int>()); }\n"
    file = ForeignFile(
        ForeignSource.decode_source("a.cpp", source), RuleSet([], RuleOptions((2, 15), (2, 0))), Project()
    )
    start = source.index(b"AT_CHECK")
    kept = file.apply_edits([Edit(start, start + 8, "TORCH_CHECK")])
    assert b"TORCH_CHECK(x.data<int>())" in kept.source.text
    with pytest.raises(VerifyError):
        file.apply_edits([Edit(start, start + 8, "f(x.type().is_cuda()), TORCH_CHECK")])
