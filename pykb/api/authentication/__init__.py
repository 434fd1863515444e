"""Built-in types of the group authentication, one module per version."""
