"""Built-in types of the group meta, one module per version."""
