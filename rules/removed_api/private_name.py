"""A private name that torch has dropped.

Why: private names come and go without notice. The target lacks this one, so importing or reading it fails. Private names
that still exist are not reported.

What to do: look for a public name that does the same; `torchmigrate ledger NAME` shows which releases have it. If there is
none, branch on `torch.__version__`.

Source: `torchmigrate/tables/api_ledger.py` and `early_names.py`, tables read from the wheels of torch 1.0 to 2.15.
"""

from __future__ import annotations

from ._changes.lost_names import create_lost_rule

rule = create_lost_rule("RM703", "private", what="is private, and was removed")
