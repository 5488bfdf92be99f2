"""The target version has no wheel for this system, or needs a newer glibc or macOS.

Why: Linux wheels need glibc 2.28, macOS wheels arm64 and macOS 14 (from 2.12). There is no wheel for 32-bit
Python, for Intel Macs, or for Linux without glibc.

What to do: Upgrade the system, use a container with a newer one, or stay with the release in the hint.

Source: the wheels' platform tags on the package index, `torchmigrate/tables/data/wheels_read.json`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT011")
