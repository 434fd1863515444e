"""Built-in types of the group certificates, one module per version."""
