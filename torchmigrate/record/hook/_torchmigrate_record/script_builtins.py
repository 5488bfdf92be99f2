"""Functions that TorchScript knows by their identity, such as `warnings.warn` and `torch.autograd.grad`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any


def keep_builtin(original: Callable[..., Any], wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """Let TorchScript compile a call of ``wrapper`` as that of ``original``, which it stands for; return the wrapper."""
    with contextlib.suppress(Exception):
        known: Any = sys.modules["torch.jit._builtins"]
        operators = [name for function, name in known._builtin_ops if function is original]
        known._builtin_ops += [(wrapper, name) for name in operators]
        for name in operators if known._builtin_table is not None else ():
            known._register_builtin(wrapper, name)
    return wrapper
