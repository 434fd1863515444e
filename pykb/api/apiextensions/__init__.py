"""Built-in types of the group apiextensions, one module per version."""
