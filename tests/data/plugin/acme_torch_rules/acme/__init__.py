"""Where Acme has a function of its own for one of torch's."""
