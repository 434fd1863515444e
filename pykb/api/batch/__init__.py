"""Built-in types of the group batch, one module per version."""
