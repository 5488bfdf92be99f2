"""Reads what the shared libraries of extensions need: a CUDA runtime, and symbols of torch. None of them is loaded.

Runs in the tool's own interpreter, in a process of its own: what lies in a file decides how long reading it takes.
Reads ELF files only, with pyelftools.
"""

from __future__ import annotations

import json
import mmap
import re
import sys
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Set

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.hash import GNUHashSection

TORCHS = re.compile(r"_Z(?:T[VIS])?N?K?(?:3c10|2at|5torch)")
"""Matches the mangled names in torch's namespaces."""

ERROR = "_ZN3c105ErrorC2ENS_14SourceLocationE"
"""The constructor of `c10::Error`, whose last parameter is a string: its type tells the ABI that torch was built with."""
NEW_STRING, OLD_STRING = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "Ss"

MOST_SYMBOLS = 3

ENOUGH = 5.0
"""Seconds for the libraries of packages that do not require torch."""


class Library:
    """One ELF file, with the libraries and symbols that it needs and defines."""

    def __init__(self, path: str) -> None:
        self._file = ELFFile(open(path, "rb"))  # noqa: SIM115
        self._symbols: Any = self._file.get_section_by_name(".dynsym")
        self._hash: Any = next((s for s in self._file.iter_sections() if isinstance(s, GNUHashSection)), None)

    def list_needed(self) -> List[str]:
        """Return the names of the libraries that the file is linked with."""
        for section in self._file.iter_sections():
            if isinstance(section, DynamicSection):
                tags: Any = section.iter_tags("DT_NEEDED")
                return [str(tag.needed) for tag in tags]
        return []

    def find_wanted(self) -> Iterator[str]:
        """Yield the symbols of torch that the file needs."""
        if self._symbols is None:
            return
        # A GNU hash table lists the defined symbols, which come after those that are only used.
        end = self._hash.params["symoffset"] if self._hash else self._symbols.num_symbols()
        for index in range(end):
            symbol = self._symbols.get_symbol(index)
            is_used = symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["bind"] == "STB_GLOBAL"
            if is_used and TORCHS.match(symbol.name):
                yield symbol.name

    def defines(self, name: str) -> bool:
        """Return whether the file defines a symbol that others may use."""
        if self._hash is not None:
            return self._hash.get_symbol(name) is not None
        found = (self._symbols.get_symbol_by_name(name) if self._symbols else None) or []
        return any(symbol["st_shndx"] != "SHN_UNDEF" for symbol in found)


def open_library(path: str) -> Optional[Library]:
    """Open a library; None where it is no ELF file, or a broken one."""
    try:
        return Library(path)
    except Exception:
        return None


def mentions_torch(path: str) -> bool:
    """Return whether the name of one of torch's libraries is anywhere in a file, which is a fast check."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(b"libc10.so") >= 0 or content.find(b"libtorch") >= 0
    except (OSError, ValueError):
        return False


def find_abi(torchs: List[Library]) -> Optional[bool]:
    """Return whether torch takes strings of the new ABI; None where that is unknown."""
    for is_new, string in ((True, NEW_STRING), (False, OLD_STRING)):
        if any(library.defines(ERROR + string) for library in torchs):
            return is_new
    return None


def main() -> Dict[str, Any]:
    with open(sys.argv[1], encoding="utf-8") as file:
        question = json.load(file)
    distributions, since = [], time.monotonic()
    for item in question["libraries"]:
        in_time = time.monotonic() - since < ENOUGH
        if item["requires"] or (in_time and any(map(mentions_torch, item["files"]))):
            distributions.append(
                (item, [library for path in item["files"] if (library := open_library(path))])
            )
    if not distributions:
        return {}
    folder = Path(question["torch"] or "nowhere") / "lib"
    torchs = [library for path in sorted(folder.glob("*.so")) if (library := open_library(str(path)))]
    others = [library for _, libraries in distributions for library in libraries]
    known: Dict[str, bool] = {}

    def is_there(name: str) -> bool:
        if name not in known:
            known[name] = any(library.defines(name) for library in (*torchs, *others))
        return known[name]

    extensions = []
    for item, libraries in distributions:
        try:
            found = describe_distribution(item, libraries, is_there if torchs else None)
        except Exception:
            continue
        extensions += found
    return {"new_abi": find_abi(torchs), "extensions": extensions}


def describe_distribution(
    item: Dict[str, Any], libraries: List[Library], is_there: Any
) -> List[Dict[str, Any]]:
    """Describe one distribution, once for each CUDA major version that it has libraries for."""
    majors: Set[str] = set()
    wanted: Set[str] = set()
    linked = False
    for library in libraries:
        needed = library.list_needed()
        majors.update(m.group(1) for m in map(re.compile(r"libcudart\.so\.(\d+)").match, needed) if m)
        if any(re.match(r"lib(torch|c10)", name) for name in needed):
            linked = True
            wanted.update(library.find_wanted())
    local = re.search(r"(?:torch|pt)(\d)\.?(\d+)", item["version"].partition("+")[2])
    if not (item["requires"] or linked) or not (majors or linked or local):
        return []
    abi = None
    if any(NEW_STRING in name or "B5cxx11" in name for name in wanted):
        abi = True
    elif any(re.search(r"(?:RK|O|E)Ss", name) for name in wanted):
        abi = False
    facts = {
        "distribution": item["distribution"],
        "version": item["version"],
        "torch": "{}.{}".format(*local.groups()) if local else None,
        "new_abi": abi,
        "linked": bool(wanted),
        "missing": sorted(name for name in wanted if not is_there(name))[:MOST_SYMBOLS] if is_there else [],
    }
    return [{**facts, "cuda": major} for major in [*sorted(majors)] or (None,)]


result = main()
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(result, file)
