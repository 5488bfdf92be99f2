"""The compute capabilities that a file compiles for, and those that a CUDA version no longer supports."""

from __future__ import annotations

import re

from torchmigrate.documents.references import Reference
from torchmigrate.model.findings import Edit, NoFix
from torchmigrate.tables import build_selection
from torchmigrate.tables.torch_builds import parse_number

VARIABLE_NAMES = ("TORCH_CUDA_ARCH_LIST", "CMAKE_CUDA_ARCHITECTURES", "-gencode")
"""The names of such lists: torch's variable, CMake's variable, and the option of ``nvcc``."""
_CAPABILITIES = {"Kepler": "3.5", "Maxwell": "5.0", "Pascal": "6.0", "Volta": "7.0"}
_ENTRY = re.compile(r"(?P<name>\d+\.\d+|[A-Z][a-z]+(?:\+Te[a-z]+)?)(?P<suffix>[af]?(?:\+PTX)?)")
_DIGITS = re.compile(r"(?:sm_|compute_)?(\d{1,2})(\d)[af]?(?:-real|-virtual)?")


def find_unsupported_entries(variable: Reference, cuda: str) -> list[str]:
    """Return the entries of a list that are older than the oldest architecture in builds with this CUDA."""
    if variable.name not in VARIABLE_NAMES or variable.undecided:
        return []
    oldest = parse_number(build_selection.find_oldest_architecture(cuda))
    entries = variable.text.split(_find_separator(variable))
    return [
        entry for entry in entries if (known := _parse_capability(entry)) and parse_number(known) < oldest
    ]


def create_edit(variable: Reference, cuda: str) -> Edit:
    """Return the edit that removes the entries that are too old. Raises NoFix where that is not possible."""
    old = find_unsupported_entries(variable, cuda)
    separator = _find_separator(variable)
    rest = separator.join(entry for entry in variable.text.split(separator) if entry not in old).strip()
    if not rest:
        raise NoFix("the list would be empty")
    if variable.several:
        raise NoFix("the file gives several values")
    found = variable.value.create_edit(0, len(variable.text), rest)
    if found is None:
        raise NoFix("the list is assembled from several variables")
    return found


def _find_separator(variable: Reference) -> str:
    return ";" if ";" in variable.text else "," if "," in variable.text else " "


def _parse_capability(entry: str) -> str | None:
    """Return the compute capability of an entry: ``sm_70``, ``7.0+PTX`` and ``Volta`` are ``7.0``."""
    if digits := _DIGITS.fullmatch(entry.strip()):
        return f"{digits[1]}.{digits[2]}"
    match = _ENTRY.fullmatch(entry.strip())
    if match is None:
        return None
    name = match["name"].partition("+")[0]
    return name if name[0].isdigit() else _CAPABILITIES.get(name)
