"""Process groups that are named by strings: in functional collectives, operators, custom operators and lookups."""
