"""Built-in types of the group policy, one module per version."""
