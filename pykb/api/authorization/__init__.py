"""Built-in types of the group authorization, one module per version."""
