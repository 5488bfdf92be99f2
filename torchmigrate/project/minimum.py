"""The oldest torch that a project supports, as its own metadata says."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from torchmigrate.gates.kinds import MAX_METADATA_BYTES
from torchmigrate.model.versions import OLDEST, Version
from torchmigrate.project.folders import upward


class Minimum(NamedTuple):
    """The oldest torch that a project supports, and where that was found.

    ``source`` is ``path:line`` (or ``path``) of the requirement, or None when no metadata names torch.
    ``bounded`` is False when torch is required there without a lower bound.
    """

    version: Version
    source: str | None = None
    bounded: bool = True


class _Requirement(NamedTuple):
    """One mention of torch: its lower bound (None: it has none) and the text to look for in the file."""

    lower: Version | None
    text: str


def find_minimum(folder: str) -> Minimum:
    """The lower bound on torch in the metadata nearest to ``folder``, upward to the repository's root.

    The first file that names torch decides, in the order pyproject.toml, setup.cfg, setup.py,
    requirements*.txt; when it states several bounds, the lowest. Metadata is read, never executed; what
    cannot be read or parsed is passed over.
    """
    for directory in upward(folder):
        for name in _metadata_files(directory):
            path = os.path.join(directory, name)
            text = _read(path)
            if text is None or "torch" not in text.lower():
                continue
            requirements = list(_requirements(name, text))
            if not requirements:
                continue
            bounds = [requirement for requirement in requirements if requirement.lower is not None]
            if len(bounds) < len(requirements):
                unbounded = next(requirement for requirement in requirements if requirement.lower is None)
                return Minimum(OLDEST, _place(path, text, unbounded), bounded=False)
            lowest = min(bounds, key=lambda requirement: requirement.lower or OLDEST)
            return Minimum(lowest.lower or OLDEST, _place(path, text, lowest))
    return Minimum(OLDEST)


def _metadata_files(directory: str) -> list[str]:
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    fixed = [name for name in ("pyproject.toml", "setup.cfg", "setup.py") if name in names]
    requirements = [name for name in names if re.fullmatch(r"requirements.*\.txt", name)]
    return fixed + sorted(requirements, key=lambda name: (len(name), name))


def _read(path: str) -> str | None:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > MAX_METADATA_BYTES:
            return None
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def _place(path: str, text: str, requirement: _Requirement) -> str:
    display = os.path.relpath(path)
    if display.startswith(os.pardir):
        display = path
    for number, line in enumerate(text.splitlines(), 1):
        if requirement.text in line:
            return f"{display}:{number}"
    return display


def _requirements(name: str, text: str) -> Iterable[_Requirement]:
    """Every mention of torch in the metadata file ``name`` that decides what the project supports."""
    try:
        if name == "pyproject.toml":
            return _in_pyproject(text)
        if name == "setup.cfg":
            return _in_setup_cfg(text)
        if name == "setup.py":
            return _in_setup_py(text)
        return _mentions(_requirement_lines(text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return []


def _in_pyproject(text: str) -> list[_Requirement]:
    """The first group of dependencies that names torch: what is always installed, then what is optional."""
    from torchmigrate.text.toml import toml_loads

    data = toml_loads(text)
    project = _table(data, "project")
    poetry = _table(_table(data, "tool"), "poetry")
    groups = [
        _mentions(_strings(project.get("dependencies"))),
        _poetry(_table(poetry, "dependencies")),
        _mentions(
            line for lines in _table(project, "optional-dependencies").values() for line in _strings(lines)
        ),
        _mentions(line for lines in _table(data, "dependency-groups").values() for line in _strings(lines)),
        [
            mention
            for group in _table(poetry, "group").values()
            if isinstance(group, dict)
            for mention in _poetry(_table(group, "dependencies"))
        ],
    ]
    return next((group for group in groups if group), [])


def _in_setup_cfg(text: str) -> list[_Requirement]:
    import configparser

    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from None
    required = _mentions(parser.get("options", "install_requires", fallback="").splitlines())
    if required or not parser.has_section("options.extras_require"):
        return required
    return _mentions(
        line for _, lines in parser.items("options.extras_require") for line in re.split(r"[\n;]", lines)
    )


def _in_setup_py(text: str) -> list[_Requirement]:
    """String literals that read as requirements on torch, wherever in the file they stand.

    A bare ``"torch"`` counts only in a list given to `install_requires`: elsewhere it may be anything.
    """
    import ast
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    mentions: list[_Requirement] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            mentions += [mention for mention in _mentions([node.value]) if mention.lower is not None]
        elif (
            isinstance(node, ast.keyword)
            and node.arg == "install_requires"
            and isinstance(node.value, ast.List)
        ):
            literals = [item.value for item in node.value.elts if isinstance(item, ast.Constant)]
            mentions += [mention for mention in _mentions(_strings(literals)) if mention.lower is None]
    return mentions


def _requirement_lines(text: str) -> Iterator[str]:
    """The requirements of a pip requirements file, without options, comments, hashes and continuations."""
    for line in text.replace("\\\n", " ").replace("\\\r\n", " ").splitlines():
        line = re.split(r"(?:^|\s)#|\s--", line, maxsplit=1)[0].strip()
        if line and not line.startswith("-"):
            yield line


def _mentions(lines: Iterable[str]) -> list[_Requirement]:
    """Those of the PEP 508 requirements ``lines`` that are about torch."""
    mentions = []
    for line in lines:
        if not re.match(r"\s*torch\s*(?![\w.-])", line, re.IGNORECASE):
            continue
        from packaging.requirements import InvalidRequirement, Requirement

        try:
            requirement = Requirement(line.strip())
        except InvalidRequirement:
            continue
        if requirement.name.lower() == "torch":
            mentions.append(_Requirement(_lower(str(requirement.specifier)), line.strip()))
    return mentions


def _poetry(dependencies: dict[str, Any]) -> list[_Requirement]:
    """Poetry's own notation: ``^2.1``, ``~2.1``, ``2.1.*``, a table with ``version``, a list of such tables."""
    if "torch" not in dependencies:
        return []
    entries = dependencies["torch"]
    mentions = []
    for entry in entries if isinstance(entries, list) else [entries]:
        version = entry.get("version", "") if isinstance(entry, dict) else entry
        if not isinstance(version, str):
            continue
        bounds = [_lower(_from_poetry(part)) for part in version.split("||")]
        known = [bound for bound in bounds if bound is not None]
        mentions.append(_Requirement(min(known) if len(known) == len(bounds) else None, version or "torch"))
    return mentions


def _from_poetry(text: str) -> str:
    clauses = [clause.strip() for clause in text.split(",")]
    clauses = [re.sub(r"^[\^~](?!=)\s*", ">=", clause) for clause in clauses]
    return ",".join("==" + clause if clause[:1].isdigit() else clause for clause in clauses if clause != "*")


def _lower(specifier: str) -> Version | None:
    """The lowest minor version that all clauses of ``specifier`` allow; None without a lower bound."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        clauses = list(SpecifierSet(specifier))
    except InvalidSpecifier:
        return None
    bounds = []
    for clause in clauses:
        number = re.match(r"v?(\d{1,4})(?:\.(\d{1,4}))?", clause.version)
        if number and clause.operator in (">=", "~=", "==", "===", ">"):
            bounds.append((int(number[1]), int(number[2] or 0)))
    return max(bounds, default=None)


def _table(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
