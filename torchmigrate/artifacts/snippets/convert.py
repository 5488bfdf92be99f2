"""Makes an exported program of a TorchScript archive and compares the two, or packages the program and compares again.

Runs in the user's interpreter (Python 3.8 or newer, torch 2.5 or newer). The question is JSON in the file that the
answer then replaces; beside it, the file ``stage`` says what is being done, for the case that no answer comes.

All of it is one file because it travels as one: to an interpreter that has no torchmigrate, and to machines of a cluster.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

MOST_SYMBOLS = 8
"""Sizes that are tried with another value."""

IN_TRAINING = ("Dropout", "AlphaDropout", "FeatureAlphaDropout", "BatchNorm", "InstanceNorm", "RReLU")
"""Modules that do something else in training."""

_TYPES = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128 uint16 uint32 uint64"
DTYPES = _TYPES.split()


class Refusal(Exception):
    """The archive, or what was asked for, cannot be served; the text is for the user."""


class State:
    torch: Any = None
    answer: str = ""


def stage(text: str) -> None:
    with open(os.path.join(os.path.dirname(State.answer), "stage"), "w", encoding="utf-8") as file:
        file.write(text)


def limit(memory: int) -> None:
    """Bounds what this process can take; what the system cannot bound is left."""
    try:
        import resource
    except ImportError:
        return
    for name, value in (("RLIMIT_DATA", memory), ("RLIMIT_FSIZE", memory), ("RLIMIT_CORE", 0)):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (value, value))


def load(path: str) -> Any:
    """A fresh copy of the archive: what one run changes in it, another one does not see."""
    return State.torch.jit.load(path, map_location="cpu")


# Inputs


def made(tree: Any) -> Any:
    """A value from its description: ``{"tensor": [dtype, sizes]}``, a container of such, or a plain value."""
    torch = State.torch
    kind, value = next(iter(tree.items()))
    if kind == "tensor":
        name, sizes = value
        dtype = getattr(torch, name, None) if name in DTYPES else None
        if dtype is None:
            raise Refusal(f"inputs of type {name} cannot be made here; give them in a file")
        if dtype.is_floating_point or dtype.is_complex:
            return torch.randn(sizes, dtype=torch.float64 if not dtype.is_complex else dtype).to(dtype)
        # Zeros and ones are indices into any table, and valid flags.
        return torch.randint(0, 2, sizes).to(dtype)
    if kind == "tuple":
        return tuple(made(one) for one in value)
    if kind == "list":
        return [made(one) for one in value]
    if kind == "dict":
        return {key: made(one) for key, one in value}
    return value


def read_inputs(path: str, method: str, names: list[str]) -> list[tuple[Any, ...]]:
    """The arguments in a file of `torch.save`, which is loaded without running anything in it."""
    torch = State.torch
    try:
        value = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        # What torch says then begins with how to load it all the same.
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
            raise Refusal(f"the inputs file leaves out {names[given.index(False)]}")
        return [tuple(value[name] for name in names[:count])]
    if isinstance(value, list):
        value = tuple(value)
    return [value if isinstance(value, tuple) else (value,)]


def inputs_of(question: dict[str, Any], module: Any, method: str) -> tuple[list[tuple[Any, ...]], str]:
    """The sets of arguments to compare with, and where they come from; the first one is the example."""
    wanted = question["inputs"].get(method) or question["inputs"].get("") or {}
    names = [argument.name for argument in schema(module, method).arguments[1:]]
    if "file" in wanted:
        return read_inputs(wanted["file"], method, names), "the inputs file"
    if "spec" in wanted:
        return [tuple(made(one) for one in wanted["spec"])], wanted["origin"]
    found = bundled(module, method)
    if found:
        return found, "bundled in the archive"
    if not names:
        return [()], "it takes none"
    raise Refusal(
        "no inputs are known for {}({}): give them with --inputs, as a file or as types such as "
        "float32[2,3,224,224]".format(method, ", ".join(names))
    )


def bundled(module: Any, method: str) -> list[tuple[Any, ...]]:
    """The inputs that `torch.utils.bundled_inputs` has put into an archive."""
    for name in ("get_all_bundled_inputs_for_" + method, "get_all_bundled_inputs"):
        if hasattr(module, name) and (method == "forward" or name.endswith(method)):
            return [tuple(one) for one in getattr(module, name)()]
    return []


def schema(module: Any, method: str) -> Any:
    try:
        return module._c._get_method(method).schema
    except RuntimeError:
        names = ", ".join(sorted(name for name in module._c._method_names() if not name.startswith("_")))
        raise Refusal(
            f"the archive has no method {method}, but {names or 'none'}; name one with --method"
        ) from None


def leaves(value: Any) -> list[Any]:
    return list(State.torch.utils._pytree.tree_flatten(value)[0])


def rebuilt(value: Any, flat: list[Any]) -> Any:
    pytree = State.torch.utils._pytree
    return pytree.tree_unflatten(flat, pytree.tree_flatten(value)[1])


def copied(value: Any) -> Any:
    tensor = State.torch.Tensor
    return rebuilt(value, [one.clone() if isinstance(one, tensor) else one for one in leaves(value)])


def resized(tensor: Any, dim: int, size: int) -> Any:
    """A tensor with another size, made of the same values: they may be indices."""
    torch = State.torch
    return tensor.index_select(dim, torch.arange(size) % max(tensor.shape[dim], 1))


def described(value: Any) -> str:
    if isinstance(value, State.torch.Tensor):
        return "{}[{}]".format(str(value.dtype).replace("torch.", ""), ", ".join(map(str, value.shape)))
    if isinstance(value, (tuple, list)):
        return "({})".format(", ".join(described(one) for one in value))
    if isinstance(value, dict):
        return "{{{}}}".format(", ".join(f"{key}: {described(one)}" for key, one in value.items()))
    return repr(value)[:40]


# Conversion


def kind(module: Any) -> str:
    """The name of the class that a module had in Python."""
    return str(getattr(module, "original_name", type(module).__name__))


def calling(module: Any, method: str, count: int) -> Any:
    """A module whose forward is ``method`` with its first ``count`` arguments, since only a forward is converted."""
    torch = State.torch
    arguments = schema(module, method).arguments[1:]
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


def asked_dims(question: dict[str, Any], args: tuple[Any, ...]) -> list[tuple[int, int, str]]:
    """The sizes that have to stay open: the number of a tensor among all inputs, its dimension and its name."""
    tensor, found = State.torch.Tensor, []
    flat = leaves(args)
    for index, dim, name in question["dynamic"]:
        places = range(len(flat)) if index is None else [index]
        if index is not None and not (index < len(flat) and isinstance(flat[index], tensor)):
            raise Refusal(f"--dynamic: there is no tensor {index} among the inputs")
        fitting = [at for at in places if isinstance(flat[at], tensor) and flat[at].dim() > dim]
        if not fitting:
            raise Refusal(f"--dynamic: no input has a dimension {dim}")
        found += [(at, dim, name) for at in fitting]
    return found


def open_sizes(program: Any, args: tuple[Any, ...]) -> dict[str, list[tuple[int, int]]]:
    """The sizes of inputs that a program leaves open: symbol → the tensors and dimensions that have it."""
    torch = State.torch
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    users, flat = list(program.graph_signature.user_inputs), leaves(args)
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


def examples(
    question: dict[str, Any], module: Any, method: str
) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    """The inputs to run a method with, the first ones to export it with, and the beginning of the answer."""
    (args, *more), origin = inputs_of(question, module, method)
    flat = leaves(args)
    for index, dim, _ in asked_dims(question, args):
        if flat[index].shape[dim] < 2:  # what is 0 or 1 in the example, torch.export takes for a constant
            flat[index] = resized(flat[index], dim, 2)
    args = rebuilt(args, flat)
    return [args, *more], {"inputs": [described(one) for one in args], "origin": origin, "notes": []}


def convert(question: dict[str, Any], method: str) -> dict[str, Any]:
    """One method: converted, saved and compared."""
    torch = State.torch
    from torch._export.converter import TS2EPConverter

    path, began = question["archive"], time.monotonic()
    module = load(path)
    sets, answer = examples(question, module, method)
    args, notes = sets[0], answer["notes"]
    asked = asked_dims(question, args)
    if any(getattr(one, "training", False) and kind(one).startswith(IN_TRAINING) for one in module.modules()):
        notes.append("saved in training mode, and converted so: dropout and batch norm behave as in training")

    stage("running the archive")
    runs = [args, args, *sets[1:]]  # twice with the first: what a run leaves behind shows in the second
    try:
        before = outputs(getattr(load(path), method), runs)
    except Exception as error:
        return dict(answer, outcome="refused", step="run", **told(error))

    stage(f"converting {method}")
    try:
        with torch.no_grad():
            program = TS2EPConverter(calling(module, method, len(args)), copied(args)).convert()
    except Refusal:
        raise
    except Exception as error:
        return dict(answer, outcome="refused", step="convert", **told(error))

    stage(f"saving {method}")
    file = os.path.join(question["folder"], method + ".pt2")
    try:
        torch.export.save(program, file)
    except Exception as error:
        return dict(answer, outcome="refused", step="save", **told(error))
    del module
    gc.collect()

    stage(f"comparing {method}")
    try:
        after = outputs(torch.export.load(file).module(), runs)
    except Exception as error:
        return dict(answer, outcome="refused", step="compare", **told(error))
    answer.update(compared(before, after, question))
    if answer["outcome"] == "differs":
        return answer

    sizes = open_sizes(program, args)
    answer["open"] = open_named(sizes, asked)
    answer.update(with_other_inputs(question, method, file, args, sizes, asked, answer))
    answer["seconds"] = round(time.monotonic() - began, 1)
    answer["file"] = os.path.basename(file)
    return answer


def open_named(sizes: dict[str, list[tuple[int, int]]], asked: list[tuple[int, int, str]]) -> list[str]:
    """``batch (dimension 0 of input 0)`` for each open size: all dimensions that have it."""
    names = {(index, dim): name for index, dim, name in asked}
    listed = []
    for symbol, places in sizes.items():
        name = next((names[place] for place in places if place in names), symbol)
        shown = ", ".join(f"dimension {dim} of input {index}" for index, dim in places)
        listed.append(f"{name} ({shown})")
    return listed


def with_other_inputs(
    question: dict[str, Any],
    method: str,
    file: str,
    args: tuple[Any, ...],
    sizes: dict[str, list[tuple[int, int]]],
    asked: list[tuple[int, int, str]],
    answer: dict[str, Any],
) -> dict[str, Any]:
    """Compares where open sizes have other values, and with the signs turned, as far as the archive takes that."""
    torch = State.torch
    opened = {place for places in sizes.values() for place in places}
    for index, dim, name in asked:
        if (index, dim) not in opened:
            size = leaves(args)[index].shape[dim]
            reason = (
                "dimension {} of input {} cannot be left open as {}: the code of the archive fixes it to {}"
            )
            return {"outcome": "refused", "step": "open", "reason": reason.format(dim, index, name, size)}
    wanted = {(index, dim) for index, dim, _ in asked}
    result: dict[str, Any] = {"outcome": answer["outcome"], "difference": answer["difference"]}
    for varied, shown, is_wanted in variations(args, sizes, wanted):
        try:
            before = outputs(getattr(load(question["archive"]), method), [varied])
        except Exception:
            continue
        try:
            after = outputs(torch.export.load(file).module(), [varied])
        except Exception as error:
            if is_wanted:
                return dict(outcome="refused", step="open", **told(error))
            answer["notes"].append(f"only the archive takes {shown}")
            continue
        found = compared(before, after, question)
        if found["outcome"] == "differs":
            reason = "with {}: {}".format(shown, found.get("reason", "the outputs differ"))
            return dict(found, reason=reason)
        if found["difference"] > result["difference"]:
            result.update(found)
    return result


def variations(
    args: tuple[Any, ...], sizes: dict[str, list[tuple[int, int]]], wanted: set[tuple[int, int]]
) -> Iterator[tuple[tuple[Any, ...], str, bool]]:
    """Other inputs, with their names, and whether the program was asked to take them."""
    tensor = State.torch.Tensor
    turned = [-one if isinstance(one, tensor) and one.is_floating_point() else one for one in leaves(args)]
    if any(old is not new for old, new in zip(leaves(args), turned)):  # the other side of a branch on values
        yield rebuilt(args, turned), "the inputs with their signs turned", False
    for places in list(sizes.values())[:MOST_SYMBOLS]:
        size = leaves(args)[places[0][0]].shape[places[0][1]]
        for other in (size + 1, 1):
            flat = leaves(args)
            for index, dim in places:
                flat[index] = resized(flat[index], dim, other)
            varied = rebuilt(args, flat)
            yield (
                varied,
                ", ".join(described(one) for one in varied),
                other > 1 and bool(wanted & set(places)),
            )


# Packaging


def package(question: dict[str, Any], method: str) -> dict[str, Any]:
    """The program of one method, compiled by AOTInductor and compared with the archive."""
    torch = State.torch
    began, module = time.monotonic(), load(question["archive"])
    (args, *_), answer = examples(question, module, method)
    before = outputs(getattr(module, method), [args])
    stage(f"compiling {method}")
    file = os.path.join(question["folder"], method + ".aoti.pt2")
    try:
        program = torch.export.load(os.path.join(question["folder"], method + ".pt2"))
        torch._inductor.aoti_compile_and_package(program, package_path=file)
        stage(f"comparing {method}")
        after = outputs(torch._inductor.aoti_load_package(file), [args])
    except Exception as error:
        return dict(answer, outcome="refused", step="package", **told(error))
    answer.update(compared(before, after, question))
    answer.update(open=[], seconds=round(time.monotonic() - began, 1), file=os.path.basename(file))
    return answer


# Comparison


def outputs(function: Callable[..., Any], runs: list[tuple[Any, ...]]) -> list[Any]:
    """What each run gives, with the same random numbers in every process."""
    torch, results = State.torch, []
    with torch.no_grad():
        for args in runs:
            torch.manual_seed(0)
            results.append(copied(function(*copied(args))))
    return results


class Difference(Exception):
    """Two outputs are not of one kind."""


def compared(before: Any, after: Any, question: dict[str, Any]) -> dict[str, Any]:
    """``equal`` to the last bit, ``close`` within the tolerances, or ``differs``; with the largest difference."""
    try:
        pairs = list(paired(before, after, "output"))
    except Difference as difference:
        return {"outcome": "differs", "difference": 0.0, "reason": str(difference)}
    largest, outcome, reason = 0.0, "equal", None
    for old, new, where in pairs:
        verdict, amount = judged(old, new, question)
        largest = max(largest, amount)
        if verdict == "differs" and outcome != "differs":
            reason = f"{where} differs by up to {amount:.3g}"
        if verdict != "equal" and outcome != "differs":
            outcome = verdict
    result = {"outcome": outcome, "difference": largest, "outputs": len(pairs)}
    return dict(result, reason=reason) if reason else result


def judged(old: Any, new: Any, question: dict[str, Any]) -> tuple[str, float]:
    """The verdict on two tensors of one type and shape."""
    torch = State.torch
    if old.is_quantized:
        old, new = old.int_repr(), new.int_repr()
    if old.layout != torch.strided:
        old, new = old.to_dense(), new.to_dense()
    # Bits, so that NaN equals NaN, and 0.0 is not -0.0 only as far as nobody can tell.
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


def paired(old: Any, new: Any, where: str) -> Any:
    """The tensors of two outputs, one beside the other."""
    torch = State.torch
    if isinstance(old, torch.Tensor):
        if not isinstance(new, torch.Tensor):
            raise Difference(f"{where} is {type(new).__name__} and was a tensor")
        if old.shape != new.shape or old.dtype != new.dtype:
            raise Difference(f"{where} is {described(new)} and was {described(old)}")
        yield old, new, where
    elif isinstance(old, dict):
        if not isinstance(new, dict) or list(old) != list(new):
            raise Difference(f"{where} has other keys")
        for key in old:
            for pair in paired(old[key], new[key], f"{where}[{key!r}]"):
                yield pair
    elif isinstance(old, (tuple, list)):
        if not isinstance(new, (tuple, list)) or len(old) != len(new):
            raise Difference(f"{where} has another number of parts")
        for index, (one, other) in enumerate(zip(old, new)):
            inner = where if where == "output" and len(old) == len(new) == 1 else f"{where}[{index}]"
            for pair in paired(one, other, inner):
                yield pair
    elif old != new and not (old != old and new != new):
        raise Difference(f"{where} is {new!r:.40} and was {old!r:.40}")


# Errors


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:500] if lines else type(error).__name__


def told(error: BaseException) -> dict[str, Any]:
    """The reason of a failure: its innermost cause, the operator it is about and its place in the model's source."""
    inner, operator, place = error, None, None
    while True:
        at = inner.__traceback__
        while at is not None:
            node: Any = at.tb_frame.f_locals.get("node")
            if at.tb_frame.f_code.co_name == "convert_node" and hasattr(node, "sourceRange"):
                operator, place = node.kind(), placed(node)
            at = at.tb_next
        following = inner.__cause__
        if following is None:
            break
        inner = following
    # TorchScript says last what has happened, after its own stack.
    lines = [line.strip() for line in str(inner).splitlines() if line.strip()]
    last = [line for line in lines if line.startswith(("RuntimeError:", "Error:"))]
    text = last[-1] if last else first_line(inner)
    shown = text if text.startswith(type(inner).__name__) else f"{type(inner).__name__}: {text}"
    return {"reason": shown[:600], "operator": operator, "place": place}


def placed(node: Any) -> str | None:
    """``model.py:12`` of the source that the archive was made of."""
    for line in str(node.sourceRange()).splitlines():
        if line.strip().startswith("File "):
            file, _, rest = line.strip()[5:].partition(",")
            number = rest.strip().replace("line ", "").partition(",")[0].rstrip(":")
            return "{}:{}".format(os.path.basename(file.strip('"')), number)
    return None


def main() -> None:
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
    State.answer = sys.argv[1]
    with open(State.answer, encoding="utf-8") as file:
        question = json.load(file)
    limit(question["memory"])
    warnings.simplefilter("ignore")
    stage("importing torch")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.getcwd()  # an empty folder, removed after this process
    import torch
    import torch.utils._pytree

    State.torch = torch
    answer: dict[str, Any] = {"torch": torch.__version__, "methods": {}}
    work = package if question["work"] == "package" else convert
    for method in question["methods"]:
        stage("loading the archive")
        try:
            answer["methods"][method] = work(question, method)
        except Refusal as reason:
            answer["methods"][method] = {"outcome": "refused", "step": "inputs", "reason": str(reason)}
        except Exception as error:
            answer["methods"][method] = dict(outcome="refused", step="load", **told(error))
    with open(State.answer, "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main()
