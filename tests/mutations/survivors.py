"""Mutants that no fixture can tell from the rule, and why.

By module and a part of the line; a part, so that an entry stays right while lines move. An entry that fits no survivor
any more is to go.
"""

from __future__ import annotations

_PLANNED = "what is planned to break is a warning, deprecated or not"
_EARLIER = "what comes before says why in every such case"
_UNSEEN = "no program is known that comes here"
_VERSION = "a fixture is the same for every Python: from 3.12 on it is known where an expression in an f-string stands"

KNOWN: dict[tuple[str, str], str] = {
    ("cuda_wheels/hidden_index.py", "where the option stands cannot be said"): _UNSEEN,
    ("cuda_wheels/python_floor.py", "the version is put together from several places"): _UNSEEN,
    ("process_groups/_conversion/bodies.py", "stands in a string in line"): _VERSION,
    ("process_groups/_conversion/callers.py", "stands in a string"): _VERSION,
    ("torchcomms/_batching/operations.py", "an operation takes its arguments from elsewhere"): _UNSEEN,
    ("torchscript/_export/fixes.py", "the name may stand for something else here"): _EARLIER,
    ("torchscript/quantized_rnn.py", "deprecated="): _PLANNED,
}
