"""Built-in types of the group node, one module per version."""
