"""`is_current_stream_capturing` and its aliases."""
