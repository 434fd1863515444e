"""The annotation language: comments such as ``# +kubebuilder:default=1``, read without importing user code."""
