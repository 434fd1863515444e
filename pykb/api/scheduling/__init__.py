"""Built-in types of the group scheduling, one module per version."""
