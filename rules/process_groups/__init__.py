"""Process groups named by strings, in functional collectives, operators, custom operators and look-ups."""
