"""What `torch.load` accepts with ``weights_only=True``, its default since torch 2.6, and why it rejects a pickle.

Source: torch/_weights_only_unpickler.py in the wheels of torch 2.6 to 2.15: the names that it allows, the instructions that it
knows, and which objects may get items.
"""

from __future__ import annotations

import _compat_pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torchmigrate.artifacts import pickle_reader
from torchmigrate.artifacts.pickle_reader import ImportedName, PickleContents, PickledCall


def _expand_names(prefix: str, names: str, suffix: str = "") -> set[str]:
    return {f"{prefix}{name}{suffix}" for name in names.split()}


_SCALARS = "BFloat16 Byte Char Double Float Half Int Long Short"
_ALLOWED = frozenset(
    _expand_names("torch.", f"{_SCALARS} Bool ComplexDouble ComplexFloat QInt32 QInt8 QUInt2x4 QUInt4x2 QUInt8", "Storage")
    | _expand_names("torch.cuda.", f"{_SCALARS} Bool ComplexDouble ComplexFloat", "Storage")
    | {name for owner in ("torch.", "torch.cuda.") for name in _expand_names(owner, f"{_SCALARS} Bool", "Tensor")}
    | {name for owner in ("torch.sparse.", "torch.cuda.sparse.") for name in _expand_names(owner, _SCALARS, "Tensor")}
    | _expand_names("torch.storage.", "TypedStorage UntypedStorage")
    | _expand_names(
        "torch.",
        "bfloat16 bool complex32 complex64 complex128 float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
        "qint8 qint32 quint8 quint2x4 quint4x2 bits8 bits16 bits1x8 bits2x4 bits4x2 float8_e5m2 float8_e4m3fn float8_e5m2fnuz "
        "float8_e4m3fnuz per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric "
        "per_channel_affine_float_qparams Size Tensor device nn.parameter.Parameter serialization._get_layout "
        "_tensor._rebuild_from_type_v2",
    )
    | _expand_names(
        "torch._utils._rebuild_",
        "parameter parameter_with_state qtensor tensor tensor_v2 tensor_v3 sparse_tensor meta_tensor_no_storage wrapper_subclass "
        "device_tensor_from_numpy device_tensor_from_cpu_tensor",
    )
    | {"_codecs.encode", "builtins.bytearray", "builtins.set", "builtins.complex"}
    | {"collections.OrderedDict", "collections.Counter"}
)  # fmt: skip
"""The names that every torch from 2.6 to 2.15 allows."""

_ALLOWED_SINCE = {
    "torch.float8_e8m0fnu": "2.7",
    "torch.float4_e2m1fn_x2": "2.8",
    "torch.bcomplex32": "2.14",
    **dict.fromkeys((f"torch.{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)), "2.7"),
}
"""The names that later releases allow, with the first of them."""

_ALLOWED_UNTIL = {"torch._utils._rebuild_nested_tensor": "2.14"}
"""The names that later releases no longer allow, with the last release that does."""

_ALLOWED_BY_IMPORT = {
    "torch.distributed.device_mesh.DeviceMesh": "torch.distributed.tensor",
    **dict.fromkeys(
        _expand_names("torch.distributed.tensor.", "DTensor _dtensor_spec.DTensorSpec _dtensor_spec.TensorMeta")
        | _expand_names("torch.distributed.tensor.placement_types.", "Partial Replicate Shard"),
        "torch.distributed.tensor",
    ),
}  # fmt: skip
"""The names that are allowed once a module of torch is imported."""

_BLOCKED_MODULES = frozenset({"sys", "os", "posix", "nt"})
"""The modules of which nothing can be allowed."""

MOST_NAMES = 6
"""The most names that a note lists."""

_OPCODE_NAMES = (
    "GLOBAL NEWOBJ REDUCE BUILD APPEND APPENDS SETITEM SETITEMS MARK TUPLE TUPLE1 TUPLE2 TUPLE3 NONE NEWFALSE NEWTRUE "
    "EMPTY_DICT EMPTY_LIST EMPTY_SET EMPTY_TUPLE BININT BININT1 BININT2 BINFLOAT BINUNICODE SHORT_BINSTRING BINPERSID "
    "BINGET LONG_BINGET BINPUT LONG_BINPUT LONG1 PROTO STOP"
)
_KNOWN_OPCODES = frozenset(_OPCODE_NAMES.split())


@dataclass(frozen=True, slots=True)
class WeightsOnlyVerdict:
    """Whether `torch.load` of 2.6 and newer loads a file by default."""

    accepted: bool
    needs: tuple[str, ...] = ()
    """The classes and functions to allow with `torch.serialization.safe_globals`, as expressions of Python."""
    since: str | None = None
    """The first torch that accepts it, where that is not 2.6."""
    until: str | None = None
    """The last torch that accepts it, if a later one does not."""
    imports: tuple[str, ...] = ()
    """The modules to import before."""
    obstacle: str | None = None
    """Why it is rejected whatever is allowed, as a clause."""


def judge_pickle(found: PickleContents) -> WeightsOnlyVerdict:
    """Judge what `torch.load` does with a pickle."""
    names = [_rename_import(name) for name in found.names]
    unknown = [
        name
        for name in names
        if not any(str(name) in one for one in (_ALLOWED, _ALLOWED_SINCE, _ALLOWED_UNTIL, _ALLOWED_BY_IMPORT))
    ]
    needs = [*dict.fromkeys([*map(write_global, unknown), *_find_numpy_types(found.value)])]
    obstacle = _find_obstacle(found, unknown)
    since = max((_ALLOWED_SINCE.get(str(name), "") for name in names), key=_parse_release, default="")
    until = next((_ALLOWED_UNTIL[str(name)] for name in names if str(name) in _ALLOWED_UNTIL), None)
    imports = tuple(dict.fromkeys(_ALLOWED_BY_IMPORT[str(n)] for n in names if str(n) in _ALLOWED_BY_IMPORT))
    return WeightsOnlyVerdict(
        not needs and obstacle is None, tuple(needs), since or None, until, imports, obstacle
    )


def _parse_release(release: str) -> list[int]:
    return [int(part) for part in release.split(".") if part]


def _rename_import(name: ImportedName) -> ImportedName:
    """Return a name of Python 2, which pickles of protocol 2 have, as Python 3 has it."""
    pair = (name.module, name.name)
    module, attribute = _compat_pickle.NAME_MAPPING.get(pair, pair)
    return ImportedName(_compat_pickle.IMPORT_MAPPING.get(module, module), attribute)


def write_global(name: ImportedName) -> str:
    """Return a name as `safe_globals` takes it: with the name in the file where NumPy has moved it since."""
    module, _, rest = str(name).partition(".core.")
    if module == "numpy":
        return f'(numpy._core.{rest}, "{name}")'
    return name.name if name.module == "builtins" else str(name)


def _find_numpy_types(value: Any) -> Iterator[str]:
    """Yield the classes of NumPy's types in a pickle, which get a state and therefore have to be allowed as well."""
    for one in pickle_reader.walk_values(value):
        if isinstance(one, PickledCall) and one.is_call_to("numpy.dtype") and isinstance(one.args, tuple):
            code = one.args[0] if one.args and isinstance(one.args[0], str) else ""
            yield f'type(numpy.dtype("{code}"))' if code.isalnum() else "type(numpy.dtype(…))"


def _find_obstacle(found: PickleContents, unknown: list[ImportedName]) -> str | None:
    """Return why a pickle is rejected whatever is allowed, as a clause; None if it can be allowed."""
    if others := sorted(found.opcodes - _KNOWN_OPCODES):
        return f"the pickle has the instruction {others[0]}, as those of protocols other than 2 do"
    if blocked := next((name for name in unknown if name.module in _BLOCKED_MODULES), None):
        return f"nothing of the module {blocked.module} can be allowed"
    for one in pickle_reader.walk_values(found.value):
        if not isinstance(one, PickledCall):
            continue
        if one.items:
            return f"items are added to {_describe_call(one)}, which is no list"
        if one.pairs and not one.is_call_to("collections.OrderedDict", "collections.Counter"):
            return f"items are added to {_describe_call(one)}, which torch 2.10 and newer reject"
        if not isinstance(one.what, ImportedName):
            return "it holds the class of a module as old files do, or calls what another call returns"
    return None


def _describe_call(call: PickledCall) -> str:
    return f"a {call.what.name}" if isinstance(call.what, ImportedName) else "an object"


def describe_verdict(verdict: WeightsOnlyVerdict) -> str:
    """Return the note about a file, as a clause."""
    if verdict.accepted:
        since = f"from torch {verdict.since} on" if verdict.since else "the default since torch 2.6"
        until = f", up to torch {verdict.until}" if verdict.until else ""
        before = "".join(f", after `import {name}`" for name in verdict.imports)
        return f"loads with weights_only=True, {since}{until}{before}"
    text = "rejected with weights_only=True, the default since torch 2.6"
    if verdict.obstacle:
        return f"{text}, whatever is allowed: {verdict.obstacle}"
    if len(verdict.needs) > MOST_NAMES:
        shown = ", ".join(verdict.needs[:MOST_NAMES])
        return f"{text}: it needs {len(verdict.needs)} classes and functions: {shown} …"
    return f"{text}, unless it is loaded with torch.serialization.safe_globals([{', '.join(verdict.needs)}])"
