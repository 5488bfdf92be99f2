"""The files in languages other than Python that may embed torch's runtime, recognized by their names and content."""

from __future__ import annotations

import os
import re
from functools import cache

from torchmigrate.prefilter import project_file_kinds

_NAMES = (
    (r"CMakeLists\.txt|.*\.cmake", "cmake"),
    (r".*\.(?:cc|cpp|cxx|c\+\+|cu|cuh|h|hh|hpp|hxx|inl|ipp|mm)", "cpp"),
    (r".*\.java", "java"),
    (r".*\.gradle(?:\.kts)?", "gradle"),
    (r".*\.kts?", "kotlin"),
    (r".*\.swift", "swift"),
    (r".*\.rs", "rust"),
    (r".*\.cs", "csharp"),
    (r".*\.go", "go"),
    (r".*\.versions\.toml", "catalog"),
    (r"Cargo\.toml", "cargo"),
    (r"pom\.xml", "maven"),
    (r".*\.(?:cs|fs|vb)proj|Directory\.(?:Packages|Build)\.props|packages\.config", "nuget"),
    (r"Podfile|.*\.podspec", "pods"),
    (r"go\.mod", "gomod"),
    (r".*\.pbtxt", "triton"),
    (r"pubspec\.yaml", "pubspec"),
    (r"package\.json", "npm"),
    (r"vcpkg\.json", "vcpkg"),
    (r"conanfile\.(?:txt|py)", "conan"),
    (r"meson\.build", "meson"),
    (r"xmake\.lua", "xmake"),
    (r"WORKSPACE(?:\.bazel)?|MODULE\.bazel|BUILD(?:\.bazel)?|.*\.bzl", "commands"),
)  # fmt: skip
_COMMANDS = ("docker", "shell", "make", "yaml")
"""The kinds of project files that contain commands."""

_TOKENS = {
    "cmake": rb"Torch|TORCH|libtorch|pytorch_jni",
    "cpp": rb"\bjit\b|torch/(?:script\.h|csrc/jit)|LibTorch"
    rb"|\bAT_(?:CHECK|WARN|INDEX_ERROR|DISPATCH_ALL_TYPES_AND_HALF)\b|\bTHC?/|\bTHC[A-Z]|\.\s*(?:data|packed_accessor)\s*<"
    rb"|\.\s*(?:type|is_variable)\s*\(\s*\)|\bIntList\b",
    "java": rb"org\.pytorch\b",
    "kotlin": rb"org\.pytorch\b",
    "swift": rb"[Tt]orch|\b\w*Module\(",
    "rust": rb"\btch\b|torch_sys",
    "csharp": rb"TorchSharp|\btorch\.jit\b",
    "go": rb"gotch",
    "gradle": rb"pytorch",
    "catalog": rb"pytorch",
    "cargo": rb"\btch\b|torch-sys",
    "maven": rb"pytorch",
    "nuget": rb"TorchSharp|libtorch",
    "pods": rb"LibTorch",
    "gomod": rb"gotch",
    "triton": rb"pytorch",
    "pubspec": rb"pytorch",
    "npm": rb"react-native-pytorch-core",
    "vcpkg": rb"libtorch",
    "conan": rb"libtorch/",
    "meson": rb"[Tt]orch",
    "xmake": rb"libtorch",
    "commands": rb"libtorch|torch-model-archiver",
}
"""Texts, by language, of which a file must contain one to concern any rule."""

MODULES = {
    "cpp": "tree_sitter_cpp",
    "java": "tree_sitter_java",
    "kotlin": "tree_sitter_kotlin",
    "swift": "tree_sitter_swift",
    "rust": "tree_sitter_rust",
    "csharp": "tree_sitter_c_sharp",
    "go": "tree_sitter_go",
}
"""The languages that are read with a grammar, and the modules that have it; see `torchmigrate.foreign.grammars`."""


_HEADERS = re.compile(
    r"(?:^|[/\\])(?:(?:ATen|torch[/\\]csrc|c10[/\\](?:core|cuda|hip|macros|metal|util|xpu))[/\\]"
    r"|(?:include|Headers)[/\\]caffe2[/\\]|torch[/\\](?:script|jit|all|extension|library|custom_class\w*)\.h$"
    r"|[Ll]ib[Tt]orch(?:-Lite)?\.h$)"
)
"""Sources of torch itself, where a project keeps a copy of them."""


def language_of(path: str) -> str | None:
    """Return the language of a file that may embed torch's runtime; None for other files, and for copies of libtorch's
    headers."""
    name = os.path.basename(path)
    if name.endswith(".py") and name != "conanfile.py":
        return None  # most files are; this is only faster
    found = None if _HEADERS.search(path) else _compile_patterns().fullmatch(name)
    if found is not None:
        return found.lastgroup
    return "commands" if project_file_kinds.kind_of(path) in _COMMANDS else None


def path_pattern() -> str:
    """Return a regular expression for the paths of all files that are checked, as `.pre-commit-hooks.yaml` needs it."""
    documents, folders = project_file_kinds.name_patterns()
    names = "|".join([documents, *(pattern for pattern, _ in _NAMES)])
    names = names.replace(".*", "[^/]*").replace(".+", "[^/]+")
    return rf"^(?:.*/)?(?:[^/]*\.(?:pyi?|ipynb)|{names}|(?:{folders})/[^/]*\.(?:txt|in))$"


@cache
def _compile_patterns() -> re.Pattern[str]:
    patterns: dict[str, list[str]] = {}
    for pattern, language in _NAMES:
        patterns.setdefault(language, []).append(pattern)
    return re.compile("|".join(f"(?P<{name}>{'|'.join(those)})" for name, those in patterns.items()))


def may_concern_rules(language: str, data: bytes) -> bool:
    """Return whether a file in ``language`` with this content can hold anything that a rule looks for."""
    return find_trigger(language, data) is not None


def find_trigger(language: str, data: bytes) -> tuple[int, int] | None:
    """Return the byte offsets of the first text for which a file in ``language`` has to be checked; None if there is none."""
    found = _trigger_pattern(language).search(data)
    return None if found is None or not _TORCH.search(data) else found.span()


_TORCH = re.compile(rb"[Tt]orch|TORCH|\btch\b|gotch|\b\w*Module\(|\b(?:ATen|THC?|c10)/")


@cache
def _trigger_pattern(language: str) -> re.Pattern[bytes]:
    return re.compile(_TOKENS[language])
