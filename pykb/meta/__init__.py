"""Kubernetes names and identities: values and rules, no I/O (the role of apimachinery)."""
