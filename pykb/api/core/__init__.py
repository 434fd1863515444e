"""Built-in types of the group core, one module per version."""
