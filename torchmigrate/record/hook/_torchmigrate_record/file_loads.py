"""What `torch.load` reads: whether `weights_only=True` would load the file too, and which globals it needs."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import sys
from typing import Any

MOST_BYTES = 256 << 20
"""The largest file that is read again where it cannot be mapped into memory."""
_ROUNDS = 10
"""How often a file is tried with further globals, which the error names one at a time."""
_HARMLESS = (
    "numpy.",
    "collections.",
    "argparse.Namespace",
    "pathlib.",
    "builtins.",
    "_codecs.encode",
    "torch.",
)
"""Globals whose code does nothing but make values."""
_NAMED = re.compile(r"(?:GLOBAL |Unsupported class |<class ')([A-Za-z_][\w.]*)")
"""The global that an error of the loader names."""


def watch(recording: Any) -> None:
    """Watch the calls of `torch.load`."""
    torch: Any = sys.modules["torch"]
    original = torch.load
    loads = _Loads(recording, original)
    is_compiling = recording.is_compiling

    @functools.wraps(original)
    def load(f: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(f, *args, **kwargs)
        before = loads.find_position(f)
        outcome = "raises"
        try:
            loaded = original(f, *args, **kwargs)
            outcome = "loads"
            return loaded
        finally:
            with contextlib.suppress(Exception):
                loads.note(sys._getframe(1), f, before, args, kwargs, outcome)

    torch.load = load
    if torch.serialization.load is original:
        torch.serialization.load = load


class _Loads:
    def __init__(self, recording: Any, original: Any) -> None:
        self._recorder = recording.recorder
        self._places = recording.places
        self._root = os.path.join(os.path.realpath(recording.options["root"]), "")
        self._original = original
        self._judged: dict[tuple[Any, ...], dict[str, Any]] = {}
        torch: Any = sys.modules["torch"]
        major, minor = (int(part) for part in torch.__version__.split(".")[:2])
        self._proves = bool(recording.options.get("prove"))
        self._is_strict = (major, minor) >= (2, 6)

    def find_position(self, file: Any) -> int | None:
        """Return where an opened file stands, None for any other."""
        try:
            return int(file.tell()) if hasattr(file, "read") else None
        except Exception:
            return None

    def note(
        self, frame: Any, file: Any, position: int | None, args: Any, kwargs: dict[str, Any], outcome: str
    ) -> None:
        """Note a load at the frame that calls it."""
        caller = self._places.skip_neutral(frame)
        if caller is None:
            return
        owner = self._places.find_owner(caller.f_code.co_filename)
        at = self._places.describe_frame(caller)
        if at is None and not owner.name:
            return
        package = None if at is not None else self._places.describe_package(owner.name)
        given = kwargs.get("weights_only")
        own_pickle = (args[1] if len(args) > 1 else kwargs.get("pickle_module")) is not None
        where = at or self._places.describe_frame(self._places.find_frame(caller))
        source = _open_again(file, position)
        if source is None and outcome == "raises":  # such as a file that is not there
            return
        identity = _identify(file, position)
        base = (where and (where["path"], where["line"], where.get("cell")), package, str(given), outcome)
        if identity is None or (base, identity) not in self._judged:
            verdict = self._judge(source, given, own_pickle, outcome)
            if identity is not None and len(self._judged) < 10_000:
                self._judged[base, identity] = verdict
        else:
            verdict = self._judged[base, identity]
        fact = {
            "kind": "load",
            "at": where,
            "package": package,
            "file": self._name(file),
            "given": given if isinstance(given, bool) else None,
            "outcome": outcome,
            **verdict,
        }
        key = ("load", base, fact["file"], verdict["weights_only"], tuple(verdict["globals"]))
        self._recorder.note(key, fact)

    def _judge(self, source: Any, given: Any, own_pickle: bool, outcome: str) -> dict[str, Any]:
        """Return whether weights alone suffice, and the globals that would have to be allowed."""
        if own_pickle or source is None:
            known = outcome == "loads" and given is True
            return {"weights_only": "passes" if known else "unknown", "globals": []}
        is_default = given is None and self._is_strict and not _is_forced()
        if outcome == "loads" and (given is True or is_default):
            return {"weights_only": "passes", "globals": []}
        if self._try_weights(source) is None:
            return {"weights_only": "passes", "globals": []}
        names = _list_globals(source)
        if any(name.startswith("__torch__.") for name in names):
            # TorchScript, which no allowed class helps to load.
            return {"weights_only": "fails", "globals": [], "allowed": False}
        needed = self._find_needed(source, names)
        return {"weights_only": "fails", "globals": needed or names, "allowed": needed is not None}

    def _find_needed(self, source: Any, names: list[str]) -> list[str] | None:
        """Return the globals with which a file loads, None if that is not known.

        That runs their code once more, which is only done for classes of the project if proofs are wanted.
        """
        torch: Any = sys.modules["torch"]
        needed = list(names)
        if not hasattr(torch.serialization, "safe_globals") or not names:
            return None
        for _ in range(_ROUNDS):
            if not self._proves and not all(name.startswith(_HARMLESS) for name in needed):
                return None
            found = [_resolve(name) for name in needed]
            if None in found:
                return None
            with torch.serialization.safe_globals(found):
                error = self._try_weights(source)
            if error is None:
                return sorted(needed)
            more = set(_NAMED.findall(str(error))) - set(needed)
            if not more:
                return None
            needed += sorted(more)
        return None

    def _try_weights(self, source: Any) -> Exception | None:
        """Load a file with `weights_only=True`, and return the error, if any; its data is mapped and not read where possible."""
        import warnings

        failure: Exception | None = ValueError("too large")
        for options in ({"mmap": True}, {}):
            if options and not isinstance(source, str):
                continue
            if not options and _measure(source) > MOST_BYTES:
                return failure
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._original(_fresh(source), map_location="cpu", weights_only=True, **options)
                return None
            except Exception as error:
                failure = error
                if not options or "mmap" not in str(error):
                    break
        return failure

    def _name(self, file: Any) -> str | None:
        """Return the path of a file in the project; None for any other."""
        path = file if isinstance(file, (str, os.PathLike)) else getattr(file, "name", None)
        if not isinstance(path, (str, os.PathLike)):
            return None
        real = os.path.realpath(os.fspath(path))
        if isinstance(real, str) and real.startswith(self._root):
            return real[len(self._root) :].replace(os.sep, "/")
        return None


def _is_forced() -> bool:
    return any(
        os.environ.get(name) in ("1", "y", "yes", "true")
        for name in ("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    )


def _open_again(file: Any, position: int | None) -> Any:
    """Return what can be read again without moving the program's file: a path, bytes, or None."""
    if isinstance(file, (str, os.PathLike)):
        path = os.fspath(file)
        return path if isinstance(path, str) and os.path.isfile(path) else None
    if isinstance(file, io.BytesIO) and position is not None:
        data = file.getvalue()
        return data[position:] if len(data) <= MOST_BYTES else None
    name = getattr(file, "name", None)
    if (
        isinstance(name, str)
        and os.path.isfile(name)
        and position == 0
        and isinstance(file, io.BufferedReader)
    ):
        return name
    return None


def _identify(file: Any, position: int | None) -> tuple[Any, ...] | None:
    source = _open_again(file, position)
    if isinstance(source, str):
        status = os.stat(source)
        return (os.path.realpath(source), status.st_size, status.st_mtime_ns)
    return None


def _resolve(name: str) -> Any:
    """Return a class or function that the program has imported, by its name."""
    module, _, leaf = name.rpartition(".")
    return getattr(sys.modules.get(module), leaf, None)


def _measure(source: Any) -> int:
    return os.path.getsize(source) if isinstance(source, str) else len(source)


def _fresh(source: Any) -> Any:
    return source if isinstance(source, str) else io.BytesIO(source)


def _list_globals(source: Any) -> list[str]:
    """Return the names of the classes and functions in a file that torch does not allow by default."""
    torch: Any = sys.modules["torch"]
    ask = getattr(torch.serialization, "get_unsafe_globals_in_checkpoint", None)
    if ask is not None:
        with contextlib.suppress(Exception):
            return sorted(str(name) for name in ask(_fresh(source)))[:100]
    with contextlib.suppress(Exception):
        return sorted(_read_globals(source) - _list_allowed())[:100]
    return []


def _list_allowed() -> set[str]:
    from torch import _weights_only_unpickler as unpickler  # type: ignore[import-not-found,unused-ignore]

    return set(unpickler._get_allowed_globals())


def _read_globals(source: Any) -> set[str]:
    """Return the globals in the pickle of a file, which is read and not loaded."""
    import pickletools
    import zipfile

    with zipfile.ZipFile(_fresh(source)) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        if archive.getinfo(name).file_size > 16 << 20:
            return set()
        pickled = archive.read(name)
    found: set[str] = set()
    strings: list[str] = []
    for opcode, value, _ in pickletools.genops(pickled):
        if opcode.name == "GLOBAL":
            found.add(".".join(str(value).split(" ")))
        elif opcode.name == "STACK_GLOBAL" and len(strings) > 1:
            found.add(".".join(strings[-2:]))
        elif isinstance(value, str):
            strings.append(value)
    return found
