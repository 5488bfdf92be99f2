"""Leftovers: what the text of an environment still builds or names for another CUDA or an older torch after its edits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.documents import version_mentions
from torchmigrate.documents.references import normalize_name
from torchmigrate.tables.package_requirements import explain_refusal, find_newest
from torchmigrate.tables.torch_builds import TorchBuild, get_major, parse_number

_SOURCE_BUILD = re.compile(
    r"(?:git\+|git clone\s+(?:-\S+\s+(?:[\w.-]+\s+)??)*)[^\s#]*?/(?P<name>[\w.-]+?)(?:\.git)?/?(?=[@#\s\"'&;]|$)"
)
_BUILT_FILE = re.compile(r"[^\s\"'=]+(?<!-none-any)\.whl\b|setup\.py\s+(?:install|develop|bdist_wheel)")
_REPOSITORIES = {
    "flash-attention": "flash-attn",
    "vision": "torchvision",
    "audio": "torchaudio",
    "ao": "torchao",
}


def find_leftover_versions(text: str, chosen: TorchBuild) -> Iterator[str]:
    """Yield a sentence on each part of a text that is for another CUDA or an older torch than the chosen build."""
    major = get_major(chosen.cuda)
    for match in version_mentions.find_named_versions(text):
        found = match.groupdict()
        word = version_mentions.find_word(text, match)
        if chosen.cuda and found.get("major", major) != major:
            yield f"`{word}`, which is for CUDA {found['major']}"
        if "version" in found and parse_number(found["version"]) < parse_number(chosen.torch):
            yield f"`{word}`, which is for torch {found['version']}"


def find_source_builds(text: str, torch: str) -> Iterator[str]:
    """Yield the packages that a text installs from a repository, unless they are known to support ``torch``."""
    for match in _SOURCE_BUILD.finditer(text):
        name = normalize_name(match["name"])
        name = _REPOSITORIES.get(name, name)
        if not _is_installed(match, text):
            continue
        if explain_refusal(name, find_newest(name) or "0", torch):
            yield match["name"]


def _is_installed(match: re.Match[str], text: str) -> bool:
    """Return whether a repository is installed, and not only downloaded."""
    if match[0].startswith("git+"):
        return True
    name = re.escape(match["name"])
    return re.search(rf"(?:pip3?|setup\.py)\b[^\n]*\b(?:{name}|-e|\.)|cd\s+[^\n]*{name}", text) is not None


def find_built_files(text: str) -> Iterator[str]:
    """Yield the wheels with compiled code, and the builds by ``setup.py``, that a text names."""
    yield from (match[0] for match in _BUILT_FILE.finditer(text))
