"""What newer releases of torch do better than the code at hand: advice, off unless selected."""
