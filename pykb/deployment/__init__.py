"""Brings an operator to a cluster and takes it away again: CRDs, manager, rollout.

kubectl sends all requests, since it supports every kind of login. kustomize (or kubectl) renders the manifests.
"""

IMAGE = "controller:latest"
"""The image in config/manager. kustomize's `images` could replace it only by a change of a file."""
