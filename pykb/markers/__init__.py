"""Reads markers, comments such as ``# +kubebuilder:default=1``, without importing user code."""
