"""Runs reconcilers: controller-runtime's role, with kopf as the engine.

The names below are loaded when first used, so that a program pays for what it takes.
"""

from pykb._lazy import attach
from pykb.runtime.manager.process_memory import importing

__getattr__, __all__ = attach(__name__, __file__, importing)
