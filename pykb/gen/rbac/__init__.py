"""RBAC manifests from ``+kubebuilder:rbac`` markers."""

from pykb.gen.rbac.generate import generate_rbac

__all__ = ["generate_rbac"]
