"""Facts about the device where a use is reached."""
