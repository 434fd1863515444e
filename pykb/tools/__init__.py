"""Wrappers of external programs: kubectl, kustomize and git. They never use a shell and do not depend on projects."""
