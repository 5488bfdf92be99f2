"""Reading and writing sound, for which torchaudio needs another package since 2.9.

`torchaudio.load` and `torchaudio.save` are done by torchcodec since then, which torchaudio does not require:
https://github.com/pytorch/audio/pull/4039.
"""

from __future__ import annotations

from collections.abc import Iterable

from torchmigrate.documents.references import Environment
from torchmigrate.documents.specifiers import clauses
from torchmigrate.documents.upgrade import TORCH
from torchmigrate.model.findings import NoFix
from torchmigrate.model.versions import Version
from torchmigrate.model.vocabulary import Sort
from torchmigrate.project.project import Project

_SINCE: Version = (2, 9)
_CALLED = r"\btorchaudio\.(?:load|save)\(|\bfrom torchaudio import[^\n]*\b(?:load|save)\b"


def check_audio(environments: Iterable[Environment], target: Version, project: Project) -> None:
    """Raises NoFix where a move crosses that release, and what the project calls would find no torchcodec."""
    environments = list(environments)
    asked = {one.name for env in environments for one in env.of(Sort.REQUIREMENT, "torchaudio", "torchcodec")}
    torches = [one for env in environments for one in env.of(Sort.REQUIREMENT, *TORCH)]
    older = any(
        (clause.minor or _SINCE) < _SINCE for one in torches for clause in clauses(one) if clause.is_upper
    )
    if asked != {"torchaudio"} or target < _SINCE or not older:
        return
    looked_at = project.spelling((("torchaudio",), (_CALLED,)), beside="")
    elsewhere = ((path, line) for path, line, _ in project.elsewhere({" .py .ipynb ": _CALLED}))
    for path, line in (*looked_at, *elsewhere):
        if path.endswith((".py", ".ipynb")):
            raise NoFix(
                f"{project.shown(path)}:{line} needs torchcodec since torchaudio 2.9, and it is not asked for here"
            )
