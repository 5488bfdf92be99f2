"""What Acme asks of code that uses torch."""
