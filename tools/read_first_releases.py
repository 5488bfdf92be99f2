"""Writes the first release with each name and keyword that the recipes of ``changes.toml`` write.

    python tools/read_first_releases.py          # the wheels of torch 1.0 to 1.13 on the package index
    python tools/read_first_releases.py FOLDER…  # … or the folders that some were unpacked to

Later releases are in the ledger, which `tools/read_api.py` writes first. Functions that are written in C++ have no stubs in
the oldest releases, but docstrings. A name that is nowhere is left out, and printed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # so that it also runs as a script

from tools.api import reading, source  # noqa: E402
from tools.api.release import Fact  # noqa: E402
from torchmigrate.model.torch_versions import OLDEST, Version, render_version  # noqa: E402
from torchmigrate.tables import api_changes, api_ledger, first_releases  # noqa: E402
from torchmigrate.tables.change_recipes import list_written_names  # noqa: E402
from torchmigrate.tables.release_sets import RELEASES  # noqa: E402

DATA = ROOT / "torchmigrate" / "tables" / "data" / "first_releases.json"
DOCSTRINGS = tuple(
    f"torch/{name}.py" for name in ("_torch_docs", "_tensor_docs", "linalg/__init__", "fft/__init__")
)
STUB = "torch/__init__.pyi"
"""The stub that the oldest releases have beside the module, with functions and methods that are written in C++."""


class OldRelease:
    """One release before torch 2.0."""

    def __init__(self, release: source.Source) -> None:
        texts = dict(release.files())
        self.minor: Version = release.minor
        self._facts = reading.read_files(release.place, texts.items())
        self._documentation = "".join(texts.get(name, "") for name in DOCSTRINGS)
        self._stub = texts.get(STUB, "")

    def has_name(self, name: str) -> bool:
        """Return whether the release has a name, or a keyword of one."""
        owner, _, keyword = name.rstrip(")").partition("(")
        fact, docstring = self._find_fact(owner), self._find_docstring(owner)
        if not keyword:
            return fact is not None or docstring is not None or self._is_in_stub(owner)
        if fact is not None and fact.members is not None:
            return self.has_name(f"{owner}.__init__({keyword})")
        parameters = fact.signature.parameters if fact is not None and fact.signature is not None else ()
        documented = docstring is not None and re.search(rf"\b{keyword}\b", docstring) is not None
        return documented or keyword in {parameter.name for parameter in parameters}

    def _find_fact(self, name: str) -> Fact | None:
        if name in self._facts:
            return self._facts[name]
        owner, _, member = name.rpartition(".")
        members = self._facts[owner].members if owner in self._facts else None
        return members.facts.get(member) if members is not None else None

    def _is_in_stub(self, name: str) -> bool:
        owner, _, leaf = name.rpartition(".")
        indent = {"torch": "", "torch.Tensor": "    "}.get(owner)
        return indent is not None and bool(
            re.search(rf"^{indent}(?:def )?{leaf}[(:]", self._stub, re.MULTILINE)
        )

    def _find_docstring(self, name: str) -> str | None:
        """Return the docstring of a function that is written in C++."""
        owner, _, leaf = name.rpartition(".")
        module = owner.removeprefix("torch.")
        spelled = f"_{module}.{module}_{leaf}" if module in ("fft", "linalg") else name
        named = rf"_all\(\s*['\"]{leaf}['\"]" if owner == "torch.Tensor" else rf"\(\s*{re.escape(spelled)}"
        found = re.search(
            rf"add_docstr{named},(.*?)(?=\n\w* ?=? ?_?add_docstr|\Z)", self._documentation, re.DOTALL
        )
        return found[1] if found else None


def find_first(name: str, releases: Mapping[Version, OldRelease]) -> Version | None:
    """Return the release since which every one has a name; None if none has it."""
    first = _find_in_ledger(name)
    # The ledger leaves out most methods of tensors that never changed.
    if not name.startswith("torch.Tensor.") and (first is None or first > OLDEST):
        return first
    for minor in sorted(releases, reverse=True):
        if not releases[minor].has_name(name):
            return first
        first = minor
    return first


def _find_in_ledger(name: str) -> Version | None:
    owner, _, keyword = name.rstrip(")").partition("(")
    entry = api_ledger.find_any_entry(owner)
    if entry is None:
        return None
    parameter = next((one for one in entry.parameters if one.name == keyword), None)
    having = entry.present if parameter is None else parameter.keyword
    return next((release for release in RELEASES if release in having), None)


def main(folders: list[str]) -> int:
    """Read the releases and write the table."""
    unpacked = [source.local(Path(folder)) for folder in folders]
    sources = unpacked or source.on_index(first_releases.READ_FROM, (OLDEST[0] - 1, 99)).values()
    releases = {release.minor: release for release in map(OldRelease, sources)}
    changes = [change for kind in api_changes.ApiChangeKind for change in api_changes.load_changes(kind)]
    names = sorted(
        {
            name
            for change in changes
            if change.stated_needs is None
            for name in list_written_names(change.symbols, change.recipes)
        }
    )
    first = {name: find_first(name, releases) for name in names}
    table = {name: render_version(version) for name, version in first.items() if version is not None}
    DATA.write_text(json.dumps(table, indent=1) + "\n", "utf-8")
    unknown = [name for name, version in first.items() if version is None]
    print("".join(f"{name}\n" for name in unknown), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
