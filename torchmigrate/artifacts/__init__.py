"""`torchmigrate artifacts`: what the model files of a project are, and TorchScript archives made into exported programs.

`reading` tells what a file is, with a module for each format: it takes records apart as bytes, and neither unpickles
nor imports anything that a file names. `conversion` hands an archive to the user's torch, in a process with limits
(`snippets/convert`), and puts the result in place once it gives the same outputs; `batch` does so for many, `cluster`
on the nodes of a Ray cluster, and `report` shows what came of it.
"""
