"""`torchmigrate artifacts`: what the model files of a project are, and the conversion of TorchScript archives.

`torchmigrate.artifacts.reading` tells what a file is, with a module for each format: files are read as bytes, and nothing in
them is unpickled or imported. `torchmigrate.artifacts.conversion` passes an archive to the user's torch, in a process with
limits, and keeps the result if it gives the same outputs; `torchmigrate.artifacts.batch` does so for many archives,
`torchmigrate.artifacts.cluster` on the nodes of a Ray cluster, and `torchmigrate.artifacts.report` shows the outcomes.
"""
