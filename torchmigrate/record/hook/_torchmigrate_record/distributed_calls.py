"""Process groups as they are made, point-to-point operations in the order in which a rank issues them, and the groups that
functional collectives get.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from .late_modules import act_after_import
from .places import is_torch

MOST_OPERATIONS = 2_000
"""The most operations of one rank that are recorded."""
_MAKERS = ("init_process_group", "new_group", "split_group", "new_subgroups")
_POINTS = {"isend": "send", "send": "send", "irecv": "receive", "recv": "receive"}


def watch(recording: Any) -> None:
    """Watch the functions of `torch.distributed`, if this torch has it."""
    torch: Any = sys.modules["torch"]
    if not torch.distributed.is_available():
        return
    calls = _Calls(recording)
    module = sys.modules["torch.distributed.distributed_c10d"]
    for name in _MAKERS:
        _replace(module, name, functools.partial(calls.wrap_maker, name))
    for name in _POINTS:
        _replace(module, name, functools.partial(calls.wrap_point, name))
    _replace(module, "batch_isend_irecv", calls.wrap_batch)
    act_after_import("torch.distributed._functional_collectives", calls.watch_collectives)


def _replace(module: Any, name: str, wrap: Callable[[Any], Any]) -> None:
    """Replace a function where it is defined, and in the package that exports it: `P2POp` compares them."""
    torch: Any = sys.modules["torch"]
    original = getattr(module, name, None)
    if original is None:
        return
    wrapped = wrap(original)
    for owner in (module, torch.distributed):
        if getattr(owner, name, None) is original:
            setattr(owner, name, wrapped)


class _Calls:
    def __init__(self, recording: Any) -> None:
        self._recorder = recording.recorder
        self._places = recording.places
        self._is_compiling = recording.is_compiling
        self._depth = 0
        self._operations = 0
        self._torch: Any = sys.modules["torch"]

    def wrap_maker(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that notes how a group is made."""

        @functools.wraps(original)
        def make(*args: Any, **kwargs: Any) -> Any:
            outermost, self._depth = self._depth == 0, self._depth + 1
            try:
                result = original(*args, **kwargs)
            finally:
                self._depth -= 1
            if outermost:
                with contextlib.suppress(Exception):
                    self._note_group(name, sys._getframe(1), kwargs, result)
            return result

        return make

    def wrap_point(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that notes one operation."""

        @functools.wraps(original)
        def issue(*args: Any, **kwargs: Any) -> Any:
            if self._depth == 0 and not self._is_compiling():
                with contextlib.suppress(Exception):
                    peer = args[1] if len(args) > 1 else kwargs.get("dst", kwargs.get("src"))
                    group = args[2] if len(args) > 2 else kwargs.get("group")
                    inside = kwargs.get("group_dst", kwargs.get("group_src"))
                    if inside is not None and group is not None:
                        peer = self._torch.distributed.get_global_rank(group, inside)
                    at = self._describe(sys._getframe(1))
                    self._note_operations(group, [(_POINTS[name], peer, at)])
            self._depth += 1
            try:
                return original(*args, **kwargs)
            finally:
                self._depth -= 1

        return issue

    def wrap_batch(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that notes a batch of operations, which are one to the communicator."""

        @functools.wraps(original)
        def issue(p2p_op_list: Any, *args: Any, **kwargs: Any) -> Any:
            with contextlib.suppress(Exception):
                at = self._describe(sys._getframe(1))
                operations = [(_POINTS[one.op.__name__], one.peer, at) for one in p2p_op_list]
                self._note_operations(p2p_op_list[0].group, operations)
            self._depth += 1
            try:
                return original(p2p_op_list, *args, **kwargs)
            finally:
                self._depth -= 1

        return issue

    def watch_collectives(self, module: Any) -> None:
        """Watch the functions of a module that take a group."""
        for name, function in list(vars(module).items()):
            if inspect.isfunction(function) and function.__module__ == module.__name__ and name[0] != "_":
                names = list(inspect.signature(function).parameters)
                if "group" in names:
                    setattr(module, name, self._wrap_collective(name, function, names.index("group")))

    def _wrap_collective(self, name: str, original: Callable[..., Any], position: int) -> Callable[..., Any]:
        """Return the function that notes which kind of group it gets."""

        @functools.wraps(original)
        def collect(*args: Any, **kwargs: Any) -> Any:
            if not self._is_compiling():
                with contextlib.suppress(Exception):
                    caller = self._places.skip_neutral(sys._getframe(1))
                    if not is_torch(self._places.find_owner(caller.f_code.co_filename)):
                        group = args[position] if len(args) > position else kwargs.get("group")
                        self._note_collective(name, group, caller)
            return original(*args, **kwargs)

        return collect

    def _note_collective(self, name: str, group: Any, caller: Any) -> None:
        is_name = isinstance(group, str)
        kind = "name" if is_name else "group" if hasattr(group, "group_name") else "other"
        at = self._describe(caller)
        culprit = self._places.find_culprit(caller)
        package = self._places.describe_package(culprit.name) if culprit.kind == 1 else None
        key = ("collective", name, str(group) if is_name else kind, package, str(at))
        if self._recorder.knows(key):
            self._recorder.note(key, {})
            return
        ranks = []
        if is_name:
            found = self._torch.distributed.distributed_c10d._resolve_process_group(group)
            ranks = list(self._torch.distributed.get_process_group_ranks(found))
        fact = {
            "kind": "collective",
            "name": name,
            "at": at,
            "package": package,
            "given": kind,
            "group": group if is_name else None,
            "ranks": ranks,
        }
        self._recorder.note(key, fact)

    def _describe(self, frame: Any) -> dict[str, Any] | None:
        place: dict[str, Any] | None = self._places.describe_frame(self._places.find_frame(frame))
        return place

    def _note_group(self, name: str, frame: Any, kwargs: dict[str, Any], result: Any) -> None:
        dist = self._torch.distributed
        group = None if name == "init_process_group" else result
        is_member = not isinstance(group, (list, tuple)) and group is not dist.GroupMember.NON_GROUP_MEMBER
        known = is_member and name in ("init_process_group", "new_group")
        fact = {
            "kind": "group",
            "maker": name,
            "at": self._describe(frame),
            "rank": dist.get_rank(),
            "world": dist.get_world_size(),
            "ranks": list(dist.get_process_group_ranks(group or dist.group.WORLD)) if known else [],
            "backend": str(dist.get_backend(group)) if known else "",
            "eager": kwargs.get("device_id") is not None,
        }
        self._recorder.note(("group", str(fact)), fact)

    def _note_operations(self, group: Any, operations: list[Any]) -> None:
        if self._operations >= MOST_OPERATIONS:
            return
        dist = self._torch.distributed
        self._operations += 1
        fact = {
            "kind": "p2p",
            "number": self._operations,
            "rank": dist.get_rank(),
            "group": _name_group(dist, group),
            "backend": str(dist.get_backend(group)),
            "operations": [{"do": do, "peer": peer, "at": at} for do, peer, at in operations],
        }
        self._recorder.note(("p2p", self._operations), fact)


def _name_group(dist: Any, group: Any) -> str:
    """Return a name of a group that all its ranks give it."""
    ranks = dist.get_process_group_ranks(group or dist.group.WORLD)
    name = getattr(group or dist.group.WORLD, "group_name", "")
    return "%s:%s" % (name, ",".join(map(str, ranks)))
