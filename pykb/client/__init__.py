"""The client: typed reads and writes of an API server, with or without a manager.

Each name below is loaded on first use, so that a program pays only for what it uses.
"""

from pykb._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
