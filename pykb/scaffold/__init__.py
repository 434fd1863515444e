"""Scaffolding: names in, a checked plan out, applied as one transaction. Corresponds to kubebuilder's machinery.

This package does not print, ask, read the command line, or import the user's code.
"""
