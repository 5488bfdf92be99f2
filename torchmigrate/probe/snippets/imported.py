"""Asks torch about itself. Importing it can raise, hang, crash or print, which the caller expects.

Runs in the user's interpreter (Python 3.8 or newer).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from typing import Any, Callable, Dict


def answer(question: Callable[[], Any]) -> Any:
    """Return the answer to a question about torch as text, a bool or a number; None where torch or the machine has none."""
    try:
        value = question()
    except Exception:
        return None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return ".".join(map(str, value)) if isinstance(value, tuple) else str(value)


def answer_or_warn(question: Callable[[], Any]) -> Any:
    """Return the answer to a question about torch; an exception, as for libraries that do not fit, becomes a warning."""
    try:
        return question()
    except Exception as error:
        warnings.warn(str(error).partition("\n")[0], stacklevel=2)
        return None


def main() -> None:
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
    result: Dict[str, Any] = {"raised": None}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            torch: Any = importlib.import_module("torch")
        except BaseException as error:
            text = str(error).strip().splitlines() or [""]
            result["raised"] = f"{type(error).__name__}: {text[0]}"
        else:
            accelerator: Any = getattr(torch, "xpu" if answer(lambda: torch.version.xpu) else "cuda", None)
            cuda = answer(lambda: torch.version.cuda) or answer(lambda: torch.version.hip)
            result.update(
                version=answer(lambda: str(torch.__version__)),
                cuda=answer(lambda: torch.version.cuda),
                hip=answer(lambda: torch.version.hip),
                xpu=answer(lambda: torch.version.xpu),
                compiled=answer(lambda: torch._C._cuda_getArchFlags()) or "",
                available=answer(lambda: accelerator.is_available()),
                mps=answer(lambda: torch.backends.mps.is_available()) if sys.platform == "darwin" else None,
                device_count=answer(lambda: accelerator.device_count()),
                nccl=answer(lambda: torch.cuda.nccl.version()) if cuda else None,
                cudnn=answer_or_warn(lambda: torch.backends.cudnn.version()) if cuda else None,
                metal=answer(lambda: hasattr(torch._C, "_mps_loadMetalllib"))
                if sys.platform == "darwin"
                else None,
            )
            result["torchcomms_on"] = answer(
                lambda: bool(importlib.import_module("torch.distributed.config").use_torchcomms)
            )
    result["warnings"] = [str(warning.message).strip() for warning in heard[:20]]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(result, file)


main()
