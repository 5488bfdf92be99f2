"""Environments whose versions are intended: for one version or machine by the name of the file, or by a comment."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Container

from torchmigrate.documents.build_choice import find_index_variants, provides_torch
from torchmigrate.documents.comment_edits import find_named_variants, find_torch_spans, is_listed
from torchmigrate.documents.copied_projects import is_vendored
from torchmigrate.documents.follow_up_commands import explain_lock
from torchmigrate.documents.references import IN_DOCUMENTATION, Environment, InstallRole, InstallUnit
from torchmigrate.documents.requirement_purposes import Purpose
from torchmigrate.documents.upgrade_rules import (
    TORCH_NAMES,
    explain_missing_build,
    is_old_on_purpose,
)
from torchmigrate.model.findings import NoFix
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.model.vocabulary import Sort
from torchmigrate.prefilter.project_file_kinds import kind_of
from torchmigrate.project.project_facts import Project
from torchmigrate.tables.build_selection import is_published
from torchmigrate.text.source_text import SourceText

_VERSION_IN_NAME = re.compile(
    r"(?:torch|pt|pytorch)[-_.]?v?[12][-_.]?\d+|(?:cu|cuda)[-_.]?1[0-3][-_.]?\d|(?:^|[-_./])(?:min(?:imum|imal)?|oldest|lowest"
    r"|legacy|old|jetson|rocm|xpu|npu|hpu|gaudi|habana|ascend|musa|tpu)(?=[-_./]|$)",
    re.IGNORECASE,
)
"""A version or a machine in the name of a file."""


def check_unit_movable(unit: InstallUnit, source: SourceText, options: RuleOptions, project: Project) -> None:
    """Raise NoFix for a unit that must not move, whatever the target."""
    if unit.role is InstallRole.LOCK:
        raise NoFix(explain_lock(source.path))
    if unit.role is InstallRole.DOC:
        raise NoFix(IN_DOCUMENTATION)
    if is_vendored(os.path.realpath(source.path), project):
        raise NoFix("this is a copy of another project; upgrade it at its origin")
    if unit.fixed:
        raise NoFix(unit.fixed)
    key = ("meant", unit.environment, options)
    if reason := project.compute_once(key, lambda: _explain_intent(source, unit.environment, options)):
        raise NoFix(reason)
    if unit.role is InstallRole.TEST:
        raise NoFix("a test configuration chooses its versions on purpose")


def check_environment_movable(source: SourceText, environment: Environment, options: RuleOptions) -> None:
    """Raise NoFix for an environment whose versions are intended."""
    if reason := _explain_intent(source, environment, options):
        raise NoFix(reason)


def _explain_intent(source: SourceText, environment: Environment, options: RuleOptions) -> str:
    """Return why the versions of an environment are intended; empty if they are not."""
    if environment.blocker:
        return environment.blocker
    if any(is_old_on_purpose(one, options) for one in environment.units):
        return "tests often install an older torch on purpose"
    if name := _find_version_in_name(source.path, environment, options):
        return f"the file is for one version, according to its name: {name}"
    if _is_for_building(source.path, environment):
        return (
            "an extension has to run with the torch that it is built with, and that version is set elsewhere"
        )
    if comment := _find_holding_comment(source.original.decode("latin-1"), environment, options):
        return f'a comment refers to this choice: "{comment}"'
    return ""


def _find_version_in_name(path: str, environment: Environment, options: RuleOptions) -> str:
    """Return the version or machine in a file's name; empty if there is none, or it stays true after the move."""
    present = find_index_variants([environment], provides_torch)
    kept = {tag for tag in present if is_published(options.target, tag)}
    for match in _VERSION_IN_NAME.finditer("/".join(path.replace(os.sep, "/").split("/")[-2:])):
        if f"cu{re.sub('[^0-9]', '', match[0])}" not in kept:
            return match[0].strip("-_./")
    return ""


def _is_for_building(path: str, environment: Environment) -> bool:
    """Return whether an environment needs torch only for building an extension."""
    torches = environment.find_references(Sort.REQUIREMENT, *TORCH_NAMES)
    by_name = re.search(r"(?:^|[-_.])build(?:[-_.]|$)", os.path.basename(path), re.IGNORECASE)
    listed = kind_of(path) == "requirements" and by_name is not None
    return bool(torches) and (listed or all(one.purpose is Purpose.OTHER for one in torches))


_HOLDS = re.compile(
    r"\b(?:(?:lock|pin|hold|freez|keep)(?:e?s|e|n?ed|n?ing)?|held|kept|frozen|stick|stay|cap(?:ped)?)\b"
    r"|\b(?:in)?compat\w*\b(?!\s+(?:\w+\s+){0,2}versions?)"
    r"|\b(?:do(?:\s+not|n.{1,3}t)|never|(?:must|should|can)\s*(?:not|n.{1,3}t)|avoid)\s+(?:\w+\s+){0,2}?"
    r"(?:upgrad|updat|bump|chang|rais|touch|mov)\w*"
    r"|\b(?:newer|later|higher|above|beyond)\b.{0,60}\b(?:break|broke|fail|crash|not\s+work|doesn.{1,3}t)\w*"
    r"|\blast\s+(?:version|release)\b",
    re.IGNORECASE,
)
"""Words in a comment about a version that has to stay: "pinned because …", "do not upgrade"."""
_HAS_REASON = re.compile(
    r"torch|cuda|\bcu1\d\d|driver|\d\.\d|\b(?:because|due|until|since|otherwise|issues?|bugs?|needs?|requires?|breaks?|this)\b|://",
    re.IGNORECASE,
)
"""Words that a comment above a list must contain to be a reason, and not only the title of the list."""
_COMMENT = re.compile(r"[ \t]*(?:#|//|;|::|rem\b)(?P<text>.*)", re.IGNORECASE)
_INSTALLS = re.compile(
    r"[ \t#$>]*(?:(?:python3? -m )?pip3?|uv(?: pip)?|conda|mamba|poetry) (?:install|add|create)\b"
)
"""A command in a comment."""
_TRAILING_COMMENT = re.compile(r"(?:[ \t]|^)(?:#|//)[ \t]*(?P<text>[^\"'\r\n]*)$")
_BUILD = re.compile(r"\bcu(1[0-3]\d)\b|\bcuda\W?(1\d)\.(\d)", re.IGNORECASE)
"""A build in a comment: ``cu121``, ``CUDA 12.1``."""


def _find_holding_comment(view: str, environment: Environment, options: RuleOptions) -> str:
    """Return the comment which says that a pin, an index or an image has to stay; empty if there is none.

    The comment is at the end of the line or directly above the statement; ``view`` is the text of the file. One that
    gives a reason for a build which the target lacks (``needs cu121``) counts too; one that only names it does not.
    """
    lines = [line.rstrip("\r") for line in view.split("\n")]
    starts = [0, *(found.end() for found in re.finditer("\n", view))]
    own = find_named_variants(environment)
    for span in dict.fromkeys(find_torch_spans(environment)):
        number = bisect_right(starts, span.start) - 1
        if number >= len(lines):
            continue
        beside = _TRAILING_COMMENT.search(lines[number])
        if beside and (
            found := _HOLDS.search(beside["text"]) or _find_needed_build(beside["text"], own, options)
        ):
            return _cut_excerpt(beside["text"], found)
        above = _find_comment_above(lines, number)
        if named := _find_needed_build(above, own, options):
            return _cut_excerpt(above, named)
        if (found := _HOLDS.search(above)) and _HAS_REASON.search(above):
            return _cut_excerpt(above, found)
    return ""


_NEEDS = re.compile(
    r"\b(?:because|due\s+to|since|needs?|needed|must|requires?|required|only|works?\s+with|driver|cluster|machines?|otherwise"
    r"|not?|never|without)\b|n't\b",
    re.IGNORECASE,
)
"""Words in a comment that names a build: why it has to be that one."""
_EXAMPLE = re.compile(r"\b(?:examples?|e\.g)\b", re.IGNORECASE)


def _find_needed_build(text: str, own: Container[str], options: RuleOptions) -> re.Match[str] | None:
    """Return the first build in a comment that the target lacks, and that has to stay.

    It has to if the comment gives a reason, or the environment does not name that build (``own``) itself, so that
    something else chooses it.
    """
    if _EXAMPLE.search(text):
        return None
    for match in _BUILD.finditer(text):
        variant = "cu" + "".join(filter(None, match.groups()))
        if explain_missing_build(variant, options) and (_NEEDS.search(text) or variant not in own):
            return match
    return None


def _cut_excerpt(text: str, found: re.Match[str]) -> str:
    """Return some 80 characters of a comment around a match."""
    start = 0 if found.end() <= 60 else text.rfind(" ", 0, found.start() - 20) + 1
    # The view has one character for each byte.
    return text[start:].strip()[:80].encode("latin-1").decode("utf-8", "ignore")


def _find_comment_above(lines: list[str], number: int) -> str:
    """Return the comment directly above a line, or above the first line of the command that continues there.

    Commands and requirements in it are left out: they tell what once was installed, or may be, not why.
    """
    before = lines[:number][::-1]
    while before and before[0].rstrip().endswith(("\\", "^")) and not _COMMENT.match(before[0]):
        before = before[1:]
    block: list[str] = []
    for line in before:
        comment = _COMMENT.match(line)
        if comment is None:
            break
        if not _INSTALLS.match(comment["text"]) and not is_listed(comment["text"]):
            block.insert(0, comment["text"].strip(" #/"))
    return " ".join(block)
