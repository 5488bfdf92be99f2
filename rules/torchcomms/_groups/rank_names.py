"""The names that programs give to their ranks and to the number of ranks.

Frameworks name the rank within a group after what the group is for: ``tp_rank``, ``pipeline_rank``,
``tensor_model_parallel_rank``, ``dp_shard_rank``. A ``lora_rank`` is the rank of a matrix, and a ``src_rank`` that of
another process.

Source: the variables and functions of Megatron-LM (`megatron/core/parallel_state.py`), DeepSpeed
(`deepspeed/utils/groups.py`), vLLM (`vllm/distributed/parallel_state.py`), SGLang (`sglang/srt/distributed`) and
torch (`torch/distributed/device_mesh.py`).
"""

from __future__ import annotations

import re

_OWN = "my this self own cur current"
_PLACES = "global local world node host machine process proc group ring"
_ABBREVIATED = "dp tp pp cp sp ep mp vp etp edp dcp pcp fsdp hsdp usp attn moe"
_SPELLED = "data tensor pipeline context sequence expert model parallel slice stage replica replicate shard ulysses zero"


def _any(*lists: str) -> str:
    return "|".join(word for words in lists for word in words.split())


_RANK = re.compile(
    rf"_*(?:(?:{_any(_OWN, _PLACES, _ABBREVIATED, _SPELLED)})_)*rank(?:_id|_in_(?:group|node|world))?",
    re.IGNORECASE,
)
_GETTER = re.compile(rf"get_{_RANK.pattern}", re.IGNORECASE)
_SIZE = re.compile(
    rf"_*(?:(?:(?:{_any(_ABBREVIATED)}|ring|group)_)?(?:world_)?size"
    rf"|(?:(?:{_any(_SPELLED)})_)+parallel_(?:world_)?size"
    r"|(?:n|num)_?(?:ranks|procs|gpus)|n_?procs|world)",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"_*is_(?:(?:on|the|rank|local|global|world|node|pipeline|parallel|model|tensor|data|dp|tp|pp|ep|cp|src|dst)_)*"
    r"(?:main|master|chief|leader|coordinator|zero|0|rank_?zero|rank_?0|first|last|head|root|source|sender|receiver)"
    r"(?:_(?:process|proc|rank|worker|node|stage))?",
    re.IGNORECASE,
)


def is_rank_name(name: str) -> bool:
    """Return whether a variable of this name probably holds the process's own rank in some group."""
    return _RANK.fullmatch(name) is not None


def is_rank_getter(name: str) -> bool:
    """Return whether a function of this name probably returns the own rank: ``get_data_parallel_rank``."""
    return _GETTER.fullmatch(name) is not None


def is_size_name(name: str) -> bool:
    """Return whether a variable of this name probably holds the number of ranks in some group."""
    return _SIZE.fullmatch(name) is not None


def is_choice_name(name: str) -> bool:
    """Return whether a flag (or getter) of this name probably singles out ranks: ``is_main_process``."""
    return _CHOICE.fullmatch(name) is not None
