"""Built-in types of the group rbac, one module per version."""
