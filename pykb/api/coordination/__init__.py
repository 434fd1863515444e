"""Built-in types of the group coordination, one module per version."""
