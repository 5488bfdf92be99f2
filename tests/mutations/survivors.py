"""Mutants that no fixture can tell from the rule, and why.

By module and a part of the line; a part, so that an entry stays right while lines move.
"""

from __future__ import annotations

_UNUSED = "every finding of the rule has a message of its own"
_VERSION = "only up to Python 3.11 is it not known where an expression in an f-string stands"

EQUIVALENT: dict[tuple[str, str], str] = {
    ("process_groups/custom_op_group_name.py", "message="): _UNUSED,
    ("process_groups/group_looked_up_by_name.py", "message="): _UNUSED,
    ("process_groups/group_name_in_functional_collective.py", "message="): _UNUSED,
    ("process_groups/group_name_in_raw_op.py", "message="): _UNUSED,
    ("process_groups/group_name_round_trip.py", "message="): _UNUSED,
    ("process_groups/name_in_rendezvous.py", "message="): _UNUSED,
    ("process_groups/conversion.py", "stands in a string in line"): _VERSION,
    ("process_groups/conversion.py", "line {node.lineno} stands in a string"): _VERSION,
    (
        "torchcomms/group_made_by_some_ranks.py",
        "breaks=",
    ): "every finding of the rule has a severity of its own",
    (
        "torchscript/quantized_rnn.py",
        "deprecated=",
    ): "what is planned to break is a warning, deprecated or not",
}
