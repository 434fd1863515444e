"""Python half of a differential pair."""

# +kubebuilder:validation:Optional
