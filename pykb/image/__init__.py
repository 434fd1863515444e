"""Assembles the file system of an operator's image: this Python, its packages, and what they need of the system.

The scaffolded Dockerfile calls it in its build stage, and copies the result to an empty image. Shell, package managers,
pip and debug symbols stay behind. Only the standard library is used.
"""

from pykb.image._assemble import assemble

__all__ = ["assemble"]
