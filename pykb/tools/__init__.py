"""Wrappers of the programs pykb calls: kubectl and kustomize. Never through a shell; knows nothing of projects."""
