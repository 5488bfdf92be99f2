"""Files that say what is built with: Gradle, version catalogs, Maven, CocoaPods, Cargo, NuGet, Go modules, CMake, Conan, Meson, xmake, …"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from torchmigrate.foreign.lines import begins_in_string, without_comments
from torchmigrate.foreign.use import ForeignUse
from torchmigrate.model.findings import Span
from torchmigrate.text.source import SourceError

_ARTIFACT = r"pytorch_(?:android|jni)[\w-]*|pytorch_java_only|torchvision_ops"
_GRADLE = re.compile(
    rf"[\"'](?P<whole>org\.pytorch:(?P<artifact>{_ARTIFACT})(?::(?P<version>[^\"'@]*))?(?:@\w+)?)[\"']"
    rf"|(?P<parts>(?:\bgroup\s*[:=]\s*)?[\"']org\.pytorch[\"']\s*,\s*(?:name\s*[:=]\s*)?[\"'](?P<name>{_ARTIFACT})[\"']"
    r"(?:\s*,\s*(?:version\s*[:=]\s*)?[\"'](?P<last>[^\"']*)[\"'])?)"
)
_DJL = "ai.djl.pytorch"
_ENGINE = r"pytorch-(?:engine|model-zoo)"
"""What of DJL a project asks for; the other artifacts are parts of the engine."""
_ASKED = re.compile(
    rf"[\"'](?P<whole>{re.escape(_DJL)}:(?P<artifact>{_ENGINE})(?::(?P<version>[^\"'@:]*))?)[\"']"
)
_FLUTTER = re.compile(
    r"^[ \t]+(?P<whole>(?P<name>(?:flutter_)?pytorch_lite|pytorch_mobile)[ \t]*:[ \t]*[\"']?\^?(?P<version>\d[\w.+-]*)?)",
    re.MULTILINE,
)
_MAVEN = re.compile(r"<dependency>(?P<body>.*?)</dependency>", re.DOTALL)
_NUGET = re.compile(
    r"<(?:PackageReference|PackageVersion|package)\b[^>]*?\b(?:Include|Update|id)\s*=\s*[\"'](?P<name>TorchSharp[\w.-]*|libtorch-[\w.-]+)[\"']"
    r"(?:[^>]*?\b[Vv]ersion\s*=\s*[\"'](?P<version>[^\"']*)[\"'])?"
)
_POD = re.compile(
    r"(?:^\s*pod\s*\(?\s*|\.dependency\s*\(?\s*)(?P<whole>[\"'](?P<name>LibTorch[\w-]*)(?:/\w+)?[\"'](?:\s*,\s*[\"'](?P<version>[^\"']*)[\"'])?)",
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
_ACCESSOR = re.compile(r"(?<![\w.])libs\.[\w.]*?pytorch(?:\.(?!get\b)\w+)*")
_JNI = re.compile(r"(?<![\w./-])pytorch_jni(?:_lite)?(?![\w-])")
_NUMBER = re.compile(r"\d[\w.+-]*")


def coordinate(text: str) -> tuple[str, str] | None:
    """The name and the version of what a string requires, ``org.pytorch:pytorch_android:1.10.0``; None for any other."""
    match = _GRADLE.fullmatch(f"'{text}'")
    if match is None or not match["artifact"]:
        return None
    return f"org.pytorch:{match['artifact']}", _number(match["version"])


def gradle(view: str) -> Iterator[ForeignUse]:
    """Dependencies of a Gradle script, Groovy or Kotlin."""
    for match in _GRADLE.finditer(without_comments("gradle", view)):
        artifact = match["artifact"] or match["name"]
        span = Span(*match.span("whole" if match["whole"] else "parts"))
        yield ForeignUse(f"org.pytorch:{artifact}", span, version=_number(match["version"] or match["last"]))

    for match in _ASKED.finditer(without_comments("gradle", view)):
        name, span = f"{_DJL}:{match['artifact']}", Span(*match.span("whole"))
        yield ForeignUse(name, span, version=_number(match["version"]))
    for match in _ACCESSOR.finditer(without_comments("gradle", view)):  # whose meaning a catalog has
        yield ForeignUse(match[0], Span(*match.span()))
    yield from pods(view, "gradle")  # Kotlin for several platforms


def catalog(view: str) -> Iterator[ForeignUse]:
    """The libraries of a Gradle version catalog. Raises SourceError if it is malformed."""
    data = _toml(view)
    versions = data.get("versions", {})
    libraries = data.get("libraries", {})
    for key, entry in libraries.items() if isinstance(libraries, dict) else ():
        if isinstance(entry, str):
            group, _, rest = entry.partition(":")
            name, _, version = rest.partition(":")
        elif isinstance(entry, dict):
            group, _, name = str(entry.get("module", "")).partition(":")
            group, name = str(entry.get("group", group)), str(entry.get("name", name))
            version = str(_version(entry.get("version"), versions))
        else:
            continue
        if _is_known(group, name):
            yield ForeignUse(
                f"{group}:{name}", _line(view, rf"[\"']?{re.escape(key)}[\"']?\s*="), version=_number(version)
            )


def cargo(view: str) -> Iterator[ForeignUse]:
    """The crates that bind libtorch, in any of the tables of dependencies. Raises SourceError if it is malformed."""
    for table in _dependencies(_toml(view)):
        for key, entry in table.items():
            name = entry.get("package", key) if isinstance(entry, dict) else key
            if name in ("tch", "torch-sys"):
                found = rf"[\"']?{re.escape(key)}[\"']?\s*[=.]|\[[^\]\n]*dependencies\.[\"']?{re.escape(key)}[\"']?\s*\]"
                version = entry.get("version", "") if isinstance(entry, dict) else entry
                yield ForeignUse(f"crate {name}", _line(view, found), version=_number(version))


def _dependencies(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict):
            if key.endswith("dependencies"):
                yield value
            else:
                yield from _dependencies(value)


def _is_known(group: str, artifact: str) -> bool:
    expected = {"org.pytorch": _ARTIFACT, _DJL: _ENGINE}.get(group)
    return expected is not None and re.fullmatch(expected, artifact) is not None


def flutter(view: str) -> Iterator[ForeignUse]:
    """The plugins that a Flutter app depends on."""
    for match in _FLUTTER.finditer(without_comments("pubspec", view)):
        yield ForeignUse(
            f"Flutter {match['name']}", Span(*match.span("whole")), version=_number(match["version"])
        )


def npm(view: str) -> Iterator[ForeignUse]:
    """The packages that a React Native app depends on."""
    for match in _NPM.finditer(view):
        yield ForeignUse(
            "npm react-native-pytorch-core", Span(*match.span()), version=_number(match["version"])
        )


def vcpkg(view: str) -> Iterator[ForeignUse]:
    """The port of libtorch that a manifest of vcpkg requires, by its name or as an object."""
    required = max(0, view.find('"dependencies"'))
    for match in _VCPKG.finditer(view, required):
        yield ForeignUse("vcpkg libtorch", Span(*match.span("whole")))


def conan(view: str) -> Iterator[ForeignUse]:
    """The package of libtorch that a recipe of Conan requires."""
    for match in _CONAN.finditer(without_comments("conan", view)):
        yield ForeignUse("Conan libtorch", Span(*match.span()), version=_number(match["version"]))


def meson(view: str) -> Iterator[ForeignUse]:
    """The dependency on libtorch that a Meson project declares, which Meson finds by CMake's package."""
    for match in _MESON.finditer(without_comments("meson", view)):
        yield ForeignUse("dependency('Torch')", Span(*match.span()), version=_number(match["version"]))


def xmake(view: str) -> Iterator[ForeignUse]:
    """The package of libtorch that an xmake project requires."""
    for match in _XMAKE.finditer(without_comments("xmake", view)):
        yield ForeignUse("xmake libtorch", Span(*match.span("whole")), version=_number(match["version"]))


def maven(view: str) -> Iterator[ForeignUse]:
    """The dependencies of a Maven project."""
    for match in _MAVEN.finditer(without_comments("maven", view)):
        values = dict(re.findall(r"<(groupId|artifactId|version)>\s*([^<]*?)\s*</", match["body"]))
        group, artifact = values.get("groupId", ""), values.get("artifactId", "")
        if _is_known(group, artifact):
            start = match.start("body") + match["body"].index(artifact)
            yield ForeignUse(
                f"{group}:{artifact}",
                Span(start, start + len(artifact)),
                version=_number(values.get("version")),
            )


def nuget(view: str) -> Iterator[ForeignUse]:
    """The packages of a .NET project."""
    for match in _NUGET.finditer(without_comments("nuget", view)):
        yield ForeignUse(
            f"NuGet {match['name']}", Span(*match.span("name")), version=_number(match["version"])
        )


def pods(view: str, language: str = "pods") -> Iterator[ForeignUse]:
    """The pods of a Podfile or a podspec."""
    for match in _POD.finditer(without_comments(language, view)):
        yield ForeignUse(match["name"], Span(*match.span("whole")), version=_number(match["version"]))


def gomod(view: str) -> Iterator[ForeignUse]:
    """The modules that a Go module requires."""
    for match in _GO.finditer(without_comments("gomod", view)):
        yield ForeignUse("module gotch", Span(*match.span()), version=match["version"])


def cmake(view: str) -> Iterator[ForeignUse]:
    """The packages that a CMake project finds."""
    text = without_comments("cmake", view)
    for match in _CMAKE.finditer(text):
        if begins_in_string("cmake", text, match.start()):
            continue
        yield ForeignUse("find_package(Torch)", Span(*match.span()), version=match["version"] or "")
    for match in _JNI.finditer(text):
        yield ForeignUse(f"library {match[0]}", Span(*match.span()))


def _number(text: object) -> str:
    found = _NUMBER.search(str(text or ""))
    return "" if found is None or "$" in str(text) else found[0]


def _version(entry: object, versions: object) -> object:
    """A version as a catalog gives it, directly or by reference."""
    if isinstance(entry, dict):
        if "ref" in entry and isinstance(versions, dict):
            return _version(versions.get(str(entry["ref"])), {})
        return next((entry[kind] for kind in ("strictly", "require", "prefer") if kind in entry), "")
    return entry


def _toml(view: str) -> dict[str, Any]:
    from torchmigrate.text.toml import toml_loads

    try:
        return toml_loads(view.encode("latin-1").decode())
    except ValueError as error:
        raise SourceError(f"malformed TOML: {error}") from None


def _line(view: str, begin: str) -> Span:
    """The line that begins with an expression, without the spaces and the comment around it."""
    found = re.search(rf"^[ \t]*(?P<line>(?:{begin})[^\n]*)", without_comments("cargo", view), re.MULTILINE)
    if found is None:
        return Span(0, 0)
    return Span(found.start("line"), found.start("line") + len(found["line"].rstrip()))
