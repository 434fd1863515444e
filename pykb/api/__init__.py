"""Types of Kubernetes APIs: the bases of one's own, and the built-in ones.

Names are loaded when they are used: importing this package costs nothing.
"""

from pykb._lazy import attach

__getattr__, __all__ = attach(__name__, __file__)
