"""The refusals of torch's converter in plain words, and what to do about them.

Source: what torch/_export/converter.py and torch/export raise, read in torch 2.13; in 2.15, where the converter is still
private, it is the same.
"""

from __future__ import annotations

import re

EXPORT_AGAIN = "export the module again from its Python source with torch.export.export"

_KNOWN_REFUSALS: tuple[tuple[str, str, str], ...] = (
    (
        r"prim::Loop currently cannot run with dynamic value of number of iterations",
        "the archive has a loop whose number of iterations depends on the inputs",
        f"{EXPORT_AGAIN}, with the loop rewritten as operations on whole tensors, torch.while_loop or torch.scan",
    ),
    (
        r"prim::Loop currently cannot run with dynamic value of condition",
        "the archive has a loop whose condition depends on values",
        f"{EXPORT_AGAIN}, with the loop rewritten as torch.while_loop",
    ),
    (
        r"prim::SetAttr",
        "the archive sets an attribute inside a branch",
        f"{EXPORT_AGAIN}, with the attribute set after the branch, or with torch.cond returning its new value",
    ),
    (
        r"GuardOnDataDependentSymNode|Could not guard on data-dependent|data-dependent",
        "the archive has a branch or a size that depends on values",
        f"{EXPORT_AGAIN}, with the branch as torch.cond, or with torch._check for a condition that always holds",
    ),
    (
        r"torch\.cond|branches? of .*cond|[Cc]ond.*(mismatch|same|aliasing|mutat)",
        "the archive has a branch on values whose two sides return different kinds of results",
        f"{EXPORT_AGAIN}, with both sides of a torch.cond returning tensors of the same shape and type",
    ),
    (
        r"prim::unchecked_cast",
        "the archive was called with an optional argument",
        f"convert without it if its callers omit it; otherwise, {EXPORT_AGAIN}, where Python tests for None",
    ),
    (
        r"prim::RaiseException|prim::Print|prim::PythonOp",
        "the archive has an operation without a counterpart in exported programs",
        f"remove it from the source, or check before the call; then {EXPORT_AGAIN}",
    ),
    (
        r"PackedParams|quantized::|packB|torch\.classes|Unsupported quantized op|Expected a value of type '__torch__\.torch\.classes",
        "the archive has weights that are packed for a quantization engine",
        f"{EXPORT_AGAIN}, from the module before it was quantized, and quantize it with torchao (PT2E)",
    ),
    (
        r"Unable to find operator|Unknown builtin op|is not a registered",
        "the archive uses an operator that this torch does not have",
        "convert in an interpreter where the package that registers it is imported, or replace it in the source",
    ),
    (
        r"param_count_list|given \d+ argument|missing value for argument|expected at most \d+ argument",
        "the inputs do not match the method's signature",
        "compare --inputs with the signature that `torchmigrate artifacts list` shows",
    ),
    (
        r"can't allocate memory|not enough memory|bad_alloc|MemoryError|Cannot allocate",
        "the conversion needs more memory than its limit",
        "allow more with --memory",
    ),
    (
        r"C\+\+ compiler|g\+\+|clang|InvalidCxxCompiler|Python\.h",
        "there is no working C++ compiler",
        "install one, with Python's headers; only --aoti needs them",
    ),
    (
        r"Guard failed|Specialized|marked as dynamic|Constraints violated",
        "the code of the archive fixes sizes",
        f"{EXPORT_AGAIN}, with dynamic_shapes; a trace keeps the sizes that it was made with",
    ),
    (
        r"Output .* not found",
        "the archive has a branch that returns a value from outside it, which torch's converter does not follow",
        f"trace the module instead of scripting it if the branch depends on settings only; otherwise, {EXPORT_AGAIN}",
    ),
    (
        r"(ValueError: (Attribute|Input) .* not found)|AttributeError|KeyError|AssertionError|TypeError",
        "the archive has code that torch's converter does not support",
        EXPORT_AGAIN,
    ),
)
"""Pattern in a refusal → the cause as a clause, and what to do."""

_STEP_FAILURES = {
    "load": "torch cannot load it",
    "run": "the archive itself does not run with these inputs",
    "save": "the program cannot be saved",
    "compare": "the exported program does not run with these inputs",
    "package": "AOTInductor cannot compile it",
}

_STEP_ADVICE = {
    "load": "load it with the torch that wrote it and save it again, or create it again from its Python source",
    "run": "pass inputs that the archive accepts with --inputs",
    **dict.fromkeys(("convert", "save", "compare"), EXPORT_AGAIN),
}
"""What to do where the reason is none of the known ones."""


_BRANCHES_ON_DATA = {
    "values": (
        "the archive has a branch that depends on the values of a tensor",
        f"{EXPORT_AGAIN}, with torch.where between two tensors in place of the branch, or with torch.cond, whose sides return "
        "tensors of the same shape and type",
    ),
    "sizes": (
        "the archive has a branch that depends on how many values were selected",
        f"{EXPORT_AGAIN}, with the values masked by torch.where instead of selected, or with the branch outside the module",
    ),
}
"""What the first branch on data depends on → the cause as a clause, and what to do."""


def explain_refusal(
    step: str,
    reason: str,
    operator: str | None,
    place: str | None,
    *,
    string: str | None = None,
    branch: tuple[str, str | None] | None = None,
) -> tuple[str, str]:
    """Explain why a step failed, and what to do; an unknown reason is quoted from torch.

    ``string`` is the position of a string that the archive returns, ``branch`` what its first branch on data depends on,
    with the place of the branch.
    """
    if step in ("inputs", "open"):
        return reason, "" if step == "inputs" else f"{EXPORT_AGAIN} with dynamic_shapes"
    if string:
        todo = f"return an index instead, and look the string up outside the program; then {EXPORT_AGAIN}"
        return f"{string} is a string, which no exported program can return", todo
    text = f"{operator or ''} {reason}"
    cause, todo = next(
        ((cause, todo) for pattern, cause, todo in _KNOWN_REFUSALS if re.search(pattern, text)),
        ("", _STEP_ADVICE.get(step, "")),
    )
    if branch and operator in (None, "prim::If"):
        (cause, todo), place = _BRANCHES_ON_DATA[branch[0]], branch[1]
    where = f" at {place}" if place else ""
    what = f" ({operator})" if operator and operator not in reason else ""
    if cause and step != "run":
        return f"{cause}{where}: {reason}{what}", todo
    return f"{_STEP_FAILURES.get(step, 'the converter rejects it')}{where}: {reason}{what}", todo
