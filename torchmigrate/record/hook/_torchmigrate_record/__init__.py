"""The recording in the user's process: standard library only, from Python 3.8 and torch 2.0 on."""
