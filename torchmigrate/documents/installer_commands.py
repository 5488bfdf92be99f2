"""Commands that run an installer (pip, uv, poetry, conda, …): what they install, and from which index."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torchmigrate.documents.expanded_values import strip_quotes
from torchmigrate.documents.reference_patterns import (
    CONDA_REQUIREMENT,
    INCLUDE_OPTIONS,
    INDEX_OPTIONS,
    INDEX_URL,
)
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.documents.references import InstallUnit, VersionStyle
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort

_INSTALLER = re.compile(
    r"(?:.*[/\\!'\"\[( ]|!|)(?:pip[\d.]*|uv|poetry|pdm|pixi)(?:\.exe)?|.*\$\{?\(?\w*(?:PIP|UV)\w*\)?\}?|.*pip\s*\}\}"
)
_CONDA = re.compile(r"(?:.*/|!|)(?:conda|mamba|micromamba)|.*\$\{?\(?\w*CONDA\w*\)?\}?")
_VERBS = ("install", "add", "download", "wheel", "create", "sync", "compile")
_VALUE_OPTIONS = (
    "-r --requirement -c --constraint -e --editable -t --target -p --python --prefix --root --src "
    "--platform --python-version --implementation --abi --cache-dir --log --trusted-host --proxy "
    "--timeout --retries --group --extra --project --directory --only-binary --no-binary "
    "--index-strategy --prerelease --resolution --config-file --config-settings -C --global-option -n "
    "--name --channel --source --no-build-isolation-package --progress-bar --report --resume-retries "
    "--exists-action --no-build-package --reinstall-package --upgrade-package -P --link-mode "
    "--root-user-action --upgrade-strategy --cert --client-cert --build-option --keyring-provider "
    "--use-feature --use-deprecated --exclude-newer --override --overrides --build-constraint "
    "--refresh-package"
)
_CONDA_FILE = ("-f", "--file")
"""The options of conda that name a list."""
_WITH_VALUE = frozenset(_VALUE_OPTIONS.split())
"""The options whose value is the next word."""

_LOCAL_PROJECT = re.compile(r"(?P<folder>\.{1,2}(?:/[\w./-]*)?|/[\w./-]*|[\w.-]+/[\w./-]*)(?:\[[\w, -]*\])?")

_INDEX_NAME = re.compile(r"[\w-]+=(?=https?:)")


@dataclass(frozen=True, slots=True)
class ShellWord:
    """One word of a command; ``outer`` includes its quotes, ``span`` does not."""

    text: str
    span: Span
    outer: Span


def read_installer(reader: ReferenceReader, words: list[ShellWord], gap: re.Pattern[str]) -> None:
    """Read what a command installs; nothing if none of its words is the name of an installer.

    ``gap`` matches what separates two words, which is deleted together with a word.
    """
    for number, word in enumerate(words[:-1]):
        is_conda = _CONDA.fullmatch(word.text) is not None
        is_installer = is_conda or _INSTALLER.fullmatch(word.text)
        if not is_installer or (verb := _find_verb(words, number + 1)) is None:
            continue
        reader.verbs.add(words[verb].span.start)
        if words[verb].text in ("sync", "install") and verb + 1 == len(words) and "pip" not in word.text:
            reader.environment.includes.append("./")  # `uv sync`, `poetry install`
        _read_arguments(reader, words[verb + 1 :], gap, conda=is_conda)
        return


def _find_verb(words: list[ShellWord], at: int) -> int | None:
    """Return the index of the word with the installer's subcommand, after the general options: ``pip --quiet install``."""
    while at < len(words) and words[at].text.startswith("-"):
        at += 1
    if [word.text for word in words[at : at + 2]] in (["env", "create"], ["env", "update"]):
        return at + 1
    return at if at < len(words) and words[at].text in _VERBS else None


def _read_arguments(
    reader: ReferenceReader, words: list[ShellWord], gap: re.Pattern[str], *, conda: bool
) -> None:
    """Read the words after the verb of an installer."""
    unit = reader.begin_unit()
    rest = iter(words)
    for word in rest:
        name, equals, value = word.text.partition("=")
        if conda and name in _CONDA_FILE:
            if included := value if equals else getattr(next(rest, None), "text", ""):
                reader.environment.includes.append(included)
        elif not conda and (name in INCLUDE_OPTIONS or name in INDEX_OPTIONS):
            last = word if equals else next(rest, None)
            if last is None:
                return
            if name in INCLUDE_OPTIONS:
                included = value if equals else last.text
                reader.environment.includes.append(INCLUDE_OPTIONS[name].format(included))
                continue
            end = last.span.end
            span = strip_quotes(reader.view, end - len(value), end) if equals else last.span
            # uv lets an index have a name: ``--index pytorch=https://…``
            if named := _INDEX_NAME.match(reader.view, *span):
                span = Span(named.end(), span.end)
            removal = _extend_over_gap(reader.view, Span(word.outer.start, last.outer.end), gap)
            reader.add_index(span, unit, INDEX_OPTIONS[name], removal=removal)
        elif word.text.startswith("-"):
            if word.text in _WITH_VALUE:
                next(rest, None)
        else:
            _read_package(reader, unit, word, gap, conda=conda)


def _read_package(
    reader: ReferenceReader, unit: InstallUnit, word: ShellWord, gap: re.Pattern[str], *, conda: bool
) -> None:
    """Read a word that is no option: a requirement, a wheel, or the path of a project."""
    if INDEX_URL.fullmatch(word.text):
        reader.add_wheel(word.span, unit)
    elif word.text.startswith(("$(", "`")):
        reader.environment.unread = reader.environment.unread or word.text  # its output is installed
    elif conda:
        read_conda_requirement(reader, word.span, unit, "command")
    elif local := _LOCAL_PROJECT.fullmatch(word.text):
        reader.environment.includes.append(f"{local['folder']}/")
    elif not word.text.isdigit() and "://" not in word.text:
        reader.add_requirement(word.span, unit, removal=_extend_over_gap(reader.view, word.outer, gap))


def read_conda_requirement(reader: ReferenceReader, span: Span, unit: InstallUnit, option: str) -> bool:
    """Read the conda requirement at ``span``; return False if the text there is none.

    ``option`` is the option of the reference if the requirement is on Python.
    """
    match = CONDA_REQUIREMENT.fullmatch(reader.view, *span)
    if match is None:
        return False
    version = Span(*match.span("version")) if match["version"] else Span(span.end, span.end)
    if match["name"] in ("python", "python_abi") and match["version"]:
        reader.add_reference(Sort.PYTHON, match["name"], version, unit, option=option)
    else:
        reader.add_package(match["name"], version, unit, whole=span, style=VersionStyle.CONDA)
    return True


def _extend_over_gap(view: str, span: Span, gap: re.Pattern[str]) -> Span:
    """Return the span of a word together with the gap before it, which is deleted with it."""
    before = gap.search(view, max(0, span.start - 200), span.start)
    return Span(before.start() if before else span.start, span.end)
