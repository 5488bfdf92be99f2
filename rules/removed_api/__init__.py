"""Names, parameters and defaults that are gone, deprecated or changed."""
