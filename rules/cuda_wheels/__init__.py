"""Wheels, base images, CUDA versions and GPU architectures in requirements, pyproject.toml, lock files, conda, Docker and
CI files, and scripts.
"""
