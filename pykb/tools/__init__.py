"""Wrappers of the programs pykb calls: kubectl, kustomize and git. Never through a shell; knows nothing of projects."""
