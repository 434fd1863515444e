"""Built-in types of the group apiregistration, one module per version."""
