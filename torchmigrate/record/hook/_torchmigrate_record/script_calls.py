"""What is scripted, traced, loaded and saved as TorchScript, and with which inputs the results are called."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import weakref
from collections.abc import Callable
from typing import Any

from . import export_proofs
from .module_inputs import ModuleInputs
from .places import is_torch
from .script_builtins import keep_builtin
from .signatures import describe_call, describe_value, key_values, order_names

MOST_SIGNATURES = 40
"""The most signatures that are recorded for one script or trace."""


def watch(recording: Any) -> None:
    """Watch the functions of `torch.jit`, and the calls of what they return."""
    torch: Any = sys.modules["torch"]
    scripts = _Scripts(recording)
    for name in ("script", "trace", "trace_module", "load", "freeze", "optimize_for_inference"):
        if hasattr(torch.jit, name):
            setattr(torch.jit, name, scripts.wrap_maker(name, getattr(torch.jit, name)))
    torch.jit.save = scripts.wrap_save(torch.jit.save)
    torch.jit.RecursiveScriptModule.save = scripts.wrap_save(torch.jit.RecursiveScriptModule.save)
    scripts.watch_calls(torch.jit.ScriptModule)
    scripts.watch_calls(torch.jit.ScriptFunction)
    scripts.watch_methods(torch.jit.RecursiveScriptModule)
    torch.autograd.grad = scripts.wrap_derivative(torch.autograd.grad)
    torch.autograd.backward = scripts.wrap_derivative(torch.autograd.backward)
    if recording.options.get("prove"):
        scripts.keeper = export_proofs.Keeper(recording)
    scripts.inputs = ModuleInputs(recording.is_compiling, scripts.keeper and scripts.keeper.copy_plain)


class _Made:
    """A script module or function, and the facts about it."""

    def __init__(self, at: dict[str, Any] | None, package: str | None, maker: str, number: int) -> None:
        self.at, self.package, self.maker, self.number = at, package, maker, number
        self.calls: dict[Any, tuple[int, ...]] = {}
        self.wraps: Any = None
        self.origin: Any = None
        """What was saved in the file that a load has read."""


class _Forward:
    """The method `forward` of a script module, whose calls are noted: ``scripted.forward(x)``."""

    def __init__(self, method: Any, note: Callable[..., None]) -> None:
        self._method, self._note = method, note

    @property  # type: ignore[misc,unused-ignore]
    def __class__(self) -> Any:
        return type(self._method)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self._method(*args, **kwargs)
        self._note(args, kwargs, result)
        return result


class _Scripts:
    def __init__(self, recording: Any) -> None:
        self._recorder = recording.recorder
        self._places = recording.places
        self._is_compiling = recording.is_compiling
        self._made: dict[int, _Made] = {}
        self._torch: Any = sys.modules["torch"]
        self._saved: dict[str, _Made] = {}
        """What this process has saved, by the path of the file."""
        self.keeper: Any = None
        """What keeps inputs for the proofs, if they are wanted."""
        self.inputs: Any = None
        """The inputs of plain modules."""

    def wrap_maker(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that notes a script, trace or load, and what it returns."""

        @functools.wraps(original)
        def make(*args: Any, **kwargs: Any) -> Any:
            if self._is_compiling():
                return original(*args, **kwargs)
            if name == "script" and len(args) < 3:  # names are looked up in the frame of the caller
                kwargs["_frames_up"] = kwargs.get("_frames_up", 0) + 1
            elif name == "script":
                args = (*args[:2], args[2] + 1, *args[3:])
            result = original(*args, **kwargs)
            with contextlib.suppress(Exception):
                caller = self._places.skip_neutral(sys._getframe(1))
                if caller is not None and not is_torch(self._places.find_owner(caller.f_code.co_filename)):
                    self._note_made(name, caller, args, kwargs, result)
            return result

        return make

    def wrap_save(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that notes a save."""

        @functools.wraps(original)
        def save(m: Any, *args: Any, **kwargs: Any) -> Any:
            with contextlib.suppress(Exception):
                made = self._made.get(id(m))
                self._note_place("save", sys._getframe(1), {"of": made.at if made else None})
                path = _find_path(args[0] if args else kwargs.get("f"))
                if made is not None and path:
                    self._saved[path] = made
            return original(m, *args, **kwargs)

        return save

    def wrap_derivative(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that notes derivatives which can be differentiated again."""

        @functools.wraps(original)
        def derive(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("create_graph") and not self._is_compiling():
                with contextlib.suppress(Exception):
                    self._note_place("derivative", sys._getframe(1), {})
            return original(*args, **kwargs)

        return keep_builtin(original, derive)

    def _note_place(self, maker: str, frame: Any, more: dict[str, Any]) -> tuple[Any, str | None, int]:
        """Note a call of torch at the innermost frame of project or package, and return where it is."""
        caller = self._places.skip_neutral(frame)
        at = self._places.describe_frame(caller)
        package = None
        if at is None:
            culprit = self._places.find_culprit(caller)
            at = self._places.describe_frame(self._places.find_frame(caller))
            if culprit.kind == 1:
                package = self._places.describe_package(culprit.name)
        fact = {"kind": "script", "maker": maker, "at": at, "package": package, **more}
        key = ("script", maker, at and (at["path"], at["line"], at.get("cell")), package, str(sorted(more)))
        return at, package, self._recorder.note((*key, str(more)), fact)

    def _note_made(self, name: str, frame: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        given = args[0] if args else next(iter(kwargs.values()), None)
        kind = type(given) if not isinstance(given, type) else given
        if callable(given) and hasattr(given, "__qualname__"):
            what, named = ("class" if isinstance(given, type) else "function"), given.__qualname__
        elif isinstance(given, self._torch.nn.Module):
            what, named = "module", kind.__qualname__
        else:
            what, named = "other", ""
        more: dict[str, Any] = {"what": what, "name": named}
        if what == "module":
            more["training"] = bool(getattr(given, "training", False))
        at, package, number = self._note_place(name, frame, more)
        if result is given or isinstance(result, type):
            return
        made = _Made(at, package, name, number)
        if not isinstance(given, self._torch.jit.ScriptModule) and name in ("script", "trace"):
            made.wraps = given
        if name == "load":
            made.origin = self._saved.get(_find_path(given))
        self._remember(result, made)
        if self.keeper is not None and made.wraps is not None:
            self.keeper.begin(made, result, name)
        example = args[1] if len(args) > 1 else kwargs.get("example_inputs")
        if name == "trace" and example is not None:
            form = next((kind.__name__ for kind in (tuple, list) if isinstance(example, kind)), "one")
            inputs = (example,) if form == "one" else tuple(example)
            self._note_signature(made, "example", describe_call(inputs, {}), form=form)
            if self.keeper is not None:
                self.keeper.keep(made, inputs, {})
        if what == "module" and made.wraps is not None and (at or package):
            self._note_inputs(made, given)

    def _note_inputs(self, made: _Made, module: Any) -> None:
        """Note the inputs that the plain module has had, and those that it will have."""

        def tell(signature: Any, values: Any) -> None:
            self._note_signature(made, "input", signature)
            if self.keeper is not None and values is not None:
                self.keeper.add(made, values)

        inputs = self.inputs.find(module)
        inputs.tell = tell
        for call in inputs.calls.values():
            tell(*call)

    def _remember(self, result: Any, made: _Made) -> None:
        known, number = self._made, id(result)
        known[number] = made
        with contextlib.suppress(TypeError):
            weakref.finalize(result, known.pop, number, None).atexit = False

    def watch_calls(self, owner: Any) -> None:
        """Watch the calls of script modules, or of script functions."""
        original, note, is_compiling = owner.__call__, self._note_call, self._is_compiling

        @functools.wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            if not is_compiling():
                note(self, args, kwargs, result)
            return result

        owner.__call__ = call

    def watch_methods(self, owner: Any) -> None:
        """Watch which methods beside `forward` are looked up, and the calls of `forward` itself."""
        original = owner.__getattr__
        outside: dict[Any, bool] = {}

        @functools.wraps(original)
        def look_up(module: Any, name: str) -> Any:
            found = original(module, name)
            if type(found) is self._torch._C.ScriptMethod and name == "forward":
                frame = sys._getframe(1)
                if frame.f_code.co_name == "__get__" and frame.f_back is not None:  # a descriptor of torch's
                    frame = frame.f_back
                if frame.f_code not in outside:
                    asking = self._places.find_owner(frame.f_code.co_filename)
                    outside[frame.f_code] = not is_torch(asking)
                if outside[frame.f_code] and id(module) in self._made and not self._is_compiling():
                    return _Forward(found, functools.partial(self._note_call, module))
            elif type(found) is self._torch._C.ScriptMethod:
                with contextlib.suppress(Exception):
                    made = self._made.get(id(module))
                    if made is not None:
                        fact = {"kind": "method", "of": made.at, "package": made.package, "name": name}
                        self._recorder.note(("method", made.number, name), fact)
            return found

        owner.__getattr__ = look_up

    def _note_signature(self, made: _Made, kind: str, signature: Any, **more: Any) -> int:
        """Note inputs of one signature, and return the number of the fact."""
        fact = {
            "kind": kind,
            "of": made.at,
            "package": made.package,
            "maker": made.maker,
            "signature": signature,
            **more,
        }
        number: int = self._recorder.note((kind, made.number, str(fact)), fact)
        return number

    def _note_call(self, module: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        made = self._made.get(id(module))
        if made is None or self._torch._C._get_tracing_state() is not None:  # which would hold the sizes
            return
        try:
            graded, caller = self._torch.is_grad_enabled(), sys._getframe(2)
            key = (
                graded,
                caller.f_code,
                caller.f_lineno,
                key_values(args),
                *((tuple(kwargs), key_values(kwargs.values())) if kwargs else ()),
            )
            numbers = made.calls.get(key)
            if numbers is not None:
                for number in numbers:
                    self._recorder.count(number)
                return
            if len(made.calls) >= MOST_SIGNATURES:
                if self.keeper is not None:
                    self.keeper.leave_out(made.origin or made)
                return
            output = describe_value(result)
            plain = (made.origin or made).wraps
            signature = describe_call(args, order_names(kwargs, plain))
            grad = bool(graded and _requires_grad(output))
            at = self._places.describe_frame(self._places.find_frame(caller))
            made.calls[key] = tuple(
                self._note_signature(one, "call", signature, output=output, grad=grad, at=at)
                for one in (made, made.origin)
                if one
            )
            if self.keeper is not None:
                self.keeper.keep(made.origin or made, args, kwargs)
        except Exception:
            return


def _find_path(file: Any) -> str:
    """Return the real path of a file that is given by its path, else an empty text."""
    return os.path.realpath(os.fspath(file)) if isinstance(file, (str, os.PathLike)) else ""


def _requires_grad(output: dict[str, Any]) -> bool:
    if "grad" in output:
        return bool(output["grad"])
    parts = output.get("list") or output.get("tuple") or list(output.get("dict", {}).values())
    return any(map(_requires_grad, parts))
