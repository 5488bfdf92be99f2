"""What the converter refuses, in words, and what to do about it.

Source: what torch/_export/converter.py and torch/export raise, read in torch 2.13; of 2.15, where the converter is
still private, it is the same.
"""

from __future__ import annotations

import re

AGAIN = "export the module again from its Python source with torch.export.export"

_KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        r"prim::Loop currently cannot run with dynamic value of number of iterations",
        "a loop whose number of turns depends on the inputs",
        f"{AGAIN}, with the loop as operations on whole tensors, or as torch.while_loop or torch.scan",
    ),
    (
        r"prim::Loop currently cannot run with dynamic value of condition",
        "a loop that ends when a condition on values is met",
        f"{AGAIN}, with the loop as torch.while_loop",
    ),
    (
        r"found prim::SetAttr op|prim::SetAttr",
        "an attribute that is set within a branch",
        f"{AGAIN}, with the attribute set behind the branch, or with torch.cond that returns its new value",
    ),
    (
        r"GuardOnDataDependentSymNode|Could not guard on data-dependent|data-dependent",
        "a branch or a size that depends on values",
        f"{AGAIN}, with the branch as torch.cond, or with torch._check for what always holds",
    ),
    (
        r"torch\.cond|branches? of .*cond|[Cc]ond.*(mismatch|same|aliasing|mutat)",
        "a branch on values whose two sides do not give the same kinds of results",
        f"{AGAIN}, with both sides of a torch.cond giving tensors of one shape and type",
    ),
    (
        r"prim::unchecked_cast",
        "an optional argument that is given",
        f"convert without it, if its callers leave it out; else {AGAIN}, where Python decides on None",
    ),
    (
        r"prim::RaiseException|prim::Print|prim::PythonOp",
        "what has no counterpart in an exported program",
        f"remove it from the source, or check before the call; then {AGAIN}",
    ),
    (
        r"PackedParams|quantized::|packB|torch\.classes|Unsupported quantized op|Expected a value of type '__torch__\.torch\.classes",
        "weights that are packed for a quantization engine",
        f"{AGAIN}, from the module before it was quantized, and quantize it with torchao (PT2E)",
    ),
    (
        r"Unable to find operator|Unknown builtin op|is not a registered",
        "an operator that this torch does not know",
        "convert where the package that registers it is imported, or replace it in the source",
    ),
    (
        r"param_count_list|given \d+ argument|missing value for argument|expected at most \d+ argument",
        "other inputs than the method takes",
        "compare --inputs with the signature that `torchmigrate artifacts list` shows",
    ),
    (
        r"can't allocate memory|not enough memory|bad_alloc|MemoryError|Cannot allocate",
        "more memory than it may have",
        "allow more with --memory",
    ),
    (
        r"C\+\+ compiler|g\+\+|clang|InvalidCxxCompiler|Python\.h",
        "a C++ compiler that is not there, or does not work",
        "install one, and Python's headers; the exported program is not concerned",
    ),
    (
        r"Guard failed|Specialized|marked as dynamic|Constraints violated",
        "sizes that the code of the archive fixes",
        f"{AGAIN}, with dynamic_shapes; a trace keeps the sizes that it was made with",
    ),
    (
        r"Output .* not found",
        "a branch that hands on a value from outside of it, which torch's converter does not follow",
        f"trace the module instead of scripting it, if the branch depends on settings only; else {AGAIN}",
    ),
    (
        r"(ValueError: (Attribute|Input) .* not found)|AttributeError|KeyError|AssertionError|TypeError",
        "code that torch's converter does not cover",
        AGAIN,
    ),
)

_STEPS = {
    "load": "torch cannot load it",
    "run": "the archive itself does not run with these inputs",
    "save": "the program cannot be saved",
    "compare": "the exported program does not run with these inputs",
    "package": "AOTInductor cannot compile it",
}

_TODO = {
    "load": "load it with the torch that wrote it, and save it anew; or make it again from its Python source",
    "run": "give inputs that it was made for with --inputs",
    "convert": AGAIN,
    "save": AGAIN,
    "compare": AGAIN,
}
"""What to do where the reason is not known."""


def of(step: str, reason: str, operator: str | None, place: str | None) -> tuple[str, str]:
    """Why a step failed, for a reader, and what to do; what is not known is said as torch says it."""
    if step in ("inputs", "open"):
        return reason, "" if step == "inputs" else f"{AGAIN} with dynamic_shapes"
    said = f"{operator or ''} {reason}"
    cause, todo = next(
        ((cause, todo) for pattern, cause, todo in _KNOWN if re.search(pattern, said)),
        ("", _TODO.get(step, "")),
    )
    where = f" at {place}" if place else ""
    what = f" ({operator})" if operator and operator not in reason else ""
    known = f"it has {cause}{where}: " if cause and step != "run" else ""
    begin = "" if known else f"{_STEPS.get(step, 'the converter refuses it')}{where}: "
    return f"{begin}{known}{reason}{what}", todo
