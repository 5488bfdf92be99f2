"""Downloads of libtorch, and commands that package TorchScript for TorchServe."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.foreign.comment_styles import blank_comments
from torchmigrate.foreign.foreign_use import ForeignUse
from torchmigrate.foreign.model_file_names import parse_model_file
from torchmigrate.model.findings import Span

_ARCHIVE = re.compile(
    r"https?://(?:[\w.-]+/(?:[^\s\"'<>()]*/)?libtorch[^\s\"'<>();]*?\.zip"
    r"|download(?:-r2)?\.pytorch\.org/libtorch\b[^\s\"'<>();]*)"
)
_VARIANT = re.compile(r"pytorch\.org/libtorch/((?:nightly/|test/)?(?:cpu|cu\d+|rocm[\d.]+|xpu))/")
_VERSION = re.compile(r"-(\d+\.\d+(?:\.\d+)?)(?:%2B|\+|[-_.])")
_ARCHIVER = re.compile(r"(?<![\w./-])torch-model-archiver(?![\w.-])(?P<arguments>(?:\\\r?\n|[^\n;&|])*)")
_SERIALIZED = re.compile(r"--serialized-file[=\s\\]+[\"']?(?P<file>[^\s\"'\\]+)")
_HANDLER = re.compile(r"--handler[=\s\\]+[\"']?(?P<file>[^\s\"'\\]+\.py)\b")
_ECHOED = re.compile(r"\b(?:echo|printf)\b[^\n;&|]*\Z")
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)[^}]*\}|\((?P<made>[^)]*)\)|(?P<plain>\w+))")
_SET = re.compile(
    r"^[ \t]*(?:(?:export|readonly|local|ARG|ENV)[ \t]+)?(?P<name>\w+)(?:=|[ \t]*[:?]?=[ \t]*)[\"']?(?P<value>[^\s\"'#$]+)",
    re.MULTILINE,
)


def find_archives(language: str, view: str) -> Iterator[ForeignUse]:
    """Find the downloads of libtorch: by `wget` and `curl`, by CMake, by Bazel."""
    for match in _ARCHIVE.finditer(blank_comments(language, view)):
        version, variant = _VERSION.search(match[0]), _VARIANT.search(match[0])
        text = f"{version[1] if version else ''} {f'({variant[1]})' if variant else ''}".strip()
        yield ForeignUse("libtorch.zip", Span(*match.span()), version=text)


def find_packaged_files(view: str) -> Iterator[ForeignUse]:
    """Find the TorchScript files that commands package for TorchServe (with ``--model-file`` the file is a state dict)."""
    text = blank_comments("commands", view)
    values = {one["name"]: one["value"] for one in _SET.finditer(text)}
    for match in _ARCHIVER.finditer(text):
        # `echo "torch-model-archiver …"` only prints the command.
        found = _SERIALIZED.search(match["arguments"])
        if found is None or "--model-file" in match["arguments"] or _ECHOED.search(text, 0, match.start()):
            continue
        name = _VARIABLE.sub(
            lambda one: values.get(one["braced"] or one["made"] or one["plain"] or "", one[0]), found["file"]
        )
        if not parse_model_file(_VARIABLE.sub("x", name)):
            continue
        start = match.start("arguments")
        span = Span(start + found.start(), start + found.end())
        handler = _HANDLER.search(match["arguments"])
        yield ForeignUse(
            "torch-model-archiver",
            span,
            parse_model_file(name),
            handler=handler["file"] if handler else "",
            calls=True,
        )
