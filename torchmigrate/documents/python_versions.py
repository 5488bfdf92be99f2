"""The Python versions that an environment may have, according to its files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from torchmigrate.documents.references import Environment, Reference
from torchmigrate.model.findings import Edit
from torchmigrate.model.vocabulary import Sort

MINORS = range(6, 20)
"""The minor versions of Python 3 that a range may allow."""

_IMAGE = re.compile(r"(?<![A-Za-z])(?:python|py)(?:[:-](?:[\w.]+-)?)?v?(?P<version>3\.\d+)")
_NEWEST = re.compile(r"(?:[\w.-]+/)*python(?::|\Z)")
"""An official Python image without a version; its Python is not the one of the system below."""
_SYSTEM = re.compile(
    r"(?:^|(?<=[/:-]))(?P<name>ubuntu|debian|bullseye|bookworm|trixie|focal|jammy|noble)(?:[:-]?(?P<number>\d+(?:\.\d+)?))?"
)
_SYSTEM_PYTHONS = {
    "ubuntu18.04": "3.6", "ubuntu20.04": "3.8", "ubuntu22.04": "3.10", "ubuntu24.04": "3.12",
    "focal": "3.8", "jammy": "3.10", "noble": "3.12",
    "debian11": "3.9", "debian12": "3.11", "debian13": "3.13",
    "bullseye": "3.9", "bookworm": "3.11", "trixie": "3.13",
}  # fmt: skip
"""System → its ``python3``: https://packages.ubuntu.com/python3, https://packages.debian.org/python3."""


def find_image_python(image: str) -> tuple[str | None, bool]:
    """Return the Python of an image, and whether the image is made for it; commands can install another one on a system."""
    if found := _IMAGE.search(image):
        return found["version"], True
    if _NEWEST.match(image):
        return None, False
    names = (found["name"] + (found["number"] or "") for found in _SYSTEM.finditer(image))
    return next((_SYSTEM_PYTHONS[name] for name in names if name in _SYSTEM_PYTHONS), None), False


_NEWEST_OF_BUSTER = 11
"""The newest Python with an official image for Debian 10: https://hub.docker.com/_/python/tags?name=buster."""


def parse_minors(reference: Reference) -> set[int] | None:
    """Return the minor versions of Python 3 that a reference allows; None if that is unknown."""
    text = re.sub(r"\A(?:py|cp)3(\d{1,2})\Z", r"3.\1", reference.text.strip())
    if reference.undecided or reference.sort is not Sort.PYTHON:
        return None
    if reference.option == "FROM":
        version, _ = find_image_python(text)
        return {int(version[2:])} if version else None
    if reference.option in ("command", "setup", "conda", "kernel"):
        found = re.findall(r"(?<![\d.])3\.(\d+)", text)
        if reference.option != "setup" and text.startswith((">", "<", "!", "~")):
            return _list_allowed(text)
        return {int(number) for number in found} or None
    return _list_allowed(_convert_to_pep508(text, poetry=reference.option == "poetry"))


def _convert_to_pep508(text: str, *, poetry: bool) -> str:
    if found := re.fullmatch(r"\^\s*3\.(\d+)(?:\.\d+)?", text):
        return f">=3.{found[1]},<4"
    if poetry and (found := re.fullmatch(r"~\s*3\.(\d+)(?:\.\d+)?", text)):
        return f"==3.{found[1]}.*"
    return f"=={text}.*" if re.fullmatch(r"3\.\d+", text) else text


def _list_allowed(specifier: str) -> set[int] | None:
    """Return the minor versions that a PEP 508 specifier allows; None for one that is invalid."""
    try:
        found = SpecifierSet(specifier)
    except InvalidSpecifier:
        return None
    return {n for n in MINORS if any(found.contains(f"3.{n}.{patch}") for patch in (0, 9, 99))}


def find_possible_minors(
    references: Iterable[Reference], known: tuple[str, str], own: Environment | None = None
) -> set[int]:
    """Return the minor versions of a range of Pythons that fit all references; none if one excludes them.

    ``known`` are the oldest and the newest Python of the range. A Python that a command installs wins over that of
    the system below it. The range of ``own`` may not begin earlier: it has users on the old Pythons.
    """
    left = set(range(int(known[0][2:]), int(known[1][2:]) + 1))
    for _, allowed in _read_minors(references, known, own):
        left &= allowed
    return left


def choose_minor(
    references: Iterable[Reference], known: tuple[str, str], own: Environment | None = None
) -> tuple[int, list[Reference]]:
    """Return the minor version that excludes the fewest references, of several the oldest, and those references."""
    asked = list(_read_minors(references, known, own))
    choices = range(int(known[0][2:]), int(known[1][2:]) + 1)
    excluding = {n: [one for one, allowed in asked if n not in allowed] for n in choices}
    best = min(choices, key=lambda n: (len(excluding[n]), n))
    return best, excluding[best]


def _read_minors(
    references: Iterable[Reference], known: tuple[str, str], own: Environment | None
) -> Iterator[tuple[Reference, set[int]]]:
    """Yield the references that decide the Python, with what each allows."""
    stated = [reference for reference in references if reference.sort is Sort.PYTHON]
    commanded = any(reference.option in ("command", "setup", "conda") for reference in stated)
    for reference in stated:
        if reference.option == "FROM" and commanded and not find_image_python(reference.text)[1]:
            continue
        asked = parse_minors(reference)
        if asked is None:
            continue
        # A range that begins earlier has users on the old Pythons, which the target would drop.
        states_support = reference.option not in ("command", "conda") and reference.unit.environment is own
        drops_users = states_support and min(asked, default=0) < int(known[0][2:])
        yield reference, set() if drops_users else asked


def raise_python(reference: Reference, minor: int) -> tuple[Edit, str] | None:
    """Return the edit that makes a reference ask for a Python, and its new text; None where that is not possible.

    An image keeps its system; one whose system ended before the new Python has no such tag.
    """
    if reference.fixed or reference.several or reference.undecided or reference.unit.fixed:
        return None
    text = reference.text
    if reference.option == "FROM":
        found = _IMAGE.search(text)
        if found is None or re.search(r"stretch|jessie|conda|mamba", text):
            return None
        if "buster" in text and minor > _NEWEST_OF_BUSTER:
            return None
        start, end = found.span("version")
        end += len(patch[0]) if (patch := re.match(r"(?:\.\d+)?(?:rc\d+)?", text[end:])) else 0
    elif exact := re.fullmatch(
        r"(?P<operator>\^|~|~=|={0,2}|>=)\s*(?P<version>3(?:\.\d+){0,2}(?:\.\*)?)(?:=\w+)?", text
    ):
        start, end = exact.start("version"), len(text)
    elif bound := re.match(r">=\s*(?P<version>3\.\d+(?:\.\d+)?)(?=\s*,)", text):
        start, end = bound.span("version")
    else:
        return None
    version = f"3.{minor}"
    upper = re.match(r"(?P<between>\s*,\s*<\s*)3\.(?P<minor>\d+)(?=\s*\Z)", text[end:])
    if upper and int(upper["minor"]) <= minor:
        version += f"{upper['between']}3.{minor + 1}"
        end = len(text)
    new = f"{text[:start]}{version}{text[end:]}"
    allowed = {minor} if reference.option == "FROM" else _list_allowed(_convert_to_pep508(new, poetry=True))
    edit = reference.value.create_edit(start, end, version)
    return None if edit is None or (allowed is not None and minor not in allowed) else (edit, new)
