"""The built-in Kubernetes types, and the base classes for custom resources.

Importing this package loads nothing. Each name is loaded when it is first used.
"""

from pykb._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
