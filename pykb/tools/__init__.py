"""Wrappers of external programs: kubectl, kustomize, git and pip. They use no shell and do not depend on projects."""
