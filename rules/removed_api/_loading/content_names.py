"""Names that tell what a file holds: of members, functions, variables and paths."""

from __future__ import annotations

import ast
import functools
import re
from collections import OrderedDict

from torchmigrate.semantics.name_resolution import last_name, string_value
from torchmigrate.semantics.scopes import Scope
from torchmigrate.semantics.symbol_uses import SymbolUses
from torchmigrate.tables import api_ledger

PLAIN_MEMBERS = frozenset(
    name
    for kind in (dict, OrderedDict, list, tuple, set, str, bytes, int, float, complex)
    for name in dir(kind)
) | frozenset({"_metadata", "type", "index", "most_common"})
"""The members of plain containers and values, and of `torch.device`: all that `weights_only=True` loads besides tensors."""
SHARED_MEMBERS = frozenset(
    """to cuda cpu xpu float double half bfloat16 type requires_grad_ share_memory share_memory_ copy clone detach
    contiguous pop get setdefault values""".split()  # noqa: SIM905 -- a list of names is read as one
)
"""The methods that return the object itself, or a part of it, whatever it is."""
STATE_TAKERS = re.compile(
    r"(?i)load_?(?:\w+_)?(?:state_?dict|weights|params)|set_\w*state_?dict|(?:state_?dict|weights)_to_load|^copy_$"
)
"""The functions that take a state dict, or a tensor."""
STATE_NAMES = re.compile(
    r"(?i)(?:^|_)(?:state_?dicts?|weights?|embeddings?|tensors?|param_?dict|params|sd|latents?|logits)(?:_\w+)?$|state_?dict$"
)
"""Names of variables, parameters and functions that say what a file holds."""
MODEL_NAMES = re.compile(r"(?i)^(?:\w+_)?(?:model|net|network|module|dataset)$")
"""Names of variables that say that a file holds an object."""
KEEPERS = frozenset(
    {"dict", "OrderedDict", "list", "tuple", "set", "sorted", "reversed", "iter", "next", "copy", "deepcopy"}
)
"""Functions whose result is their argument, or has the same parts."""
READERS = frozenset({"len", "print", "str", "int", "float", "max", "min"})
"""Functions that keep nothing of their argument."""
PLAIN_TAKERS = READERS | KEEPERS | frozenset({"Namespace", "update", "from_dict", "SimpleNamespace"})
"""Functions that take a mapping, or anything."""
NAMESPACES = frozenset({"args", "opt", "opts"})
"""Keys and variables under which programs keep their parsed arguments."""
TESTS = frozenset({"isinstance", "issubclass", "hasattr", "getattr", "type", "callable", "is_tensor"})


@functools.cache
def list_tensor_members() -> frozenset[str]:
    """Return the names of a tensor's members."""
    return frozenset(api_ledger.list_members("torch.Tensor"))


def names_state(path: ast.expr | None) -> bool:
    """Return whether the code of a path says that its file holds weights: ``weights_path``, ``"pytorch_model.bin"``."""
    return path is not None and any(
        re.search(r"(?i)state_?dict|weights?(?:\b|_)|pytorch_model\.bin|embeddings?\b", text)
        for node in ast.walk(path)
        if (text := string_value(node) or last_name(node))
    )


def takes_tensor(call: ast.Call, scope: Scope, uses: SymbolUses) -> bool:
    """Return whether a function of torch takes a value, and nothing that is only about objects."""
    resolved = uses.names.resolve_expression(call.func, scope)
    name = resolved.names[0] if resolved is not None else ""
    return (
        name.startswith("torch.")
        and (
            name.count(".") == 1
            or name.startswith(("torch.nn.functional.", "torch.testing.", "torch.linalg."))
        )
        and name not in ("torch.save", "torch.load", "torch.compile", "torch.is_tensor", "torch.device")
    )
