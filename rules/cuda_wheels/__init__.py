"""Wheels, base images, CUDA versions and architectures in requirements, pyproject, lock files, conda, Docker, CI files
and scripts.
"""
