"""Kubernetes names and identities: values and rules without I/O. Corresponds to apimachinery."""
