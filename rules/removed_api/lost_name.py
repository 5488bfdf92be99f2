"""A public name that torch has dropped.

Why: importing or reading the name fails at the target. The finding says which releases had it.

What to do: look up the name with `torchmigrate ledger NAME`, and its replacement in the release notes of the torch that
dropped it. Not reported are names that the code expects to be missing: after `hasattr`, in `try` with `except
ImportError`, and behind tests of torch's version.

Source: `torchmigrate/tables/api_ledger.py` and `early_names.py`, tables read from the wheels of torch 1.0 to 2.15.
"""

from __future__ import annotations

from ._changes.lost_names import create_lost_rule

rule = create_lost_rule("RM702", "documented", "exported", what="was removed")
