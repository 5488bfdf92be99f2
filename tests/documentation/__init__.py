"""The documentation: what is generated from the code, what the docstrings of rules have to say, and what a new rule,
family or plug-in needs.
"""
