"""Required packages in build files: Gradle, version catalogs, Maven, CocoaPods, Cargo, NuGet, Go modules, CMake, Conan, …"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from torchmigrate.foreign.comment_styles import blank_comments, is_in_string
from torchmigrate.foreign.foreign_use import FORKED_PACKAGE, FORKED_POD, ForeignUse
from torchmigrate.model.findings import Span
from torchmigrate.text.source_text import SourceError

_ARTIFACT = r"pytorch_(?:android|jni)[\w-]*|pytorch_java_only|torchvision_ops"
_GROUP = r"(?:[\w-]+\.)+pytorch"
"""The group of PyTorch Mobile's packages, and those of forks, which keep the artifacts' names."""
_LITE = r"pytorch_android(?:_torchvision)?_lite"
"""The artifacts whose names no other package has, so that one of any group is a fork."""
_GRADLE = re.compile(
    rf"[\"'](?P<whole>(?P<group>{_GROUP}|[\w.-]+(?=:{_LITE}\b)):(?P<artifact>{_ARTIFACT})(?::(?P<version>[^\"'@]*))?(?:@\w+)?)[\"']"
    rf"|(?P<parts>(?:\bgroup\s*[:=]\s*)?[\"']org\.pytorch[\"']\s*,\s*(?:name\s*[:=]\s*)?[\"'](?P<name>{_ARTIFACT})[\"']"
    r"(?:\s*,\s*(?:version\s*[:=]\s*)?[\"'](?P<last>[^\"']*)[\"'])?)"
)
_DJL = "ai.djl.pytorch"
_ENGINE = r"pytorch-(?:engine|model-zoo)"
"""The artifacts of DJL that projects require directly; the others are parts of the engine."""
_DJL_GRADLE = re.compile(
    rf"[\"'](?P<whole>{re.escape(_DJL)}:(?P<artifact>{_ENGINE})(?::(?P<version>[^\"'@:]*))?)[\"']"
)
_FLUTTER = re.compile(
    r"^[ \t]+(?P<whole>(?P<name>(?:flutter_)?pytorch_lite|pytorch_mobile)[ \t]*:[ \t]*[\"']?\^?(?P<version>\d[\w.+-]*)?)",
    re.MULTILINE,
)
_MAVEN = re.compile(r"<dependency>(?P<body>.*?)</dependency>", re.DOTALL)
_NUGET = re.compile(
    r"<(?:PackageReference|PackageVersion|package)\b[^>]*?\b(?:Include|Update|id)\s*=\s*[\"'](?P<whole>(?P<name>TorchSharp[\w.-]*|libtorch-[\w.-]+))[\"']"
    r"(?:[^>]*?\b[Vv]ersion\s*=\s*[\"'](?P<version>[^\"']*)[\"'])?"
)
_POD = re.compile(
    r"(?:^\s*pod\s*\(?\s*|\.dependency\s*\(?\s*)(?P<whole>[\"'](?P<name>LibTorch[\w-]*|\w+LibTorch(?:-Lite)?(?:-Nightly)?)(?:/\w+)?[\"'](?:\s*,\s*[\"'](?P<version>[^\"']*)[\"'])?)",
    re.MULTILINE,
)
_GO = re.compile(r"(?P<name>github\.com/[\w-]+/gotch)\s+v(?P<version>[\w.+-]+)")
_CMAKE = re.compile(r"\bfind_package\s*\(\s*Torch\b(?:\s+(?P<version>\d[\w.]*))?[^)]*\)", re.IGNORECASE)
_NPM = re.compile(r"[\"']react-native-pytorch-core[\"']\s*:\s*[\"'](?P<version>[^\"']*)[\"']")
_VCPKG = re.compile(r"(?:[{,\[]|\"name\"\s*:)\s*(?P<whole>\"libtorch(?:\[[\w, -]*\])?\")(?!\s*:)")
_CONAN = re.compile(r"(?<![\w./-])libtorch/(?P<version>\d[\w.+-]*|\[[^\]\n]*\])")
_MESON = re.compile(
    r"\bdependency\s*\(\s*'(?:Torch|libtorch)'(?:[^()]*?\bversion\s*:\s*'(?P<version>[^']*)')?[^()]*\)"
)
_XMAKE = re.compile(
    r"\badd_requires\s*\([^()]*?[\"'](?P<whole>(?:\w+::)?(?:libtorch(?:-bin)?|Torch)(?:[ /]+(?P<version>[^\"']+))?)[\"']"
)
_ACCESSOR = re.compile(r"(?<![\w.])(?P<whole>libs\.[\w.]*?pytorch(?:\.(?!get\b)\w+)*)")
_JNI = re.compile(r"(?<![\w./-])(?P<whole>pytorch_jni(?:_lite)?)(?![\w-])")
_NUMBER = re.compile(r"\d[\w.+-]*")


_PACKAGES = {
    "pubspec": (_FLUTTER, "Flutter {name}"),
    "npm": (_NPM, "npm react-native-pytorch-core"),
    "vcpkg": (_VCPKG, "vcpkg libtorch"),
    "conan": (_CONAN, "Conan libtorch"),
    "meson": (_MESON, "dependency('Torch')"),  # which Meson finds by CMake's package
    "xmake": (_XMAKE, "xmake libtorch"),
    "nuget": (_NUGET, "NuGet {name}"),
    "pods": (_POD, "{name}"),
    "gomod": (_GO, "module gotch"),
    "djl": (_DJL_GRADLE, "ai.djl.pytorch:{artifact}"),
    "accessor": (_ACCESSOR, "{whole}"),  # whose meaning is written in a version catalog, another file
    "jni": (_JNI, "library {whole}"),
}
"""The patterns of required packages by language or kind of reference, each with a name for the use that the pattern's groups fill in."""


def find_packages(language: str, view: str, patterns: str = "") -> Iterator[ForeignUse]:
    """Find the packages that a file requires, by the patterns of its language or of another one."""
    pattern, name = _PACKAGES[patterns or language]
    # Before its dependencies, a manifest of vcpkg describes itself and may be called libtorch.
    start = view.find('"dependencies"') if language == "vcpkg" else 0
    for match in pattern.finditer(blank_comments(language, view), start):
        groups = match.groupdict()
        span = Span(*match.span("whole" if "whole" in groups else 0))
        fork = "" if language != "pods" or groups["name"].startswith("LibTorch") else FORKED_POD
        yield ForeignUse(
            f"{fork}{name.format_map(groups)}", span, version=_parse_version(groups.get("version"))
        )


def parse_coordinate(text: str) -> tuple[str, str] | None:
    """Return the name and the version that a Maven coordinate like ``org.pytorch:pytorch_android:1.10.0`` requires."""
    match = _GRADLE.fullmatch(f"'{text}'")
    if match is None or not match["artifact"]:
        return None
    return _name_artifact(match["group"], match["artifact"]), _parse_version(match["version"])


def find_gradle_packages(view: str) -> Iterator[ForeignUse]:
    """Find the dependencies of a Gradle script in Groovy or Kotlin."""
    for match in _GRADLE.finditer(blank_comments("gradle", view)):
        name = _name_artifact(match["group"] or "org.pytorch", match["artifact"] or match["name"])
        span = Span(*match.span("whole" if match["whole"] else "parts"))
        yield ForeignUse(name, span, version=_parse_version(match["version"] or match["last"]))
    # Kotlin Multiplatform declares pods in its Gradle script.
    for patterns in ("djl", "accessor", "pods"):
        yield from find_packages("gradle", view, patterns)


def find_catalog_packages(view: str) -> Iterator[ForeignUse]:
    """Find the libraries of a Gradle version catalog. Raises SourceError if the file is malformed."""
    data = _load_toml(view)
    versions = data.get("versions", {})
    libraries = data.get("libraries", {})
    for key, entry in libraries.items() if isinstance(libraries, dict) else ():
        if isinstance(entry, str):
            group, _, rest = entry.partition(":")
            name, _, version = rest.partition(":")
        elif isinstance(entry, dict):
            group, _, name = str(entry.get("module", "")).partition(":")
            group, name = str(entry.get("group", group)), str(entry.get("name", name))
            version = str(_resolve_version(entry.get("version"), versions))
        else:
            continue
        if _is_known_artifact(group, name):
            yield ForeignUse(
                _name_artifact(group, name),
                _find_line(view, rf"[\"']?{re.escape(key)}[\"']?\s*="),
                version=_parse_version(version),
            )


def find_crates(view: str) -> Iterator[ForeignUse]:
    """Find the crates that bind libtorch, in all tables of dependencies. Raises SourceError if the file is malformed."""
    for table in _find_dependency_tables(_load_toml(view)):
        for key, entry in table.items():
            name = entry.get("package", key) if isinstance(entry, dict) else key
            if name in ("tch", "torch-sys"):
                found = rf"[\"']?{re.escape(key)}[\"']?\s*[=.]|\[[^\]\n]*dependencies\.[\"']?{re.escape(key)}[\"']?\s*\]"
                version = entry.get("version", "") if isinstance(entry, dict) else entry
                yield ForeignUse(f"crate {name}", _find_line(view, found), version=_parse_version(version))


def _find_dependency_tables(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict):
            if key.endswith("dependencies"):
                yield value
            else:
                yield from _find_dependency_tables(value)


def _is_known_artifact(group: str, artifact: str) -> bool:
    if group == _DJL:
        return re.fullmatch(_ENGINE, artifact) is not None
    is_ours = re.fullmatch(_GROUP, group) or re.fullmatch(_LITE, artifact)
    return bool(is_ours and re.fullmatch(_ARTIFACT, artifact))


def _name_artifact(group: str, artifact: str) -> str:
    fork = "" if group in ("org.pytorch", _DJL) else FORKED_PACKAGE
    return f"{fork}{group}:{artifact}"


def find_maven_packages(view: str) -> Iterator[ForeignUse]:
    """Find the dependencies of a Maven project."""
    for match in _MAVEN.finditer(blank_comments("maven", view)):
        values = dict(re.findall(r"<(groupId|artifactId|version)>\s*([^<]*?)\s*</", match["body"]))
        group, artifact = values.get("groupId", ""), values.get("artifactId", "")
        if _is_known_artifact(group, artifact):
            start = match.start("body") + match["body"].index(artifact)
            yield ForeignUse(
                _name_artifact(group, artifact),
                Span(start, start + len(artifact)),
                version=_parse_version(values.get("version")),
            )


def find_cmake_packages(view: str) -> Iterator[ForeignUse]:
    """Find the packages that a CMake project requires."""
    text = blank_comments("cmake", view)
    for match in _CMAKE.finditer(text):
        if is_in_string("cmake", text, match.start()):
            continue
        yield ForeignUse("find_package(Torch)", Span(*match.span()), version=match["version"] or "")
    yield from find_packages("cmake", view, "jni")


def _parse_version(text: object) -> str:
    found = _NUMBER.search(str(text or ""))
    return "" if found is None or "$" in str(text) else found[0]


def _resolve_version(entry: object, versions: object) -> object:
    """Return a version of a catalog, which is given directly or by reference."""
    if isinstance(entry, dict):
        if "ref" in entry and isinstance(versions, dict):
            return _resolve_version(versions.get(str(entry["ref"])), {})
        return next((entry[kind] for kind in ("strictly", "require", "prefer") if kind in entry), "")
    return entry


def _load_toml(view: str) -> dict[str, Any]:
    from torchmigrate.text.toml_reader import parse_toml

    try:
        return parse_toml(view.encode("latin-1").decode())
    except ValueError as error:
        raise SourceError(f"malformed TOML: {error}") from None


def _find_line(view: str, begin: str) -> Span:
    """Return the line that begins with an expression, without surrounding spaces and comment."""
    found = re.search(rf"^[ \t]*(?P<line>(?:{begin})[^\n]*)", blank_comments("cargo", view), re.MULTILINE)
    if found is None:
        return Span(0, 0)
    return Span(found.start("line"), found.start("line") + len(found["line"].rstrip()))
