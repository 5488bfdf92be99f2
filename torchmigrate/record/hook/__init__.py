"""The folder that `torchmigrate record` puts first on PYTHONPATH; standard library only, from Python 3.8 on."""
