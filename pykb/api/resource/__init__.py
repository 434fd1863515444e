"""Built-in types of the group resource, one module per version."""
