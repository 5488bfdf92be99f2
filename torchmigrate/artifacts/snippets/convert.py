"""Makes an exported program of a TorchScript archive and compares the two, or packages the program and compares again.

Runs in the user's interpreter (Python 3.8 or newer, torch 2.5 or newer). The question is JSON in the file that the
answer then replaces; beside it, the file ``stage`` tells what is being done, in case no answer comes.

All of it is one file because it travels as one: to an interpreter that has no torchmigrate, and to machines of a cluster.
"""

# torchmigrate: ignore-file TS101, TS112 -- TorchScript archives are what is converted here
from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

MOST_SYMBOLS = 8
"""The most open sizes that are tried with other values."""

MOST_SIZES = 24
"""The most fixed sizes that are tried with another value."""

IN_TRAINING = ("Dropout", "AlphaDropout", "FeatureAlphaDropout", "BatchNorm", "InstanceNorm", "RReLU")
"""Modules that behave differently in training."""

_TYPES = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128 uint16 uint32 uint64"
DTYPES = _TYPES.split()


class Refusal(Exception):
    """The archive, or the request, cannot be served; the text is for the user."""


torch: Any = None
"""The module, which `main` imports: nothing here may need it earlier."""


class State:
    answer: str = ""
    step: str = "load"


def set_stage(step: str, text: str) -> None:
    """Record the current stage, also in a file, in case the process ends without an answer."""
    State.step = step
    with open(os.path.join(os.path.dirname(State.answer), "stage"), "w", encoding="utf-8") as file:
        file.write(text)


def limit_memory(memory: int) -> None:
    """Limit the memory of this process, on systems that support limits."""
    try:
        import resource
    except ImportError:
        return
    for name, value in (("RLIMIT_DATA", memory), ("RLIMIT_FSIZE", memory), ("RLIMIT_CORE", 0)):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (value, value))


def load_archive(path: str) -> Any:
    """Load a fresh copy of the archive, so that no run sees what another one has changed."""
    return torch.jit.load(path, map_location="cpu")


# Inputs


def make_value(tree: Any) -> Any:
    """Make a value from its description: ``{"tensor": [dtype, sizes]}``, a container of such, or a plain value."""
    kind, value = next(iter(tree.items()))
    if kind == "tensor":
        name, sizes = value
        dtype = getattr(torch, name, None) if name in DTYPES else None
        if dtype is None:
            raise Refusal(f"inputs of type {name} cannot be generated; pass them in a file")
        if dtype.is_floating_point or dtype.is_complex:
            return torch.randn(sizes, dtype=torch.float64 if not dtype.is_complex else dtype).to(dtype)
        # Zeros and ones are indices into any table, and valid flags.
        return torch.randint(0, 2, sizes).to(dtype)
    if kind == "tuple":
        return tuple(make_value(one) for one in value)
    if kind == "list":
        return [make_value(one) for one in value]
    return {key: make_value(one) for key, one in value} if kind == "dict" else value


def read_inputs(path: str, method: str, names: list[str]) -> list[tuple[Any, ...]]:
    """Read the arguments in a file of `torch.save`, without running anything in it."""
    try:
        value = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        # torch's own message begins with how to load the file all the same.
        raise Refusal("the inputs file holds more than tensors, numbers and text, or is damaged") from None
    except Exception as error:
        raise Refusal(f"the inputs file cannot be loaded with weights_only: {first_line(error)}") from None
    if isinstance(value, dict) and method in value:
        value = value[method]
    if isinstance(value, dict):
        unknown = [key for key in value if key not in names]
        if unknown:
            raise Refusal(f"the inputs file names {unknown[0]}, which {method} does not take")
        given = [name in value for name in names]
        count = max([index + 1 for index, there in enumerate(given) if there] or [0])
        if not all(given[:count]):
            raise Refusal(f"the inputs file lacks {names[given.index(False)]}")
        return [tuple(value[name] for name in names[:count])]
    if isinstance(value, list):
        value = tuple(value)
    return [value if isinstance(value, tuple) else (value,)]


def find_inputs(question: dict[str, Any], module: Any, method: str) -> tuple[list[tuple[Any, ...]], str]:
    """Return the sets of arguments to compare with, the example first, and their origin."""
    wanted = question["inputs"].get(method) or question["inputs"].get("") or {}
    names = [argument.name for argument in get_schema(module, method).arguments[1:]]
    if "file" in wanted:
        return read_inputs(wanted["file"], method, names), "the inputs file"
    if "spec" in wanted:
        return [tuple(make_value(one) for one in wanted["spec"])], wanted["origin"]
    # What torch.utils.bundled_inputs has put into the archive.
    for name in ("get_all_bundled_inputs_for_" + method, "get_all_bundled_inputs"):
        if hasattr(module, name) and (method == "forward" or name.endswith(method)):
            found = [tuple(one) for one in getattr(module, name)()]
            if found:
                return found, "bundled in the archive"
            break
    if not names:
        return [()], "the method takes none"
    raise Refusal(
        "no inputs are known for {}({}): pass them with --inputs, as a file or as types such as "
        "float32[2,3,224,224]".format(method, ", ".join(names))
    )


def get_schema(module: Any, method: str) -> Any:
    """Return the schema of a method. Raises Refusal where the archive has no such method."""
    try:
        return module._c._get_method(method).schema
    except RuntimeError:
        names = ", ".join(sorted(name for name in module._c._method_names() if not name.startswith("_")))
        raise Refusal(
            f"the archive has no method {method}; choose with --method from: {names or 'none'}"
        ) from None


def flatten(value: Any) -> list[Any]:
    return list(torch.utils._pytree.tree_flatten(value)[0])


def unflatten(value: Any, flat: list[Any]) -> Any:
    """Return a value of the structure of ``value`` with other leaves."""
    pytree = torch.utils._pytree
    return pytree.tree_unflatten(flat, pytree.tree_flatten(value)[1])


def copy_value(value: Any) -> Any:
    tensor = torch.Tensor
    return unflatten(value, [one.clone() if isinstance(one, tensor) else one for one in flatten(value)])


def resize_tensor(tensor: Any, dim: int, size: int) -> Any:
    """Return a tensor of another size with the same values, since they may be indices."""
    return tensor.index_select(dim, torch.arange(size) % max(tensor.shape[dim], 1))


def describe_value(value: Any) -> str:
    """Return a tensor as ``float32[2, 4]``, a container of such, or the beginning of a plain value."""
    if isinstance(value, torch.Tensor):
        return "{}[{}]".format(str(value.dtype).replace("torch.", ""), ", ".join(map(str, value.shape)))
    if isinstance(value, (tuple, list)):
        return "({})".format(", ".join(describe_value(one) for one in value))
    if isinstance(value, dict):
        return "{{{}}}".format(", ".join(f"{key}: {describe_value(one)}" for key, one in value.items()))
    return repr(value)[:40]


# Conversion


def wrap_method(module: Any, method: str, count: int) -> Any:
    """Return a module whose forward is ``method`` with its first ``count`` arguments: only a forward can be converted."""
    arguments = get_schema(module, method).arguments[1:]
    if method == "forward" and count == len(arguments):
        return module
    holder = type("Calling_" + method, (torch.nn.Module,), {})()
    holder.model = module
    scripted = torch.jit.script(holder)
    given = arguments[:count]
    listed = "".join(f", {one.name}: {one.type.annotation_str}" for one in given)
    call = "self.model.{}({})".format(method, ", ".join(one.name for one in given))
    scripted.define(f"def forward(self{listed}):\n    return {call}\n")
    return scripted


def find_asked_dims(question: dict[str, Any], args: tuple[Any, ...]) -> list[tuple[int, int, str]]:
    """Return the sizes that have to stay open: the index of a tensor among all inputs, its dimension and its name."""
    tensor, found = torch.Tensor, []
    flat = flatten(args)
    for index, dim, name in question["dynamic"]:
        places = range(len(flat)) if index is None else [index]
        if index is not None and not (index < len(flat) and isinstance(flat[index], tensor)):
            raise Refusal(f"--dynamic: there is no tensor {index} among the inputs")
        fitting = [at for at in places if isinstance(flat[at], tensor) and flat[at].dim() > dim]
        if not fitting:
            raise Refusal(f"--dynamic: no input has a dimension {dim}")
        found += [(at, dim, name) for at in fitting]
    return found


def find_open_sizes(program: Any, args: tuple[Any, ...]) -> dict[str, list[tuple[int, int]]]:
    """Return the sizes of inputs that a program leaves open: symbol → the tensors and dimensions that have it."""
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    users, flat = list(program.graph_signature.user_inputs), flatten(args)
    found: dict[str, list[tuple[int, int]]] = {}
    if len(users) != len(flat):
        return found
    for index, (name, leaf) in enumerate(zip(users, flat)):
        value = values.get(name) if isinstance(name, str) else None
        if isinstance(leaf, torch.Tensor) and isinstance(value, torch.Tensor):
            for dim, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and str(size).isidentifier():
                    found.setdefault(str(size), []).append((index, dim))
    return found


def prepare_inputs(
    question: dict[str, Any], module: Any, method: str, answer: dict[str, Any]
) -> list[tuple[Any, ...]]:
    """Return the inputs to run a method with, the first ones to export it with, and describe them in the answer."""
    (args, *more), origin = find_inputs(question, module, method)
    flat = flatten(args)
    for index, dim, _ in find_asked_dims(question, args):
        if flat[index].shape[dim] < 2:  # torch.export takes a size of 0 or 1 for a constant
            flat[index] = resize_tensor(flat[index], dim, 2)
    args = unflatten(args, flat)
    answer.update(inputs=[describe_value(one) for one in args], origin=origin, notes=[])
    return [args, *more]


def convert(question: dict[str, Any], method: str, answer: dict[str, Any]) -> None:
    """Convert, save and compare one method. Whatever fails raises, and `State.step` tells where."""
    path, began = question["archive"], time.monotonic()
    module = load_archive(path)
    args, *more = prepare_inputs(question, module, method, answer)
    kinds = [
        str(getattr(one, "original_name", type(one).__name__))  # the class that the module had in Python
        for one in module.modules()
        if getattr(one, "training", False)
    ]
    if any(kind.startswith(IN_TRAINING) for kind in kinds):
        answer["notes"].append(
            "converted in training mode, as saved: dropout and batch norm behave as in training"
        )
    schema = get_schema(module, method)
    del module

    set_stage("run", "running the archive")
    runs = [args, args, *more]  # twice with the first: a state that a run leaves behind shows in the second
    before = run_function(getattr(load_archive(path), method), runs)
    answer["string"] = next((where for where, leaf in walk_output(before[0]) if isinstance(leaf, str)), None)
    wider = widen_sizes(args, load_archive(path), method)
    for example in [args] if wider is None else [wider, args]:
        tried: dict[str, Any] = dict(answer, notes=list(answer["notes"]), losses=[])
        try:
            export_and_compare(question, method, tried, example, runs, before)
        except Exception:
            if example is args:
                raise
            continue
        if tried["outcome"] in ("equal", "close"):
            break
    answer.update(tried)
    if answer["outcome"] in ("equal", "close"):
        answer["losses"] += find_named_tuples(before[0])
        answer["losses"] += find_fixed_values(args, schema.arguments[1:])
        answer["seconds"] = round(time.monotonic() - began, 1)


def widen_sizes(args: tuple[Any, ...], module: Any, method: str) -> tuple[Any, ...] | None:
    """Return the inputs with two rows where they have one, as far as the archive accepts them; None if nowhere."""
    # torch.export takes a size of 1 for a constant, and most archives were traced with one row.
    wider = None
    for group in group_sizes(args, lambda size: size == 1):
        tried = resize_inputs(args if wider is None else wider, group, 2)
        if all(flatten(tried)[index].shape[dim] == 2 for index, dim in group) and accepts(
            module, method, tried
        ):
            wider = tried
    return wider


def group_sizes(
    args: tuple[Any, ...], is_wanted: Callable[[int], bool], without: Any = ()
) -> list[list[tuple[int, int]]]:
    """Return sizes of inputs to change: first those together that are equal in the same dimension, then each alone."""
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for index, leaf in enumerate(flatten(args)):
        for dim, size in enumerate(leaf.shape if isinstance(leaf, torch.Tensor) else ()):
            if is_wanted(size) and (index, dim) not in without:
                groups.setdefault((dim, size), []).append((index, dim))
    together = [groups[key] for key in sorted(groups)]
    return (together + [[one] for group in together if len(group) > 1 for one in group])[:MOST_SIZES]


def resize_inputs(args: tuple[Any, ...], places: list[tuple[int, int]], size: int) -> tuple[Any, ...]:
    """Return the inputs with another size in some dimensions."""
    flat = flatten(args)
    for index, dim in places:
        flat[index] = resize_tensor(flat[index], dim, size)
    return tuple(unflatten(args, flat))


def accepts(module: Any, method: str, args: tuple[Any, ...]) -> bool:
    """Return whether a method runs with some inputs."""
    try:
        run_function(getattr(module, method), [args])
    except Exception:
        return False
    return True


def export_and_compare(
    question: dict[str, Any],
    method: str,
    answer: dict[str, Any],
    example: tuple[Any, ...],
    runs: list[tuple[Any, ...]],
    before: list[Any],
) -> None:
    """Convert a method with example inputs, save the program, and compare it with what the archive gave before."""
    from torch._export.converter import TS2EPConverter

    set_stage("convert", f"converting {method}")
    texts: dict[str, bytes] = dict.fromkeys(question.get("extra", ()), b"")
    module = torch.jit.load(question["archive"], map_location="cpu", _extra_files=texts)
    with torch.no_grad():
        program = TS2EPConverter(wrap_method(module, method, len(example)), copy_value(example)).convert()
    keep_tuples(program, before[0])
    set_stage("save", f"saving {method}")
    file = os.path.join(question["folder"], method + ".pt2")
    torch.export.save(program, file, extra_files=keep_extra_files(texts, answer))
    del module
    gc.collect()
    set_stage("compare", f"comparing {method}")
    after = run_function(torch.export.load(file).module(), runs)
    answer.update(compare_outputs(before, after, question))
    if answer["outcome"] == "differs":
        return
    asked = find_asked_dims(question, example)
    sizes = find_open_sizes(program, example)
    answer["open"] = name_open_sizes(sizes, asked)
    answer.update(compare_variations(question, method, file, example, sizes, asked, answer))
    if answer["outcome"] in ("equal", "close"):
        opened = {place for places in sizes.values() for place in places}
        answer["losses"] += find_fixed_sizes(question, method, file, example, opened)
    answer["file"] = os.path.basename(file)


# What the program keeps, and what it loses


def keep_tuples(program: Any, output: Any) -> None:
    """Give a program the tuples and dictionaries that the archive returns: the converter makes lists of all of them."""
    signature = program.module_call_graph[0].signature
    spec = torch.utils._pytree.tree_flatten(unname_tuples(output))[1]
    if signature is not None and signature.out_spec.num_leaves == spec.num_leaves:
        signature.out_spec = spec


def unname_tuples(value: Any) -> Any:
    """Return an output with plain tuples in place of named ones, whose class no program can hold."""
    if isinstance(value, tuple):
        return tuple(unname_tuples(one) for one in value)
    if isinstance(value, list):
        return [unname_tuples(one) for one in value]
    return {key: unname_tuples(one) for key, one in value.items()} if isinstance(value, dict) else value


def keep_extra_files(files: dict[str, bytes], answer: dict[str, Any]) -> dict[str, str]:
    """Return the extra files that are text, and add those that are not to the losses."""
    kept = {}
    for name, data in files.items():
        text = data.decode("utf-8", "replace")
        if text.encode() == data:
            kept[name] = text
        else:
            loss = f"the extra file {name} is not text, which is all that torch.export.save takes: keep it in a file"
            answer["losses"].append(loss)
    if kept:
        answer["notes"].append(f"extra files kept: {', '.join(kept)}")
    return kept


def walk_output(value: Any, where: str = "the output") -> Iterator[tuple[str, Any]]:
    """Yield an output and all parts of it, each with its position."""
    yield where, value
    inner = "output" if where == "the output" else where
    if isinstance(value, (tuple, list)):
        for index, one in enumerate(value):
            yield from walk_output(one, f"{inner}[{index}]")
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from walk_output(one, f"{inner}[{key!r}]")


def find_named_tuples(output: Any) -> list[str]:
    """Return the losses of named tuples in an output, each class once."""
    named = {
        type(one): f"{where} is a plain tuple instead of {type(one).__name__}({', '.join(one._fields)}): "
        "read its fields by position"
        for where, one in reversed(list(walk_output(output)))
        if isinstance(one, tuple) and hasattr(one, "_fields")
    }
    return list(named.values())


def find_fixed_values(args: tuple[Any, ...], arguments: list[Any]) -> list[str]:
    """Return the losses of arguments that are no tensors: a program has only the values that it was made with."""
    fixed = [
        f"{argument.name}={describe_value(value)}"
        for value, argument in zip(args, arguments)
        if not all(isinstance(leaf, torch.Tensor) for leaf in flatten(value))
    ]
    left = [f"{argument.name}={argument.default_value!r:.40}" for argument in arguments[len(args) :]]
    losses = [f"the program takes only {', '.join(fixed)}: convert again for other values"] if fixed else []
    return losses + ([f"the program does not take {', '.join(left)}: pass it in --inputs"] if left else [])


def find_fixed_sizes(
    question: dict[str, Any], method: str, file: str, args: tuple[Any, ...], opened: set[tuple[int, int]]
) -> list[str]:
    """Return the losses of sizes that the archive leaves open and the program does not."""
    module, program, losses = load_archive(question["archive"]), torch.export.load(file).module(), []
    done: set[tuple[int, int]] = set()
    for group in group_sizes(args, lambda size: True, opened):
        size = flatten(args)[group[0][0]].shape[group[0][1]]
        other = resize_inputs(args, group, size + 1)
        if done & set(group) or not accepts(module, method, other):
            continue
        done |= set(group)
        if not accepts(program, "forward", other):
            shown = ", ".join(f"dimension {dim} of input {index}" for index, dim in group)
            losses.append(f"{shown} is fixed to {size}, while the archive also takes {size + 1}")
    return losses


def name_open_sizes(sizes: dict[str, list[tuple[int, int]]], asked: list[tuple[int, int, str]]) -> list[str]:
    """Return ``batch (dimension 0 of input 0)`` for each open size, with all dimensions that have it."""
    names = {(index, dim): name for index, dim, name in asked}
    listed = []
    for symbol, places in sizes.items():
        name = next((names[place] for place in places if place in names), symbol)
        shown = ", ".join(f"dimension {dim} of input {index}" for index, dim in places)
        listed.append(f"{name} ({shown})")
    return listed


def compare_variations(
    question: dict[str, Any],
    method: str,
    file: str,
    args: tuple[Any, ...],
    sizes: dict[str, list[tuple[int, int]]],
    asked: list[tuple[int, int, str]],
    answer: dict[str, Any],
) -> dict[str, Any]:
    """Compare with other values of open sizes, and with the signs turned, as far as the archive accepts them."""
    opened = {place for places in sizes.values() for place in places}
    for index, dim, name in asked:
        if (index, dim) not in opened:
            size = flatten(args)[index].shape[dim]
            reason = f"dimension {dim} of input {index} cannot be dynamic as {name}: "
            reason += f"the code of the archive fixes it to {size}"
            return {"outcome": "refused", "step": "open", "reason": reason}
    wanted = {(index, dim) for index, dim, _ in asked}
    result: dict[str, Any] = {"outcome": answer["outcome"], "difference": answer["difference"]}
    for varied, shown, is_wanted in vary_inputs(args, sizes, wanted):
        try:
            before = run_function(getattr(load_archive(question["archive"]), method), [varied])
        except Exception:
            continue
        try:
            after = run_function(torch.export.load(file).module(), [varied])
        except Exception as error:
            if is_wanted:
                return dict(outcome="refused", step="open", **explain_error(error))
            answer["losses"].append(f"the program does not accept {shown}, which the archive does")
            continue
        found = compare_outputs(before, after, question)
        if found["outcome"] == "differs":
            reason = "with {}: {}".format(shown, found.get("reason", "the outputs differ"))
            return dict(found, reason=reason)
        if found["difference"] > result["difference"]:
            result.update(found)
    return result


def vary_inputs(
    args: tuple[Any, ...], sizes: dict[str, list[tuple[int, int]]], wanted: set[tuple[int, int]]
) -> Iterator[tuple[tuple[Any, ...], str, bool]]:
    """Yield other inputs, with their description, and whether the program was asked to accept them."""
    tensor = torch.Tensor
    turned = [-one if isinstance(one, tensor) and one.is_floating_point() else one for one in flatten(args)]
    if any(old is not new for old, new in zip(flatten(args), turned)):  # the other side of a branch on values
        yield unflatten(args, turned), "the inputs with their signs flipped", False
    for places in list(sizes.values())[:MOST_SYMBOLS]:
        size = flatten(args)[places[0][0]].shape[places[0][1]]
        for other in (size + 1, 1):
            flat = flatten(args)
            for index, dim in places:
                flat[index] = resize_tensor(flat[index], dim, other)
            varied = unflatten(args, flat)
            shown = ", ".join(describe_value(one) for one in varied)
            yield varied, shown, other > 1 and bool(wanted & set(places))


# Packaging


def package(question: dict[str, Any], method: str, answer: dict[str, Any]) -> None:
    """Compile the program of one method with AOTInductor, and compare it with the archive."""
    began, module = time.monotonic(), load_archive(question["archive"])
    args = prepare_inputs(question, module, method, answer)[0]
    before = run_function(getattr(module, method), [args])
    set_stage("package", f"compiling {method}")
    file = os.path.join(question["folder"], method + ".aoti.pt2")
    program = torch.export.load(os.path.join(question["folder"], method + ".pt2"))
    torch._inductor.aoti_compile_and_package(program, package_path=file)
    set_stage("package", f"comparing {method}")
    after = run_function(torch._inductor.aoti_load_package(file), [args])
    answer.update(compare_outputs(before, after, question))
    answer.update(open=[], seconds=round(time.monotonic() - began, 1), file=os.path.basename(file))


# Comparison


def run_function(function: Callable[..., Any], runs: list[tuple[Any, ...]]) -> list[Any]:
    """Return the outputs of each run, with the same random numbers in every process."""
    results = []
    with torch.no_grad():
        for args in runs:
            torch.manual_seed(0)
            results.append(copy_value(function(*copy_value(args))))
    return results


class Difference(Exception):
    """Two outputs are of different kinds."""


def compare_outputs(before: Any, after: Any, question: dict[str, Any]) -> dict[str, Any]:
    """Judge outputs ``equal`` to the last bit, ``close`` within the tolerances, or ``differs``; with the largest difference."""
    try:
        pairs = list(pair_tensors(before, after, "output"))
    except Difference as difference:
        return {"outcome": "differs", "difference": 0.0, "reason": str(difference)}
    largest, outcome, reason = 0.0, "equal", None
    for old, new, where in pairs:
        verdict, amount = judge_tensors(old, new, question)
        largest = max(largest, amount)
        if verdict == "differs" and outcome != "differs":
            reason = f"{where} differs by up to {amount:.3g}"
        if verdict != "equal" and outcome != "differs":
            outcome = verdict
    result = {"outcome": outcome, "difference": largest, "outputs": len(pairs)}
    return dict(result, reason=reason) if reason else result


def judge_tensors(old: Any, new: Any, question: dict[str, Any]) -> tuple[str, float]:
    """Judge two tensors of the same type and shape."""
    if old.is_quantized:
        old, new = old.int_repr(), new.int_repr()
    if old.layout != torch.strided:
        old, new = old.to_dense(), new.to_dense()
    # NaN equals NaN here, and 0.0 equals -0.0.
    if torch.equal(old, new) or torch.allclose(old, new, rtol=0, atol=0, equal_nan=True):
        return "equal", 0.0
    if not (old.is_floating_point() or old.is_complex()):
        return "differs", float((old.double() - new.double()).abs().max())
    wide = torch.complex128 if old.is_complex() else torch.float64
    gap = (old.to(wide) - new.to(wide)).abs()
    amount = float(gap[~gap.isnan()].max()) if bool((~gap.isnan()).any()) else float("inf")
    try:
        torch.testing.assert_close(
            new, old, rtol=question["rtol"], atol=question["atol"], equal_nan=True, check_stride=False
        )
    except AssertionError:
        return "differs", amount
    return "close", amount


def pair_tensors(old: Any, new: Any, where: str) -> Any:
    """Yield the tensors of two outputs in pairs, each with its position. Raises Difference."""
    if isinstance(old, torch.Tensor):
        if not isinstance(new, torch.Tensor):
            raise Difference(f"{where} is {type(new).__name__} instead of a tensor")
        if old.shape != new.shape or old.dtype != new.dtype:
            raise Difference(f"{where} is {describe_value(new)} instead of {describe_value(old)}")
        yield old, new, where
    elif isinstance(old, dict):
        if not isinstance(new, dict) or list(old) != list(new):
            raise Difference(f"{where} has different keys")
        for key in old:
            yield from pair_tensors(old[key], new[key], f"{where}[{key!r}]")
    elif isinstance(old, (tuple, list)):
        if not isinstance(new, (tuple, list)) or len(old) != len(new):
            raise Difference(f"{where} has a different number of elements")
        for index, (one, other) in enumerate(zip(old, new)):
            inner = where if where == "output" and len(old) == len(new) == 1 else f"{where}[{index}]"
            yield from pair_tensors(one, other, inner)
    elif old != new and not (old != old and new != new):
        raise Difference(f"{where} is {new!r:.40} instead of {old!r:.40}")


# Errors


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:500] if lines else type(error).__name__


def explain_error(error: BaseException) -> dict[str, Any]:
    """Return the innermost cause of a failure, with the operator and its place in the model's source if they are known."""
    inner, operator, place = error, None, None
    while True:
        at = inner.__traceback__
        while at is not None:
            node: Any = at.tb_frame.f_locals.get("node")
            if at.tb_frame.f_code.co_name == "convert_node" and hasattr(node, "sourceRange"):
                operator, place = node.kind(), find_place(node)
            at = at.tb_next
        following = inner.__cause__
        if following is None:
            break
        inner = following
    # TorchScript prints its own stack first, and the error last.
    lines = [line.strip() for line in str(inner).splitlines() if line.strip()]
    last = [line for line in lines if line.startswith(("RuntimeError:", "Error:"))]
    text = last[-1] if last else first_line(inner)
    shown = text if text.startswith(type(inner).__name__) else f"{type(inner).__name__}: {text}"
    return {"reason": shown[:600], "operator": operator, "place": place}


def find_place(node: Any) -> str | None:
    """Return ``model.py:12``, the place in the source that the archive was made from; None if it is unknown."""
    for line in str(node.sourceRange()).splitlines():
        if line.strip().startswith("File "):
            file, _, rest = line.strip()[5:].partition(",")
            number = rest.strip().replace("line ", "").partition(",")[0].rstrip(":")
            return "{}:{}".format(os.path.basename(file.strip('"')), number)
    return None


_NAMES = "item Bool Int Float IntImplicit FloatImplicit ScalarImplicit is_nonzero equal allclose"
VALUE_READS = frozenset(f"aten::{name}" for name in _NAMES.split())
"""Operators that turn values of tensors into numbers or flags."""

_NAMES = "nonzero masked_select unique_consecutive _unique2 unique_dim argwhere"
VALUE_SIZES = frozenset(f"aten::{name}" for name in _NAMES.split())
"""Operators whose result has a size that depends on values."""

_NAMES = "gt lt ge le eq ne logical_and logical_or logical_not isnan"
MASKS = frozenset(f"aten::{name}" for name in _NAMES.split())


def find_value_branch(graph: Any) -> tuple[str, str | None] | None:
    """Return what the first branch on values depends on, ``values`` or ``sizes``, with its place; None without one."""
    kinds: dict[
        str, str
    ] = {}  # value → "values", "sizes" (a tensor of such a size), "mask" or "plain" (a tensor of a number)
    rest = list(graph.nodes())
    while rest:
        node = rest.pop(0)
        given = [kinds.get(one.debugName(), "") for one in node.inputs()]
        if node.kind() == "prim::If" and given[0].startswith("from "):
            return given[0][5:], find_place(node)
        kind = judge_output(node.kind(), given)
        for one in node.outputs():
            kinds[one.debugName()] = kind
        for block in node.blocks():
            rest[:0] = block.nodes()
    return None


def judge_output(operator: str, given: list[str]) -> str:
    """Return what the outputs of an operator are; ``given`` is what its inputs are.

    Numbers are ``from values`` or ``from sizes`` if they depend on values of tensors; tensors are ``sizes`` if their size does,
    ``mask`` if they result from a comparison, and ``plain`` if they hold a number that does not depend on values.
    """
    numbers = [one for one in given if one.startswith("from ")]
    if operator in VALUE_READS:
        return "" if "plain" in given else (numbers or ["from values"])[0]
    if operator == "aten::size" or operator == "aten::len":
        return "from sizes" if "sizes" in given else ""
    if operator in ("prim::NumToTensor", "aten::tensor"):
        return "" if numbers else "plain"
    if operator in VALUE_SIZES or (operator == "aten::index" and "mask" in given):
        return "sizes"
    if operator in MASKS and not numbers:
        return "mask"
    return (numbers or [one for one in given if one in ("sizes", "mask")] or [""])[0]


def convert_and_report(question: dict[str, Any], method: str) -> dict[str, Any]:
    """Convert one method and return its outcome; a failure is part of the answer."""
    answer: dict[str, Any] = {}
    set_stage("load", "loading the archive")
    try:
        (package if question["work"] == "package" else convert)(question, method, answer)
    except Refusal as reason:
        return {"outcome": "refused", "step": "inputs", "reason": str(reason)}
    except Exception as error:
        answer.update(outcome="refused", step=State.step, **explain_error(error))
        if State.step == "convert":
            with contextlib.suppress(Exception):
                graph = load_archive(question["archive"])._c._get_method(method).inlined_graph
                answer["branch"] = find_value_branch(graph)
    return answer


def main() -> None:
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
    State.answer = sys.argv[1]
    with open(State.answer, encoding="utf-8") as file:
        question = json.load(file)
    limit_memory(question["memory"])
    warnings.simplefilter("ignore")
    set_stage("load", "importing torch")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.getcwd()  # an empty folder, removed after this process
    global torch
    torch = importlib.import_module("torch")
    importlib.import_module("torch.utils._pytree")
    methods = {method: convert_and_report(question, method) for method in question["methods"]}
    with open(State.answer, "w", encoding="utf-8") as file:
        json.dump({"torch": torch.__version__, "methods": methods}, file)


if __name__ == "__main__":
    main()
