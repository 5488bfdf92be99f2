"""Do the fixtures notice? Rules with one fault each, and whether the record of any case tells.

``python -m tests.mutations`` puts the faults into copies that live in memory, one at a time, and prints which of them
no fixture sees. It is a check of the fixtures, which must pass before, and no part of an ordinary test run.
"""
