"""The annotation language: comments such as ``# +kubebuilder:validation:MinLength=1``, read without importing anything of the user."""
