"""Calls of ``module.forward(x)`` itself, read from the frame of `forward`: replacing the method would change what scripts it."""

from __future__ import annotations

import dis
import inspect
import sys
from typing import Any


def find_direct_call(frame: Any, owner: type) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """Return the module whose `forward` runs in a frame, with its arguments; None where they are not certain.

    Only the first question about a frame has an answer, since a loop may assign to the arguments in its second turn.
    """
    if sys.gettrace() is not None or frame.f_trace is not None:
        return None
    frame.f_trace = _mark  # it is never called: nothing traces
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    values = frame.f_locals
    module = values.get(names[0]) if names else None
    own = getattr(getattr(module, "forward", None), "__func__", None)
    if not isinstance(module, owner) or own is None or own.__code__ is not code:
        return None
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or _list_assigned(frame) & {*names}:
        return None
    args = [values[name] for name in names[1 : code.co_argcount]]
    defaults = list(own.__defaults__ or ())
    while args and defaults and args[-1] is defaults[-1]:
        args.pop()
        defaults.pop()
    others = own.__kwdefaults__ or {}
    named = {
        name: values[name]
        for name in names[code.co_argcount :]
        if name not in others or values[name] is not others[name]
    }
    return module, tuple(args), named


def _list_assigned(frame: Any) -> set[str]:
    """Return the local names that are assigned or deleted before the instruction that a frame has come to."""
    found: set[str] = set()
    for one in dis.get_instructions(frame.f_code):
        if one.offset >= frame.f_lasti:
            break
        if one.opname.startswith(("STORE_", "DELETE_")):
            found.update(one.argval if isinstance(one.argval, tuple) else [one.argval])
    return found


def _mark(*_: Any) -> None:
    """Stand in a frame for the fact that it was asked about."""
