"""The custom operators that a file defines, and the functions they are made of."""
