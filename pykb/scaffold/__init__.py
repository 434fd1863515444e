"""Scaffolding: names in, a checked plan out, applied as one transaction. The role of kubebuilder's machinery.

Nothing here prints, asks or reads the command line; nothing imports the user's code.
"""
