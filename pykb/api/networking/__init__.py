"""Built-in types of the group networking, one module per version."""
