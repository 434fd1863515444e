"""Built-in types of the group events, one module per version."""
