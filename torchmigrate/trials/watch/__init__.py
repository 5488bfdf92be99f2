"""A folder on the import path of processes that test a copy; see `torchmigrate.trials.command`."""
