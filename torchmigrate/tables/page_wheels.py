"""The wheels that PyG and DGL build for one torch and CUDA, on one page for each: ``torchmigrate/tables/data/page_wheels.json``.

The rows are entered by hand, with the pages and releases that show them. What is not in the table may exist.
"""

from __future__ import annotations

import functools
from typing import Any

from torchmigrate.tables.torch_builds import TorchBuild, get_minor, load_table, parse_number

COMPILED = ("torch-scatter", "torch-sparse", "torch-cluster", "torch-spline-conv")
"""The projects that the Python Package Index has as sources only, which are compiled on installation."""


@functools.cache
def is_on_pages(project: str) -> bool:
    """Return whether the wheels of a project are on such pages; its releases elsewhere have to be compiled."""
    return project in COMPILED or bool(_find_rows(project))


def find_release(project: str, torch: str, variant: str) -> str:
    """Return the release of a project with a wheel for a minor version of torch and a variant; empty if none is known."""
    rows = (
        row
        for row in _find_rows(project)
        if get_minor(row["torch"][0]) == torch and variant in row["variants"]
    )
    return next((str(row["packages"][project]) for row in rows), "")


def find_page_torch(chosen: TorchBuild, variant: str) -> str:
    """Return the torch version in the address of PyG's page for a build; empty if no such page is known."""
    for row in _find_rows("pyg-lib"):
        if get_minor(row["torch"][0]) == chosen.torch and variant in row["variants"]:
            return chosen.version if chosen.version in row["torch"] else str(row["torch"][0])
    return ""


def find_last_torch(project: str) -> str:
    """Return the newest minor version of torch for which a project has wheels; empty if none is known."""
    return max((get_minor(row["torch"][0]) for row in _find_rows(project)), key=parse_number, default="")


def find_newest_release(project: str) -> str:
    """Return the newest release of a project on the pages; empty if none is known."""
    return max((str(row["packages"][project]) for row in _find_rows(project)), key=parse_number, default="")


def _find_rows(project: str) -> list[dict[str, Any]]:
    return [row for row in load_table("page_wheels") if project in row["packages"]]
