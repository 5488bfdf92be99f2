"""Files that hand names of torch's on to each other: what each exports, and which files are looked at again for it."""

from __future__ import annotations

from collections import Counter

import pytest

from torchmigrate.prefilter.watched_symbols import WatchedSymbols
from torchmigrate.project.export_linking import ExportLinker
from torchmigrate.project.mentions import FileFacts
from torchmigrate.project.project_facts import Project
from torchmigrate.semantics.symbol_uses import SymbolUses
from torchmigrate.text.source_reader import read_source

WATCH = WatchedSymbols(["torch.jit.script", "torch.jit.save"])


class Linked:
    """A project of these files after linking: its exports, and how often each file was looked at."""

    def __init__(self, texts: dict[str, str], missing: str = "") -> None:
        self.texts = {f"/p/{path}": text for path, text in texts.items()}
        self.missing = f"/p/{missing}"
        self.looks: Counter[str] = Counter()
        self.reads = 0
        self.project = Project(self.texts, self._read)
        hot = [path for path, text in self.texts.items() if WATCH.prefilter.passes_text(text.encode())]
        self.facts = {path: self._look(path, self.texts[path].encode()) for path in hot}
        self.looks.clear()
        ExportLinker(list(self.texts), self._read, self._look, self.facts, self.project, WATCH).link_exports()

    def _read(self, path: str) -> bytes:
        self.reads += 1
        if path == self.missing:
            raise FileNotFoundError(path)
        return self.texts[path].encode()

    def _look(self, path: str, data: bytes) -> FileFacts:
        self.looks[path.removeprefix("/p/")] += 1
        uses = SymbolUses(read_source(path, data), WATCH, self.project.create_links(path))
        _ = uses.all_uses
        return FileFacts(uses.exported_symbols, frozenset(uses.unlinked_names))

    @property
    def exports(self) -> dict[str, dict[str, str]]:
        return {path.removeprefix("/p/"): names for path, names in self.project.exports.items()}


COMPAT = "import torch\nscript = torch.jit.script\n"


def test_a_file_that_takes_an_exported_name_is_looked_at_again() -> None:
    linked = Linked(
        {"compat.py": COMPAT, "use.py": "from compat import script\nscript(f)\n", "other.py": "script(f)\n"}
    )
    assert linked.exports == {
        "compat.py": {"script": "torch.jit.script"},
        "use.py": {"script": "torch.jit.script"},
    }
    assert linked.looks["use.py"] >= 1
    assert linked.looks["other.py"] == 0


def test_a_chain_is_followed_to_its_end() -> None:
    texts = {"m0.py": COMPAT.replace("script =", "s0 =")}
    texts |= {f"m{i}.py": f"from m{i - 1} import s{i - 1} as s{i}\n" for i in range(1, 5)}
    assert Linked(texts).exports["m4.py"] == {"s4": "torch.jit.script"}


def test_a_circle_of_imports_ends() -> None:
    texts = {"a.py": f"from b import script as other\n{COMPAT}", "b.py": "from a import script\n"}
    linked = Linked(texts)
    assert linked.exports["a.py"]["script"] == linked.exports["b.py"]["script"] == "torch.jit.script"


def test_a_name_that_leads_to_no_symbol_is_not_exported() -> None:
    assert Linked({"a.py": "import torch\nones = torch.ones\ntorch.jit.script(ones)\n"}).exports == {}


@pytest.mark.parametrize(
    "user",
    [
        "from .compat import script",
        "from pkg.compat import (\n    script,\n)",
        "from . import compat\ncompat.script",
    ],
)
def test_the_ways_to_import_it(user: str) -> None:
    linked = Linked({"pkg/__init__.py": "", "pkg/compat.py": COMPAT, "pkg/use.py": f"{user}\n"})
    assert linked.looks["pkg/use.py"] >= 1


def test_a_file_that_has_gone_keeps_its_first_result_and_ends_nothing() -> None:
    user = "import torch\nfrom compat import script\nscript(torch.jit.save)\n"
    linked = Linked({"compat.py": COMPAT, "gone.py": user, "use.py": user}, missing="gone.py")
    assert linked.exports["use.py"] == {"script": "torch.jit.script"}
    assert linked.looks["gone.py"] == 0
    assert "/p/gone.py" in linked.facts


def test_a_module_hands_on_what_a_star_brings_it() -> None:
    linked = Linked(
        {
            "base.py": "from torch.jit import script\n",
            "middle.py": "from base import *\n",
            "use.py": "from middle import *\nscript(f)\n",
        }
    )
    assert linked.exports["middle.py"] == linked.exports["base.py"] == {"script": "torch.jit.script"}
    assert linked.looks["use.py"] >= 1


def test_names_that_go_from_file_to_file_are_followed_with_few_reads() -> None:
    def link(number: int) -> Linked:
        texts = {f"m{i}.py": f"from m{i + 1} import j\ny = j.script(g)\n" for i in range(number)}
        return Linked({**texts, f"m{number}.py": "from torch import jit as j\ny = j.script(g)\n"})

    once, twice = link(40), link(80)
    assert len(twice.project.exports) == 81
    assert twice.reads / once.reads < 2.3
