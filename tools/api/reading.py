"""Reads each release once: the result is kept until the reader changes."""

from __future__ import annotations

import gc
import hashlib
import pickle
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tools.api import module
from tools.api.release import Fact, Release
from tools.api.source import Source

Facts = dict[str, Fact]


def read(source: Source) -> Facts:
    """Return the facts about every name of a release; a file that cannot be parsed is reported and left out."""
    return read_files(source.place, source.files())


def read_files(place: str, files: Iterable[tuple[str, str]]) -> Facts:
    """Return the facts about every name in some files of a release, each given by its path and text."""
    gc.disable()  # trees are many small objects in no circle
    modules: dict[str, module.Module] = {}
    # Sources before stubs: where a module has both, the stub says less.
    for path, text in sorted(files, key=lambda file: (file[0].endswith(".pyi"), file[0])):
        parts = path.rpartition(".")[0].split("/")
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        if (
            name in modules
            or name in module.STUBS_ALONE
            or any(f"\nfrom {prefix}" in text for prefix in module.NEVER_THERE)
        ):
            continue
        try:
            modules[name] = module.read(name, text, is_package=is_package, is_stub=path.endswith(".pyi"))
        except SyntaxError as error:
            print(f"{place}: {path}: {error}", file=sys.stderr)
    found = Release(modules).facts()
    gc.enable()
    return found


def read_all(sources: list[Source], kept: Path, jobs: int) -> list[Facts]:
    """Return the facts of each release, in the given order; ``kept`` is the folder for results."""
    kept.mkdir(parents=True, exist_ok=True)
    if jobs == 1:
        return [pickle.loads(_kept(source, kept).read_bytes()) for source in sources]
    with ProcessPoolExecutor(jobs) as pool:
        return [pickle.loads(path.read_bytes()) for path in pool.map(_kept, sources, [kept] * len(sources))]


def _kept(source: Source, folder: Path) -> Path:
    """Return the file with the facts of a release, which is created if it does not exist."""
    path = folder / f"{source.project}-{source.version}-{_reader()}.pickle"
    if not path.exists():
        facts = read(source)
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(pickle.dumps(facts, pickle.HIGHEST_PROTOCOL))
        unfinished.replace(path)
        print(f"{source.project} {source.version}: {len(facts)} names in {source.place}", file=sys.stderr)
    return path


def _reader() -> str:
    """Return a fingerprint of the sources of the reader."""
    digest = hashlib.sha256()
    for name in ("links", "markers", "module", "release", "signatures"):
        digest.update((Path(__file__).parent / f"{name}.py").read_bytes())
    return digest.hexdigest()[:12]
