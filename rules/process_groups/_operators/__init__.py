"""The custom operators that a file defines, and the functions that implement them."""
