"""Mutants that no fixture can tell from the rule, and why.

By module and a part of the line; a part, so that an entry stays right while lines move. An entry that fits no survivor
any more is to go.
"""

from __future__ import annotations

_UNUSED = "no finding shows it: each has a message of its own"
_SEVERITY = "no finding shows it: each has a severity of its own"
_PLANNED = "what is planned to break is a warning, deprecated or not"
_EARLIER = "what comes before says why in every such case"
_UNSEEN = "no program is known that comes here"
_VERSION = "only up to Python 3.11 is it not known where an expression in an f-string stands"

KNOWN: dict[tuple[str, str], str] = {
    ("cuda_wheels/hidden_index.py", "where the option stands cannot be said"): _UNSEEN,
    ("cuda_wheels/python_floor.py", "the version is put together from several places"): _UNSEEN,
    ("process_groups/conversion.py", "takes cannot be told"): _UNSEEN,
    ("process_groups/conversion.py", "the call in line {call.lineno} does not list its arguments"): _UNSEEN,
    ("process_groups/conversion.py", "stands in a string in line"): _VERSION,
    ("process_groups/conversion.py", "line {node.lineno} stands in a string"): _VERSION,
    ("process_groups/custom_op_group_name.py", "message="): _UNUSED,
    ("process_groups/group_looked_up_by_name.py", "message="): _UNUSED,
    ("process_groups/group_name_in_functional_collective.py", "message="): _UNUSED,
    ("process_groups/group_name_in_raw_op.py", "message="): _UNUSED,
    ("process_groups/group_name_round_trip.py", "message="): _UNUSED,
    ("process_groups/name_in_rendezvous.py", "message="): _UNUSED,
    ("torchcomms/batch.py", "the operations use different groups"): _UNSEEN,
    ("torchcomms/batch.py", "an operation takes its arguments from elsewhere"): _UNSEEN,
    ("torchcomms/batch.py", "a blocking call stands before the last operation"): _UNSEEN,
    ("torchcomms/batch.py", "the requests are kept in ways that a single batch"): _EARLIER,
    ("torchcomms/group_made_by_some_ranks.py", "breaks="): _SEVERITY,
    ("torchscript/exporting.py", "its result is both called and saved"): _UNSEEN,
    ("torchscript/futures.py", "nothing is called here"): _EARLIER,
    ("torchscript/futures.py", "is used in a comprehension"): _EARLIER,
    ("torchscript/quantized_rnn.py", "deprecated="): _PLANNED,
    ("torchscript/script_classes.py", "the name may stand for something else here"): _UNSEEN,
}
