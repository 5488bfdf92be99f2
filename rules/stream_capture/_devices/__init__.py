"""What is known of the devices where a use is reached."""
