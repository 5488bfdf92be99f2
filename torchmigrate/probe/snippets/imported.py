"""What torch says about itself. Importing it can raise, hang, crash or print, which the caller expects.

Runs in the user's interpreter (Python 3.8 or newer).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from typing import Any, Callable, Dict


def ask(question: Callable[[], Any]) -> Any:
    """The answer as text, a bool or a number; None where this torch or this machine has none."""
    try:
        answer = question()
    except Exception:
        return None
    if answer is None or isinstance(answer, (bool, int, str)):
        return answer
    if isinstance(answer, tuple):
        return ".".join(map(str, answer))
    return str(answer)


def ask_loudly(question: Callable[[], Any]) -> Any:
    """The answer; why there is none is a warning, as torch says it where two libraries do not go together."""
    try:
        return question()
    except Exception as error:
        warnings.warn(str(error).partition("\n")[0], stacklevel=2)
        return None


def ask_module(name: str) -> Any:
    """A module of torch; None where this torch does not have it."""
    try:
        return importlib.import_module(name)
    except Exception:
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
            accelerator: Any = getattr(torch, "xpu" if ask(lambda: torch.version.xpu) else "cuda", None)
            cuda = ask(lambda: torch.version.cuda) or ask(lambda: torch.version.hip)
            result.update(
                version=ask(lambda: str(torch.__version__)),
                cuda=ask(lambda: torch.version.cuda),
                hip=ask(lambda: torch.version.hip),
                xpu=ask(lambda: torch.version.xpu),
                compiled=ask(lambda: torch._C._cuda_getArchFlags()) or "",
                available=ask(lambda: accelerator.is_available()),
                mps=ask(lambda: torch.backends.mps.is_available()) if sys.platform == "darwin" else None,
                device_count=ask(lambda: accelerator.device_count()),
                nccl=ask(lambda: torch.cuda.nccl.version()) if cuda else None,
                cudnn=ask_loudly(lambda: torch.backends.cudnn.version()) if cuda else None,
                metal=ask(lambda: hasattr(torch._C, "_mps_loadMetalllib"))
                if sys.platform == "darwin"
                else None,
            )
            config: Any = ask_module("torch.distributed.config")
            result["torchcomms_on"] = ask(lambda: bool(config.use_torchcomms)) if config else None
    result["warnings"] = [str(warning.message).strip() for warning in heard[:20]]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(result, file)


main()
