"""The packages of the wheel; everything else about it is in pyproject.toml, which cannot say this.

The rules lie beside the package, one folder a family, and are found by themselves.
"""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["torchmigrate", "torchmigrate.*"]),
        "torchmigrate.rules",
        *(f"torchmigrate.rules.{name}" for name in find_packages("rules")),
    ],
    package_dir={"torchmigrate.rules": "rules"},
)
