"""The inputs of plain modules: what a program trains and only then scripts is called before, and what it saves often not at all.

`torch.nn.Module.__call__` is replaced for some calls after the start, and after each `train()` and `eval()`, and is
torch's own again afterwards. A hook of all modules would change what `torch.export` and `torch.compile` do.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import weakref
from collections.abc import Callable
from typing import Any

from .direct_calls import find_direct_call
from .signatures import describe_call, key_values, order_names

_OF_TORCH = re.compile(r"[/\\]torch[/\\](nn[/\\]modules|jit|fx|export|_dynamo)[/\\]")
"""Files of torch that call modules inside of others, or only to look at them."""

MOST_CALLS = 2_000
"""The calls of modules after which the watch ends until the next `train()` or `eval()`."""
MOST_SIGNATURES = 8
"""The most signatures that are kept for one module."""


class Inputs:
    """The distinct inputs of one module."""

    def __init__(self, module: Any) -> None:
        self.module = weakref.ref(module)
        self.calls: dict[Any, tuple[dict[str, Any], Any]] = {}
        """The signature of each, and a copy of the inputs themselves if proofs want it, by a key of the signature."""
        self.tell: Callable[[dict[str, Any], Any], None] | None = None
        """What notes a signature, with the inputs, once the module is scripted or traced."""


class ModuleInputs:
    """The inputs of all modules that are called from outside of others.

    ``copy`` returns a copy of a call's arguments for the proofs, or None where there is no room for it.
    """

    def __init__(self, is_compiling: Callable[[], bool], copy: Callable[[Any], Any] | None) -> None:
        torch: Any = sys.modules["torch"]
        self._is_compiling, self._copy = is_compiling, copy
        self._torch = torch
        self._module: Any = torch.nn.Module
        self._original = self._module.__call__
        self._watching = self._wrap_call(self._original)
        self._left = 0
        self._seen: dict[int, Inputs] = {}
        self._module.train = self._wrap_train(self._module.train)
        self._begin()

    def find(self, module: Any) -> Inputs:
        """Return the inputs of a module; if it was never called, those of one of its class with parameters of the same sizes."""
        found = self._seen.get(id(module))
        if found is None:
            others = (one for one in self._seen.values() if _are_alike(one.module(), module))
            other = next(others, None)
            found = self._remember(module)
            if other is not None:
                found.calls.update(other.calls)
        return found

    def _begin(self) -> None:
        self._left = MOST_CALLS
        if self._module.__call__ is self._original:
            self._module.__call__ = self._watching

    def _end(self) -> None:
        if self._module.__call__ is self._watching:  # and not what the program has put in its place
            self._module.__call__ = self._original

    def _wrap_train(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def train(module: Any, mode: bool = True) -> Any:
            if not self._is_compiling():
                self._begin()
            return original(module, mode)

        return train

    def _wrap_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling, get_frame = self._is_compiling, sys._getframe
        outside: dict[Any, bool] = {}

        def is_outside(code: Any) -> bool:
            found = outside.get(code)
            if found is None:
                found = outside[code] = _OF_TORCH.search(code.co_filename) is None
            return found

        @functools.wraps(original)
        def call(self_: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_compiling():
                caller = get_frame(1)
                if is_outside(caller.f_code):
                    self._note(self_, args, kwargs)
                beyond = caller.f_back if caller.f_code.co_name == "forward" else None
                if beyond is not None and is_outside(beyond.f_code):
                    self._note_direct(caller)
                self._left -= 1
                if self._left <= 0:
                    self._end()
            return original(self_, *args, **kwargs)

        return call

    def _note_direct(self, frame: Any) -> None:
        """Note the inputs of ``module.forward(x)``, which is not called through `__call__`, at its first call of a module inside."""
        with contextlib.suppress(Exception):
            found = find_direct_call(frame, self._module)
            if found is not None:
                self._note(*found)

    def _note(self, module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        with contextlib.suppress(Exception):
            if self._torch._C._get_tracing_state() is not None or not self._are_real((args, kwargs)):
                return
            inputs = self._seen.get(id(module))
            if inputs is None:
                inputs = self._remember(module)
            key = (key_values(args), tuple(kwargs), key_values(kwargs.values()))
            if key in inputs.calls or len(inputs.calls) >= MOST_SIGNATURES:
                return
            values = None if self._copy is None else self._copy((args, kwargs))
            call = inputs.calls[key] = describe_call(args, order_names(kwargs, module)), values
            if inputs.tell is not None:
                inputs.tell(*call)

    def _are_real(self, value: Any) -> bool:
        """Return whether no value stands for others, whose sizes must not be asked for: as in `torch.export` and `torch.fx`."""
        kind = type(value)
        if kind in (list, tuple):
            return all(map(self._are_real, value))
        if kind is dict:
            return all(map(self._are_real, value.values()))
        if isinstance(value, self._torch.Tensor):
            return kind in (self._torch.Tensor, self._torch.nn.Parameter)
        return not kind.__module__.startswith("torch.fx")

    def _remember(self, module: Any) -> Inputs:
        number = id(module)
        inputs = self._seen[number] = Inputs(module)
        weakref.finalize(module, self._seen.pop, number, None).atexit = False
        return inputs


def _are_alike(one: Any, other: Any) -> bool:
    """Return whether two modules are of one class, and have parameters and buffers of the same sizes."""
    return type(one) is type(other) and _list_sizes(one) == _list_sizes(other)


def _list_sizes(module: Any) -> list[Any]:
    # And no `state_dict()`, which may run the program's code, or talk to other ranks.
    return [(name, tensor.shape) for name, tensor in (*module.named_parameters(), *module.named_buffers())]
