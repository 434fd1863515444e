"""Built-in types of the group apps, one module per version."""
