"""pykb: kubebuilder for Python.

Importing this package imports nothing else: `pykb version` must start as fast as Python does.
"""

__version__ = "0.1.0"
