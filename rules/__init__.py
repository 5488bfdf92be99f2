"""The rules, one module each, in folders by family; what several rules share lies in folders that begin with ``_``."""
