"""Built-in types of the group storage, one module per version."""
